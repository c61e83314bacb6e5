"""Overlong replies and the KL in the reward: before credit, and in a run."""

from __future__ import annotations

import json

import numpy as np
import pytest

from algorithms.core import rewards
from algorithms.core.batch import with_tokens
from algorithms.core.check import validate
from algorithms.core.config import RolloutConfig
from algorithms.core.groups import episode_returns
from algorithms.core.trainer import Trainer
from tests.algorithms.groups_for_tests import trajectory, turn
from tests.algorithms.training_for_tests import Relative, make_config, make_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("rewards") / "model")


def sized(tokens, reward=0.0, cut=False):
    made = turn(reward=reward)
    made.response_ids, made.truncated = np.arange(tokens), cut
    made.logprobs = np.zeros(tokens, dtype=np.float32)
    return made


def test_overlong_replies_are_punished_at_their_last_token():
    """L15: 16, 17, 18 and 20 tokens of 20; one that fits and one that was cut there are both at -1."""
    lengths = (16, 17, 18, 20)
    group = [trajectory(i, [sized(n)]) for i, n in enumerate(lengths)] + [trajectory(4, [sized(20, cut=True)])]
    mean = rewards.punish_overlong([group], RolloutConfig(max_response_tokens=20, overlong_share=0.2))
    assert episode_returns(group).tolist() == [0, -0.25, -0.5, -1, -1]
    assert mean == pytest.approx(2.75 / 5)
    assert group[2].turns[0].penalties.tolist() == [0] * 17 + [0.5]
    assert group[0].turns[0].penalties is None


def test_trajectories_that_a_limit_ended_are_no_part_of_a_baseline():
    """A7: the group goes on without them; a group of one does not."""
    cut, fine = trajectory(0, [sized(3, 100.0, cut=True)]), [trajectory(i, [sized(3, 1.0)]) for i in (1, 2)]
    outgrown = trajectory(3, [sized(3)])
    outgrown.stop_reason = "max_prompt_tokens"
    recovered = trajectory(4, [sized(3, cut=True), sized(3, 1.0)])
    (left,) = rewards.without_overlong([[cut, *fine, outgrown, recovered], [cut, fine[0]]])
    assert [own.member for own in left] == [1, 2, 4]


@pytest.mark.parametrize(("kl_type", "right"), [("k1", 0.5), ("k2", 0.125), ("k3", np.exp(-0.5) - 0.5)])
def test_the_kl_is_taken_off_token_by_token(model, tmp_path, kl_type, right):
    config = make_config(model, tmp_path / "run", loss__kl_coef=0.1, loss__kl_in="reward", loss__kl_type=kl_type)
    group = [trajectory(0, [sized(2, 1.0), sized(3, 0.0)]), trajectory(1, [sized(2, 1.0)])]
    rows = rewards.uncredited_rows([group])
    rows = with_tokens(rows, "old_logprobs", np.array([-1, -2, -1, -1, -1, -1, -1], dtype=np.float32))
    rows = with_tokens(rows, "ref_logprobs", np.array([-1, -2.5, -1, -1, -1, -1, -1], dtype=np.float32))
    metrics = rewards.set_penalties_and_values([group], rows, config)
    assert group[0].turns[0].penalties.tolist() == pytest.approx([0, 0.1 * right])
    assert not group[0].turns[1].penalties.any()
    assert metrics["reward/kl"] == pytest.approx(right / 7)
    assert episode_returns([group[0]]) == pytest.approx(1 - 0.1 * right)


def steps_of(run_dir):
    return [json.loads(line) for line in (run_dir / "metrics.jsonl").read_text().splitlines()]


def test_a_run_with_the_kl_in_the_reward(model, tmp_path):
    """At the first step the policy is the reference, so the KL is 0; then it is not."""
    config = make_config(
        model, tmp_path / "run", loss__kl_coef=0.5, loss__kl_in="reward", loss__kl_type="k2", optim__lr=1e-2,
        rollout__overlong_share=0.5, trainer__steps=3,
    )  # fmt: skip
    Trainer(config, Relative()).run()
    steps = steps_of(tmp_path / "run")
    assert steps[0]["reward/kl"] == pytest.approx(0, abs=1e-9)
    assert steps[1]["reward/kl"] > 1e-6
    assert all("loss/kl" not in row and row["reward/overlong"] < 0 for row in steps)


def test_a_run_without_overlong_replies(model, tmp_path):
    """A random model hardly ever ends its replies, so next to nothing is left."""
    config = make_config(model, tmp_path / "run", rollout__overlong_filter=True, trainer__steps=1)
    Trainer(config, Relative()).run()
    (step,) = steps_of(tmp_path / "run")
    assert 0 < step["groups/overlong"] <= step["trajectories"] == 8
    assert step["groups/kept"] < 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rollout__overlong_share": 1.5}, r"rollout\.overlong_share=1\.5"),
        ({"critic__clip": 0.0}, r"critic\.clip=0\.0"),
        ({"critic__enabled": True, "critic__path": "./nowhere"}, r"no such folder"),
        ({"rollout__top_p": 0.9, "loss__correction": "truncate"}, r"loss\.correction=none"),  # L14
        ({"loss__kl_in": "both"}, r"loss\.kl_in='both'"),
    ],
)
def test_bad_settings_are_refused(model, tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        validate(make_config(model, tmp_path / "run", **changes))
