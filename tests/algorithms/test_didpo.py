"""DiDPO's credit by the published rule: exact tokens, known answers, invariance."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.didpo import ALGORITHM
from algorithms.didpo.project import paint, tokens_of
from codegym.spans import Span
from tests.algorithms.groups_for_tests import block, trajectory, turn

BLOCK = b"\n".join(block(7, 4))


def credit(group, **options):
    return ALGORITHM(ALGORITHM.Config(estimator="within", **options)).credit(group)


@pytest.mark.parametrize(
    ("span", "tokens"),
    [
        ((0, 4), (0, 1)),
        ((4, 8), (1, 2)),
        ((1, 8), (0, 2)),  # 3 of 4 bytes of the first token are inside
        ((2, 8), (1, 2)),  # a tie goes to the left, which is outside here
        ((0, 6), (0, 2)),  # and inside here
        ((0, 5), (0, 1)),
        ((3, 4), (1, 1)),  # too little of any token
        ((8, 8), (3, 3)),
        ((0, 9), (0, 4)),  # a token without bytes inside belongs, the one after the end does not
        ((8, 9), (3, 4)),
    ],
)
def test_tokens_of_a_span(span, tokens):
    assert tokens_of(Span(*span), np.array([4, 8, 8, 9, 9])) == tokens


@given(st.lists(st.integers(0, 5), min_size=1, max_size=12), st.randoms())
@settings(deadline=None)
def test_touching_spans_share_no_token_and_lose_none(widths, rng):
    ends = np.cumsum(widths)
    cuts = sorted({0, int(ends[-1]), *(rng.randint(0, int(ends[-1])) for _ in range(3))})
    got = [tokens_of(Span(a, b), ends) for a, b in itertools.pairwise(cuts)]
    for (_, last), (first, _) in itertools.pairwise(got):
        assert all(widths[k] == 0 for k in range(last, first))
        assert last <= first
    for k, end in enumerate(ends.tolist()):
        held = [max(0, min(b, end) - max(a, end - widths[k])) for a, b in itertools.pairwise(cuts)]
        owners = [n for n, (first, last) in enumerate(got) if first <= k < last]
        if widths[k] and max(held) > widths[k] / 2:
            assert owners == [held.index(max(held))]


def test_paint_lets_the_later_piece_win():
    ends = np.arange(1, 6)
    assert paint(5, ends, [(Span(0, 3), 1.0), (Span(2, 4), 2.0)]).tolist() == [1, 1, 2, 2, 0]


def test_the_published_rule_on_exactly_the_anchor_s_tokens():
    group = [
        trajectory(0, [turn([("a.py", BLOCK)], reward=0.2), turn(reward=1.0)]),
        trajectory(1, [turn(reward=0.0), turn([("a.py", b"import os\n" + BLOCK)], reward=0.4)]),
        trajectory(2, [turn([("b.py", BLOCK)], reward=0.0)]),
    ]
    result = credit(group, std=False, gamma=0.5, lam=2.0, eta=1.0)
    episode = np.array([1.2, 0.4, 0.0]) - 1.6 / 3
    (anchor,) = result.anchors
    values = np.array([0.2 + 0.5 * 1.0, 0.4])
    assert anchor.advantages == pytest.approx((values - values.mean()).tolist())
    assert [(o.member, o.turn) for o in anchor.occurrences] == [(0, 0), (1, 1)]
    for i, own in enumerate(result.advantages):
        for t, tokens in enumerate(own):
            made = group[i].turns[t]
            expected = np.full(len(tokens), episode[i])
            for occurrence, value in zip(anchor.occurrences, anchor.advantages, strict=True):
                if (occurrence.member, occurrence.turn) == (i, t):
                    assert made.reply[slice(*occurrence.span)] == BLOCK.strip()
                    first, last = tokens_of(occurrence.span, made.token_ends)
                    assert last - first >= len(BLOCK) // 3 - 2
                    expected[first:last] += 2.0 * value
            np.testing.assert_allclose(tokens, expected, atol=1e-6)
            assert tokens.dtype == np.float32


def test_identical_changes_sum_to_zero():
    group = [trajectory(i, [turn([("a.py", BLOCK)], reward=r)]) for i, r in enumerate([1, 0, 0, 0.5])]
    assert sum(credit(group).anchors[0].advantages) == pytest.approx(0, abs=1e-12)


def test_diff_std_divides_over_trajectories():
    group = [trajectory(i, [turn([("a.py", BLOCK)], reward=r)]) for i, r in enumerate([1, 0])]
    assert credit(group, diff_std=True).anchors[0].advantages == pytest.approx([0.7071, -0.7071], abs=1e-4)


def mixed(seed, size=8):
    rng = random.Random(seed)
    pool = [block(k, rng.randint(1, 5)) for k in range(4)]
    group = []
    for member in range(size):
        turns = []
        for _ in range(2):
            picked = rng.sample(pool, 2)
            lines = [rng.choice((line, line.replace(b"a", b"b"))) for own in picked for line in own]
            turns.append(turn([("a.py", b"\n".join(lines))], reward=rng.random()))
        group.append(trajectory(member, turns))
    return group


@pytest.mark.parametrize("seed", range(4))
def test_order_changes_no_bit(seed):
    group = mixed(seed)
    order = random.Random(seed).sample(range(len(group)), len(group))
    straight, shuffled = credit(group), credit([group[k] for k in order])
    assert straight.anchors == shuffled.anchors
    assert straight.anchors
    for position, k in enumerate(order):
        for a, b in zip(straight.advantages[k], shuffled.advantages[position], strict=True):
            assert a.tobytes() == b.tobytes()


def test_nothing_in_common_is_grpo():
    group = [trajectory(i, [turn([("a.py", b"\n".join(block(i, 3)))], reward=float(i))]) for i in range(3)]
    result = credit(group)
    assert result.anchors == ()
    assert [own[0][0] for own in result.advantages] == [-1, 0, 1]
    assert result.metrics["credit/diff_tokens"] == 0


def test_a_group_with_trajectories_that_sampled_nothing():
    result = credit([trajectory(0, []), trajectory(1, [])])
    assert result.advantages == [[], []]


@pytest.mark.parametrize(
    ("key", "value"),
    [("gamma", 2.0), ("lam", -1.0), ("eta", 0.0), ("max_anchors", -1), ("s0", 0.0), ("g0", 0.0), ("shape", "cubic"),
     ("place", "line")],
)  # fmt: skip
def test_options_out_of_range_are_named(key, value):
    with pytest.raises(ValueError, match=rf"algorithm\.{key}"):
        ALGORITHM.Config(**{key: value})
