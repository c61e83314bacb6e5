"""Rows, micro-batches and ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.core.batch import collate, padded, plan, rows_of, rows_of_groups
from algorithms.core.trajectory import Credit, Trajectory, Turn
from codegym.diff.model import Diff


def turn(prompt: list[int], response: list[int]) -> Turn:
    return Turn(
        prompt_ids=np.array(prompt, dtype=np.int64),
        response_ids=np.array(response, dtype=np.int64),
        logprobs=-np.arange(1, len(response) + 1, dtype=np.float32),
        token_ends=np.arange(1, len(response) + 1),
        reply=b"x" * len(response),
        observation="",
        reward=0.0,
        state_before="",
        diff=Diff(),
    )


def test_turns_that_extend_each_other_are_one_row_each_with_its_own_mask() -> None:
    """A8: every turn trains with its own tokens, S6: on the ids sampled."""
    conversation = Trajectory(
        "t", 0, [turn([1, 2], [10, 11]), turn([1, 2, 10, 11, 3], [12]), turn([1, 2, 10, 11, 3, 12, 4], [13, 14])]
    )
    advantages = [np.full(2, 0.5), np.full(1, -1.0), np.array([2.0, 3.0])]
    (row,) = rows_of(conversation, advantages)
    assert row.ids.tolist() == [1, 2, 10, 11, 3, 12, 4, 13, 14]
    assert row.mask.tolist() == [False, False, True, True, False, True, False, True, True]
    assert row.advantages.tolist() == [0, 0, 0.5, 0.5, 0, -1, 0, 2, 3]
    assert row.engine_logprobs.tolist() == [0, 0, -1, -2, 0, -1, 0, -1, -2]


def test_a_rewritten_history_starts_a_row_of_its_own() -> None:
    conversation = Trajectory(
        "t", 0, [turn([1, 2], [10, 11]), turn([1, 2, 10, 5], [12]), turn([1, 2, 10, 5, 12], [13])]
    )
    rows = rows_of(conversation, [np.ones(2), np.ones(1), np.ones(1)])
    assert [row.ids.tolist() for row in rows] == [[1, 2, 10, 11], [1, 2, 10, 5, 12, 13]]
    assert sum(int(row.mask.sum()) for row in rows) == 4


def test_a_wrong_number_of_advantages_names_the_trajectory() -> None:
    with pytest.raises(ValueError, match="task 'late', trajectory 3: 1 advantages for 2 tokens"):
        rows_of(Trajectory("late", 3, [turn([1], [2, 3])]), [np.ones(1)])


def test_rows_without_a_sampled_token_are_left_out() -> None:
    group = [Trajectory("t", 0, [turn([1], [2])]), Trajectory("t", 1, [turn([1], [])]), Trajectory("t", 2, [])]
    credit = Credit([[np.ones(1)], [np.ones(0)], []])
    assert [row.ids.tolist() for row in rows_of_groups([(group, credit)])] == [[1, 2]]


@given(st.lists(st.integers(1, 100), min_size=1, max_size=40), st.integers(1, 4), st.integers(16, 400))
def test_a_plan_holds_every_row_once_within_the_budget_and_even(lengths: list[int], ranks: int, budget: int) -> None:
    dealt = plan(lengths, ranks, budget)
    assert sorted(i for rank in dealt for micro in rank for i in micro) == list(range(len(lengths)))
    assert len({len(rank) for rank in dealt}) == 1  # L17
    for rank in dealt:
        for micro in rank:
            assert len(micro) <= 1 or padded(max(lengths[i] for i in micro)) * len(micro) <= budget


def test_padding_is_masked_and_targets_are_shifted() -> None:
    rows = [
        *rows_of(Trajectory("t", 0, [turn([1, 2, 3], [4, 5])]), [np.array([0.5, 1.5])]),
        *rows_of(Trajectory("t", 1, [turn([1], [9])]), [np.array([2.5])]),
    ]
    batch = collate(rows)
    assert batch.ids.shape == (2, 16)
    assert batch.mask.nonzero().tolist() == [[0, 2], [0, 3], [1, 0]]  # position p predicts id p + 1
    assert batch.advantages[batch.mask].tolist() == [0.5, 1.5, 2.5]
    assert batch.old_logprobs is None
    empty = collate([])
    assert empty.ids.shape == (1, 16)
    assert not empty.mask.any()
