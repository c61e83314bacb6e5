"""Rows A1-A18 of the known answers, each told apart from what a faulty implementation printed."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from algorithms.core import statistics
from algorithms.core.batch import collate, rows_of_groups
from algorithms.core.groups import credits, episode_returns, within
from algorithms.core.losses import denominators
from algorithms.core.statistics import gae, group_advantage, keep_group, returns_to_go, rloo
from algorithms.core.trajectory import Credit
from algorithms.didpo.algorithm import Didpo, DidpoConfig
from algorithms.didpo.cut import groupability
from algorithms.gigpo.algorithm import Gigpo, GigpoConfig
from algorithms.grpo.algorithm import Grpo, GrpoConfig
from algorithms.hgpo.algorithm import Hgpo, HgpoConfig
from algorithms.ppo.algorithm import Ppo, PpoConfig
from algorithms.reinforce_pp.algorithm import ReinforcePp, ReinforcePpConfig
from algorithms.rloo.algorithm import Rloo, RlooConfig
from algorithms.rtmc.algorithm import Rtmc, RtmcConfig
from tests.algorithms.groups_for_tests import trajectory, turn, with_rewards


def of_tokens(count, reward=0.0, values=None):
    """A turn of so many tokens."""
    made = turn(reward=reward)
    made.response_ids = np.arange(count)
    made.values = None if values is None else np.array(values, dtype=np.float32)
    return made


def first_tokens(credit):
    return [own[0][0] for own in credit.advantages]


def test_a01_standard_deviation_divides_by_n_minus_1():
    result = group_advantage(np.array([1.0, 0, 0, 0]))
    np.testing.assert_allclose(result, [1.5, -0.5, -0.5, -0.5], rtol=1e-12)
    assert abs(result[0] - 1.732) > 0.2


def test_a02_eight_rewards():
    rewards = np.array([1.0, 1, 1, 0, 0, 0, 0, 0])
    assert group_advantage(rewards)[[0, -1]] == pytest.approx([1.2076, -0.7246], abs=1e-4)
    assert group_advantage(rewards, std=False)[[0, -1]] == pytest.approx([0.625, -0.375])
    assert rloo(rewards)[[0, -1]] == pytest.approx([0.7143, -0.4286], abs=1e-4)


@pytest.mark.parametrize(("std", "right", "by_turns"), [(True, 0.7071, 1.5), (False, 0.5, 0.75)])
def test_a03_trajectories_count_not_turns(std, right, by_turns):
    credit = Grpo(GrpoConfig(std=std)).credit(with_rewards([1], [0, 0, 0]))
    a, b = first_tokens(credit)
    assert [a, b] == pytest.approx([right, -right], abs=1e-4)
    assert abs(a - by_turns) > 0.2


def test_a04_rloo_counts_trajectories():
    group = with_rewards([0, 0, 1], [0])
    assert rloo(episode_returns(group)) == pytest.approx([1, -1])
    a, b = first_tokens(Rloo(RlooConfig()).credit(group))
    assert [a, b] == pytest.approx([1, -1])
    assert abs(a - 1 / 3) > 0.5  # counting turns


def test_a05_padding_comes_after_the_statistics():
    """Rows that even out micro-batches are added to rows whose advantages are fixed, with mask 0."""
    group = with_rewards([1], [0], [0])
    rows = rows_of_groups([(group, Grpo(GrpoConfig(std=False)).credit(group))])
    batch = collate(rows[:2])
    assert batch.advantages[batch.mask].tolist() == pytest.approx([2 / 3] * 4 + [-1 / 3] * 4)
    empty = collate([])
    assert not empty.mask.any()
    total = denominators([batch.mask, empty.mask, empty.mask])
    assert (total.tokens, total.sequences) == (8, 2)


def test_a06_a_group_of_one_has_advantage_0_and_warns_once():
    statistics.warn_group_of_one.cache_clear()
    with pytest.warns(UserWarning, match="rollout.n") as caught:
        credit = Grpo(GrpoConfig()).credit(with_rewards([1]))
    assert len(caught) == 1
    assert first_tokens(credit) == [0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rloo(np.array([1.0])) == [0]


@pytest.mark.parametrize("empty", [[], [of_tokens(0, reward=100)]])
def test_a07_a_rejected_row_is_no_part_of_the_baseline(empty):
    (credit,) = credits(Grpo(GrpoConfig(std=False)), [[trajectory(2, empty), *with_rewards([1], [0])]])
    assert [own[0][0] for own in credit.advantages[1:]] == [0.5, -0.5]
    assert [turn.tolist() for turn in credit.advantages[0]] == [[] for _ in empty]


@pytest.mark.parametrize(
    "algorithm",
    [
        Grpo(GrpoConfig(reward="process")),
        Rloo(RlooConfig()),
        ReinforcePp(ReinforcePpConfig(baseline=True)),
        Ppo(PpoConfig()),
        Gigpo(GigpoConfig()),
        Hgpo(HgpoConfig()),
        Rtmc(RtmcConfig()),
        *(Didpo(DidpoConfig(estimator=name)) for name in ("within", "place", "marginal", "regression")),
    ],
    ids=lambda algorithm: f"{algorithm.name} {getattr(algorithm.config, 'estimator', '')}",
)
def test_a07_no_method_counts_it(algorithm):
    """Not among equal states either: all turns here are taken in the same one."""
    group = [trajectory(i, [of_tokens(3, reward, values=[0.5, 0.25, 0]) for reward in own]) for i, own in
             enumerate(([1.0, 0.5], [0.0, 0.25], [0.5, 1.0]))]  # fmt: skip
    rejected = trajectory(3, [of_tokens(0, 100, values=[]) for _ in range(2)])
    (alone,), (beside,) = credits(algorithm, [group]), credits(algorithm, [[rejected, *group]])
    assert any(tokens.any() for own in alone.advantages for tokens in own)
    for one, other in zip(alone.advantages, beside.advantages[1:], strict=True):
        np.testing.assert_array_equal(one, other)
    assert [len(tokens) for tokens in beside.advantages[0]] == [0, 0]
    assert beside.metrics == alone.metrics


def test_a08_every_turn_trains_with_its_own_tokens():
    """A trajectory of four turns: with the last turn's mask for all, three quarters would train with 0."""
    group = [trajectory(0, [turn(reward=0.25) for _ in range(4)]), trajectory(1, [turn()])]
    credit = Grpo(GrpoConfig(std=False)).credit(group)
    rows = rows_of_groups([(group[:1], Credit(credit.advantages[:1]))])
    assert np.concatenate([row.advantages[row.mask] for row in rows]).tolist() == [0.5] * 16
    assert sum(int(row.mask.sum()) for row in rows) == 16


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("algorithm", [Grpo(GrpoConfig()), Gigpo(GigpoConfig()), Didpo(DidpoConfig())])
def test_a09_a_reward_that_is_no_number_names_task_and_trajectory(bad, algorithm):
    with pytest.raises(ValueError, match=r"task 'task', trajectory 1, turn 0"):
        algorithm.credit(with_rewards([1], [bad, 0], [0]))


