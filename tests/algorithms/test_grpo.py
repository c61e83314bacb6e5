"""GRPO's credit on whole trajectories."""

from __future__ import annotations

import numpy as np
import pytest

from algorithms.grpo import ALGORITHM
from tests.algorithms.groups_for_tests import with_rewards


def test_every_token_of_every_turn_gets_the_trajectory_s_advantage():
    group = with_rewards([0, 0, 1], [0], [0.5, 0.5], [0])
    credit = ALGORITHM(ALGORITHM.Config()).credit(group)
    expected = np.array([1, 0, 1, 0]) - 0.5
    expected /= np.std([1, 0, 1, 0], ddof=1)
    for own, trajectory, value in zip(credit.advantages, group, expected, strict=True):
        for tokens, turn in zip(own, trajectory.turns, strict=True):
            assert tokens.shape == turn.response_ids.shape
            assert tokens == pytest.approx(value)
    assert credit.metrics["credit/equal_returns"] == 0


def test_equal_returns_give_zero_and_say_so():
    credit = ALGORITHM(ALGORITHM.Config()).credit(with_rewards([0.1, 0.2], [0.3]))
    assert not any(tokens.any() for own in credit.advantages for tokens in own)
    assert credit.metrics["credit/equal_returns"] == 1
