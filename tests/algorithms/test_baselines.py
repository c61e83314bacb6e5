"""What is particular to each baseline's credit, by hand; the formulas as a whole are in test_every_algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from algorithms.core.cli import load_algorithm
from algorithms.core.groups import by_turn, episode_returns, token_rewards
from algorithms.core.states import histories, similar
from tests.algorithms.groups_for_tests import trajectory, turn, with_rewards


def credit(name, group, **options):
    method = load_algorithm(name)
    return method(method.Config(**options)).credit(group)


def first(result):
    return [[float(tokens[0]) for tokens in own] for own in result.advantages]


def sized(tokens, reward=0.0, state="s", values=None):
    """A turn of so many tokens."""
    made = turn(reward=reward, state=state)
    made.response_ids, made.token_ends = np.arange(tokens), np.arange(1, tokens + 1)
    made.values = None if values is None else np.array(values, dtype=np.float32)
    return made


def test_every_token_of_an_outcome_method_gets_the_same():
    group = with_rewards([0, 1], [0], [0], [0])
    for name, right in (("grpo", [1.5, -0.5]), ("dr_grpo", [0.75, -0.25]), ("rloo", [1, -1 / 3])):
        result = credit(name, group)
        assert result.advantages[0][0].tolist() == pytest.approx([right[0]] * 4)
        assert first(result)[1] == pytest.approx([right[1]])
    for name in ("dapo", "gspo", "cispo"):
        assert first(credit(name, group)) == first(credit("grpo", group))


def test_penalties_are_part_of_every_return():
    group = with_rewards([1], [1])
    group[1].turns[0].penalties = np.array([0.25, 0, 0, 0.25], dtype=np.float32)
    assert episode_returns(group).tolist() == [1, 0.5]
    assert first(credit("rloo", group)) == [[0.5], [-0.5]]
    assert group[1].episode_return == 1  # the environment's


def test_grpo_with_process_rewards():
    group = with_rewards([1, 0], [0, 0, 0])
    unit = np.std([1, 0, 0, 0, 0], ddof=1)
    right = [[0.6 / unit, -0.2 / unit], [-0.6 / unit, -0.4 / unit, -0.2 / unit]]
    for own, expected in zip(first(credit("grpo", group, reward="process")), right, strict=True):
        assert own == pytest.approx(expected)
    assert first(credit("grpo", with_rewards([1, 1], [1]), reward="process")) == [[0, 0], [0]]


def test_the_rewards_of_tokens():
    group = [trajectory(0, [sized(2, 0.5), sized(0, 0.25), sized(3, 1.0)]), trajectory(1, [])]
    group[0].turns[2].penalties = np.array([0.1, 0, 0], dtype=np.float32)
    step, outcome = token_rewards(group), token_rewards(group, outcome=True)
    assert step[0].tolist() == pytest.approx([0, 0.75, -0.1, 0, 1])
    assert outcome[0].tolist() == pytest.approx([0, 0, -0.1, 0, 1.75])
    assert step[1].tolist() == []
    assert [len(part) for part in by_turn(group, step)[0]] == [2, 0, 3]
    assert by_turn(group, step)[1] == []


def test_reinforce_pp_normalises_over_all_tokens_of_the_step():
    method = load_algorithm("reinforce_pp")
    groups = [[trajectory(0, [sized(1, 1.0)]), trajectory(1, [sized(3, 0.0)])], [trajectory(0, [sized(2, 2.0)])]]
    result = method(method.Config()).credit_step(groups)
    flat = np.array([1, 0, 0, 0, 2, 2])
    right = (flat - flat.mean()) / flat.std(ddof=1)
    found = np.concatenate([tokens for c in result for own in c.advantages for tokens in own])
    np.testing.assert_allclose(found, right, atol=1e-6)


def test_reinforce_pp_with_a_baseline_subtracts_the_group_s_mean():
    method = load_algorithm("reinforce_pp")
    groups = [with_rewards([1], [0]), with_rewards([3], [3])]
    found = [
        float(c.advantages[i][0][0]) for c in method(method.Config(baseline=True)).credit_step(groups) for i in (0, 1)
    ]
    assert found == pytest.approx(np.array([0.5, -0.5, 0, 0]) / np.std(np.repeat([0.5, -0.5, 0, 0], 4), ddof=1))


def test_reinforce_pp_step_and_outcome_rewards_differ_after_the_first_turn():
    group = [trajectory(0, [sized(1, 1.0), sized(1, 0.0)]), trajectory(1, [sized(1, 0.0), sized(1, 0.0)])]
    step, outcome = (first(credit("reinforce_pp", group, reward=r)) for r in ("step", "outcome"))
    assert step[0][0] > step[0][1] == step[1][0]
    assert outcome[0][0] == outcome[0][1] > outcome[1][0]


def test_ppo_credits_the_critic_s_errors_and_gives_its_targets():
    group = [trajectory(0, [sized(1, 0.0, values=[0.5]), sized(1, 1.0, values=[0.5])])]
    result = credit("ppo", group, lam=0.95, whiten=False)
    assert first(result)[0] == pytest.approx([0.475, 0.5])  # A13
    assert [float(t[0]) for t in result.returns[0]] == pytest.approx([0.975, 1])
    assert credit("ppo", group).advantages[0][0].tolist() == pytest.approx(
        [0]
    )  # whitened, lambda 1: both errors are .5
    assert result.metrics["critic/explained_variance"] == pytest.approx(0.0, abs=1.0)
    with pytest.raises(ValueError, match=r"critic\.enabled=true"):
        credit("ppo", with_rewards([1]))


def test_ppo_explains_all_variance_with_perfect_values():
    group = [trajectory(0, [sized(1, 1.0, values=[1])]), trajectory(1, [sized(1, 0.0, values=[0])])]
    result = credit("ppo", group)
    assert result.metrics["critic/explained_variance"] == 1
    assert first(result) == [[0], [0]]


def histories_group():
    """Three trajectories in state c at their second turn; two of them came from a."""
    return [
        trajectory(0, [turn(state="a"), turn(state="c", reward=1.0)]),
        trajectory(1, [turn(state="a"), turn(state="c", reward=0.0)]),
        trajectory(2, [turn(state="b"), turn(state="c", reward=0.5)]),
    ]


def test_hgpo_weighs_groups_of_longer_common_pasts_more():
    options = {"std": False, "gamma": 1.0, "episode": 0.0, "depth": 1}
    found = first(credit("hgpo", histories_group(), **options))
    # At c: among all three +.5, -.5, 0; among those from a +.5, -.5; the third is alone with its past.
    assert [own[1] for own in found] == pytest.approx([0.5, -0.5, 0])
    group = histories_group()
    group[2].turns[1].reward = 2.0
    wide, narrow = np.array([0, -1, 1.0]), np.array([0.5, -0.5, np.nan])
    found = [own[1] for own in first(credit("hgpo", group, alpha=1.0, **options))]
    assert found == pytest.approx([*((wide + 2 * narrow) / 3)[:2], 1.0])
    found = [own[1] for own in first(credit("hgpo", group, alpha=0.0, **options))]
    assert found == pytest.approx([*((wide + narrow) / 2)[:2], 1.0])


def test_hgpo_without_depth_is_gigpo():
    group = histories_group()
    assert first(credit("hgpo", group, depth=0)) == first(credit("gigpo", group))


def test_rtmc_averages_over_equal_actions_in_equal_states():
    same, other = ("a.py", b"x = 1\n"), ("a.py", b"x = 2\n")
    group = [
        trajectory(0, [turn([same], reward=1.0)]),
        trajectory(1, [turn([same], reward=0.0)]),
        trajectory(2, [turn([other], reward=0.0)]),
    ]
    group[1].turns[0].reply = b"Other words. " + group[1].turns[0].reply
    mean = 1 / 3
    assert first(credit("rtmc", group, prior=0.0)) == [[pytest.approx(x)] for x in (0.5 - mean, 0.5 - mean, 0 - mean)]


def test_rtmc_a_lone_state_is_compared_with_the_group_as_far_as_the_prior_goes():
    group = [
        trajectory(0, [turn(), turn(state="b", reward=1.0)]),
        trajectory(1, [turn(), turn(state="c", reward=0.0)]),
    ]
    for prior, right in ((0.0, 0.0), (1.0, 0.25), (3.0, 0.375)):
        assert first(credit("rtmc", group, prior=prior))[0][1] == pytest.approx(right)
    assert first(credit("rtmc", with_rewards([1], [1]))) == [[0], [0]]


def test_similar_states_share_a_step_group():
    long = "x = 1\n" * 20
    group = [
        trajectory(0, [turn(state="a", observation=long, reward=1.0)]),
        trajectory(1, [turn(state="b", observation=long + "!", reward=0.0)]),
        trajectory(2, [turn(state="c", observation="something else", reward=0.0)]),
    ]
    assert similar(group, 0.95) == [[0], [0], [1]]
    assert len({key for own in histories(group, 0) for key in own}) == 3
    options = {"std": False, "omega": 1.0}
    exact = first(credit("gigpo", group, **options))
    assert exact == [[pytest.approx(2 / 3)], [pytest.approx(-1 / 3)], [pytest.approx(-1 / 3)]]
    near = first(credit("gigpo", group, similarity=0.95, **options))
    assert near == [[pytest.approx(2 / 3 + 0.5)], [pytest.approx(-1 / 3 - 0.5)], [pytest.approx(-1 / 3)]]


def test_what_was_edited_tells_states_of_one_observation_apart():
    edit = ("a.py", b"def f(x):\n    return x + 1\n" * 3)
    group = [
        trajectory(0, [turn([edit], state="a"), turn(state="b", observation="ok")]),
        trajectory(1, [turn(state="a"), turn(state="c", observation="ok")]),
        trajectory(2, [turn([edit], state="a"), turn(state="d", observation="ok")]),
    ]
    (_, x), (_, y), (_, z) = similar(group, 0.9)
    assert x == z != y


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("grpo", "reward", "step"), ("reinforce_pp", "reward", "process"), ("reinforce_pp", "gamma", 2.0),
        ("ppo", "lam", -1.0), ("ppo", "gamma", 1.5), ("ppo", "reward", "x"), ("hgpo", "depth", -1),
        ("hgpo", "alpha", float("inf")), ("hgpo", "gamma", 2.0), ("rtmc", "prior", -1.0), ("rtmc", "gamma", 2.0),
        ("gigpo", "similarity", 0.0),
    ],
)  # fmt: skip
def test_options_out_of_range_are_named(name, key, value):
    with pytest.raises(ValueError, match=rf"algorithm\.{key}="):
        load_algorithm(name).Config(**{key: value})


@pytest.mark.parametrize("name", ["dr_grpo", "dapo", "gspo", "cispo", "rloo", "reinforce_pp", "hgpo", "rtmc", "ppo"])
def test_a_reward_that_is_no_number_names_the_trajectory(name):
    group = with_rewards([1], [float("nan")])
    for own in group:
        own.turns[0].values = np.zeros(4, dtype=np.float32)
    with pytest.raises(ValueError, match=r"task 'task', trajectory 1, turn 0"):
        credit(name, group)
