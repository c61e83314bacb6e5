"""GiGPO's step groups."""

from __future__ import annotations

import numpy as np
import pytest

from algorithms.gigpo import ALGORITHM
from tests.algorithms.groups_for_tests import trajectory, turn


def credit(group, **options):
    return ALGORITHM(ALGORITHM.Config(**{"std": False, "gamma": 0.5, **options})).credit(group)


def first(result):
    return [[float(tokens[0]) for tokens in own] for own in result.advantages]


def test_step_advantage_compares_turns_from_one_state():
    group = [
        trajectory(0, [turn(state="a"), turn(state="b", reward=1)]),
        trajectory(1, [turn(state="a"), turn(state="b", reward=0)]),
        trajectory(2, [turn(state="a"), turn(state="c", reward=0.5)]),
    ]
    episode = np.array([0.5, -0.5, 0.0])
    start = np.array([0.5, 0, 0.25]) - 0.25
    expected = [[0.5 + start[0], 0.5 + 0.5], [-0.5 + start[1], -0.5 - 0.5], [start[2], 0.0]]
    result = credit(group)
    np.testing.assert_allclose(first(result), expected, atol=1e-6)
    assert result.metrics["credit/lone_states"] == pytest.approx(1 / 3)
    assert result.metrics["credit/step_group_size"] == pytest.approx(2)
    np.testing.assert_allclose(first(credit(group, omega=0.0)), np.repeat(episode[:, None], 2, 1), atol=1e-6)


def test_another_observation_is_another_state():
    group = [
        trajectory(0, [turn(observation="x", reward=1)]),
        trajectory(1, [turn(observation="y", reward=0)]),
    ]
    np.testing.assert_allclose(first(credit(group)), [[0.5], [-0.5]])


def test_coming_back_to_a_state_counts_once():
    group = [
        trajectory(0, [turn(state="a"), turn(state="a"), turn(state="a", reward=1)]),
        trajectory(1, [turn(state="a")]),
    ]
    returns = np.array([0.25, 0.5, 1.0])
    baseline = (returns.mean() + 0) / 2
    np.testing.assert_allclose(first(credit(group))[0], 0.5 + returns - baseline, atol=1e-6)
    np.testing.assert_allclose(first(credit(group))[1], [-0.5 - baseline], atol=1e-6)


@pytest.mark.parametrize(("key", "value"), [("gamma", 1.1), ("omega", -1.0)])
def test_options_out_of_range_are_named(key, value):
    with pytest.raises(ValueError, match=rf"algorithm\.{key}"):
        ALGORITHM.Config(**{key: value})