def test_a10_groups_are_kept_or_dropped_whole():
    assert keep_group(np.array([1, 0, 0, 0]))
    assert not keep_group(np.array([1, 1, 1, 1]))
    assert not keep_group(np.array([0.1 + 0.2, 0.3, 0.3]))


def test_a11_the_return_crosses_observations_undiscounted():
    assert returns_to_go(np.array([0, 0, 1]), 0.5, np.array([1, 0, 1])).tolist() == [0.5, 0, 1]
    group = [trajectory(0, [of_tokens(1), of_tokens(1, reward=1)])]
    assert ReinforcePp(ReinforcePpConfig(gamma=0.5))._returns(group)[0].tolist() == [0.5, 1]


def test_a12_gae_ignores_values_under_the_mask():
    result = gae(np.array([0, 1, 0]), np.array([0, 0, 100]), np.array([1, 1, 0]), 1.0, 0.95)
    assert result == pytest.approx([0.95, 1, 0])


def test_a13_gae_over_an_observation_is_gae_with_it_cut_out():
    result = gae(np.array([0, 0, 0, 1]), np.array([0.5, 9, 9, 0.5]), np.array([1, 0, 0, 1]), 1.0, 0.95)
    cut = gae(np.array([0, 1]), np.array([0.5, 0.5]), np.array([1, 1]), 1.0, 0.95)
    assert result[[0, 3]] == pytest.approx([0.475, 0.5])
    assert result[[0, 3]].tolist() == cut.tolist()
    group = [trajectory(0, [of_tokens(1, values=[0.5]), of_tokens(1, reward=1, values=[0.5])])]
    credit = Ppo(PpoConfig(lam=0.95, whiten=False)).credit(group)
    assert [float(own[0]) for own in credit.advantages[0]] == pytest.approx([0.475, 0.5])


# A14: at each of at most two turns the policy stops (return 1 at once, p = stop[t]) or goes on; after two turns the
# return is 3. Both turns are Bernoulli with a logit of their own, so grad log p(a) = a - p.
STOP = (0.3, 0.6)
EPISODES = [  # actions (1 = stop), rewards
    ((1,), (1.0,)),
    ((0, 1), (0.0, 1.0)),
    ((0, 0), (0.0, 3.0)),
]


def probability(actions):
    return math.prod(p if a else 1 - p for a, p in zip(actions, STOP, strict=False))


def score(actions, t):
    return actions[t] - STOP[t] if t < len(actions) else 0.0


def true_gradient():
    return np.array([sum(probability(a) * sum(r) * score(a, t) for a, r in EPISODES) for t in range(2)])


def expected_gradient(size, advantage):
    """Mean over trajectories of advantage(i, t) * score, in expectation over all groups of this size."""
    total = np.zeros(2)
    for group in itertools.product(EPISODES, repeat=size):
        weight = math.prod(probability(actions) for actions, _ in group)
        values = advantage(group)
        for i, (actions, _) in enumerate(group):
            for t in range(len(actions)):
                total[t] += weight * values[i][t] * score(actions, t) / size
    return total


