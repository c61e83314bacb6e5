"""Group statistics, returns and their edge cases; the published values are in tests/known_answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.core.groups import group_by, spread, turn_returns, within
from algorithms.core.statistics import (
    all_equal,
    center,
    gae,
    group_advantage,
    overlong_penalty,
    returns_to_go,
    rloo,
    whiten,
)
from tests.algorithms.groups_for_tests import with_rewards

rewards = st.lists(st.sampled_from([0.0, 0.1, 0.15, 0.3, 1.0]), min_size=2, max_size=12).map(np.array)


@pytest.mark.parametrize("std", [True, False])
def test_rounding_noise_gives_exactly_zero(std):
    noisy = np.array([0.1 + 0.2, 0.3, 0.15 + 0.15, np.float32(0.3)])
    assert len(set(noisy.tolist())) > 1
    assert group_advantage(noisy, std=std).tolist() == [0, 0, 0, 0]
    assert within(noisy, np.arange(4), std=std).tolist() == [0, 0, 0, 0]
    assert center(np.array([5e-17, 0.0]), std).tolist() == [0, 0]


@given(rewards)
def test_advantages_are_those_of_the_definition(values):
    if all_equal(values):
        assert not group_advantage(values).any()
        return
    expected = (values - values.mean()) / values.std(ddof=1)
    np.testing.assert_allclose(group_advantage(values), expected, atol=1e-12)
    others = [(values.sum() - v) / (len(values) - 1) for v in values]
    np.testing.assert_allclose(rloo(values), values - others, atol=1e-12)


@given(rewards, st.randoms())
def test_order_changes_no_bit(values, random):
    order = list(range(len(values)))
    random.shuffle(order)
    for rule in (group_advantage, rloo):
        assert rule(values)[order].tolist() == rule(values[order]).tolist()


def test_nothing_there():
    assert group_advantage(np.array([])).tolist() == []
    with pytest.raises(ValueError, match="NaN"):
        group_advantage(np.array([1.0, np.nan]))


@given(rewards, st.lists(st.booleans(), min_size=12, max_size=12), st.sampled_from([0.0, 0.5, 1.0]))
def test_returns_to_go_by_the_double_sum(values, flags, gamma):
    mask = np.array(flags[: len(values)])
    expected = np.zeros(len(values))
    for t in np.flatnonzero(mask):
        for later in range(t, len(values)):
            expected[t] += gamma ** int(mask[t + 1 : later + 1].sum()) * values[later] if later > t else values[t]
    # A reward on a masked step is earned by the model's step before it.
    np.testing.assert_allclose(returns_to_go(values, gamma, mask), expected, atol=1e-12)


def test_gae_with_lambda_1_is_return_minus_value():
    values, earned = np.array([0.3, 0.1, 0.7]), np.array([0.0, 0.5, 1.0])
    result = gae(earned, values, np.ones(3), 0.9, 1.0)
    np.testing.assert_allclose(result, returns_to_go(earned, 0.9) - values)
    assert gae(np.array([0.0, 1.0]), np.array([0.0, 9.0]), np.array([1, 0]), 1.0, 1.0).tolist() == [1, 0]
    assert gae(earned, values, np.zeros(3), 0.9, 0.9).tolist() == [0, 0, 0]


def test_whitening_reads_nothing_under_the_mask():
    result = whiten(np.array([[1.0, np.nan], [2.0, 3.0]]), np.array([[1, 0], [1, 1]]))
    np.testing.assert_allclose(result, [[-1, 0], [0, 1]])
    assert whiten(np.array([4.0, 4.0]), np.ones(2)).tolist() == [0, 0]


def test_overlong_penalty_refuses_a_cache_longer_than_the_limit():
    with pytest.raises(ValueError, match="cache=5"):
        overlong_penalty([1], max_length=4, cache=5)


def test_within_counts_trajectories():
    values, members = np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 0, 0, 1])
    np.testing.assert_allclose(within(values, members), values - (1 / 3 + 1) / 2)
    assert within(values, np.zeros(4, int)).tolist() == [0, 0, 0, 0]
    assert within(np.array([1.0, 0, 1, 0]), np.array([0, 0, 1, 1]), std=True).tolist() == [0, 0, 0, 0]
    assert within(np.array([1.0, 0, 1, 0]), np.array([0, 0, 1, 1])).tolist() == [0.5, -0.5, 0.5, -0.5]


def test_spread_and_group_by():
    group = with_rewards([0, 1], [1])
    out = spread(group, lambda i, t: 10 * i + t)
    assert [[set(turn.tolist()) for turn in own] for own in out] == [[{0.0}, {1.0}], [{10.0}]]
    assert out[0][0].dtype == np.float32
    assert len(out[0][0]) == len(group[0].turns[0].response_ids)
    assert [positions.tolist() for positions in group_by("abab")] == [[0, 2], [1, 3]]
    assert [own.tolist() for own in turn_returns(group, 0.5)] == [[0.5, 1], [1]]