def test_a14_expected_gradients_with_a_policy_that_decides_when_to_stop():
    returns = lambda group: np.array([sum(rewards) for _, rewards in group])  # noqa: E731
    repeat = lambda values: [[value, value] for value in values]  # noqa: E731
    true = true_gradient()
    assert expected_gradient(3, lambda g: repeat(rloo(returns(g)))) == pytest.approx(true)
    grpo = expected_gradient(3, lambda g: repeat(group_advantage(returns(g), std=False)))
    assert grpo == pytest.approx(true * 2 / 3)

    def trajectories(group):
        """A turn's reply says what was done."""
        made = [
            trajectory(i, [turn(reward=r, state=str(t)) for t, r in enumerate(rewards)])
            for i, (_, rewards) in enumerate(group)
        ]
        for own, (actions, _) in zip(made, group, strict=True):
            for t, action in enumerate(actions):
                own.turns[t].reply = bytes([action])
        return made

    def by(algorithm):
        return lambda group: algorithm._step_advantages(trajectories(group))[0]

    reach = [1.0, 1 - STOP[0]]
    visits = [[math.comb(3, n) * p**n * (1 - p) ** (3 - n) for n in range(4)] for p in reach]
    factor = [sum(max(n - 1, 0) * w for n, w in enumerate(v)) / sum(n * w for n, w in enumerate(v)) for v in visits]
    step = by(Gigpo(GigpoConfig(gamma=1.0, std=False)))
    assert expected_gradient(3, step) == pytest.approx(true * factor)
    assert factor[1] < factor[0]

    # HGPO: state 1 has one past only, so groups of any depth are the same here.
    hgpo = by(Hgpo(HgpoConfig(gamma=1.0, std=False)))
    assert expected_gradient(3, hgpo) == pytest.approx(true * factor)

    for prior in (0.0, 1.0, 3.0):
        own = lambda n: n * (1 - (1 + prior / 3) / (n + prior)) if n else 0.0  # noqa: B023, E731
        shrunk = [sum(own(n) * w for n, w in enumerate(v)) / sum(n * w for n, w in enumerate(v)) for v in visits]
        assert expected_gradient(3, by(Rtmc(RtmcConfig(prior=prior)))) == pytest.approx(true * shrunk)

    def centred(group):
        """REINFORCE++ without the scale: a baseline of the whole step, here of one group."""
        to_go = ReinforcePp(ReinforcePpConfig(baseline=True))._returns(trajectories(group))
        return [[own[3], own[-1]] for own in to_go]  # tokens of the first and of the last turn

    assert expected_gradient(3, centred) == pytest.approx(true * 2 / 3)

    def process(group):
        """GRPO's process rewards without the scale: every further turn costs the mean reward."""
        credit = Grpo(GrpoConfig(std=False, reward="process")).credit(trajectories(group))
        return [[float(tokens[0]) for tokens in own] for own in credit.advantages]

    assert np.abs(expected_gradient(3, process) - true * 2 / 3).max() > 0.05


def test_a15_diff_group_with_standard_deviation():
    assert within(np.array([1.0, 0]), np.array([0, 1]), std=True) == pytest.approx([0.7071, -0.7071], abs=1e-4)


def test_a16_a_trajectory_repeating_itself_is_no_group():
    same = ("a.py", b"    return total + 1\n")
    group = [trajectory(0, [turn([same], reward=0.1)] * 8), trajectory(1, [turn([("a.py", b"import os\n")], reward=1)])]
    published = Didpo(DidpoConfig(estimator="within"))
    assert published.credit(group).anchors == ()
    group[1] = trajectory(1, [turn([same], reward=1)])
    (anchor,) = published.credit(group).anchors
    assert len(anchor.occurrences) == 9
    assert anchor.score == pytest.approx(groupability(1, 2))


@pytest.mark.parametrize(("lines", "n", "right"), [(8, 1, 0), (8, 8, 0.368614), (1, 32, 0.115064), (32, 4, 0.306983)])
def test_a17_groupability(lines, n, right):
    assert groupability(lines, n) == pytest.approx(right, abs=1e-6)


DUMP = """
from algorithms.didpo import ALGORITHM
from tests.algorithms.groups_for_tests import trajectory, turn
texts = [b"x = 1\\nreturn x\\n", b"x = 1\\nreturn x\\n", b"x = 1\\nreturn y\\n"]
group = [trajectory(i, [turn([("a.py", text)], reward=float(i))]) for i, text in enumerate(texts)]
print(ALGORITHM(ALGORITHM.Config(estimator="within")).credit(group).anchors)
"""


def test_a18_groups_are_the_same_bytes_in_every_process():
    root = Path(__file__).parents[2]
    dumps = [
        subprocess.run(
            [sys.executable, "-c", DUMP], cwd=root, env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert dumps[0] == dumps[1]
    assert dumps[0].count(b"Occurrence(") == 3
