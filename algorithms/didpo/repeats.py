"""All maximal repeats of a set of sequences, by suffix array: near-linear also where everything is equal.

    suffixes, repeats = maximal_repeats(text, owner)
    for repeat in repeats:
        suffixes[repeat.first : repeat.last]    # where its ``length`` symbols stand

The text is all sequences, each followed by a symbol of its own (:func:`algorithms.didpo.corpus.shared_text`).

Suffix array by prefix doubling (Manber and Myers 1993) in numpy; the ranks of every round stay, so the longest
common prefixes of neighbours come from them by binary descent. The inner nodes of the implicit suffix tree are the
right-maximal repeats (Abouelhoda, Kurtz and Ohlebusch 2004); the number of distinct owners below each is its leaves
less the pairs of neighbouring leaves of one owner whose lowest common ancestor it holds (Hui 1992).
"""

from __future__ import annotations

import bisect
from typing import NamedTuple

import numpy as np


class Repeat(NamedTuple):
    """``length`` symbols that stand at ``suffixes[first:last]``, in the sequences of ``owners`` distinct owners."""

    first: int
    last: int
    length: int
    owners: int


def suffix_array(text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Suffixes [N] in order, and the common prefix [N] of each with the one before it (0 for the first).

    ``text`` must end with a symbol that occurs nowhere else.
    """
    size = len(text)
    rank = np.unique(text, return_inverse=True)[1].astype(np.int64)
    rounds, step = [rank], 1
    order = np.argsort(rank, kind="stable")
    while size and rank[order[-1]] < size - 1:
        following = np.zeros(size, dtype=np.int64)
        following[: size - step] = rank[step:] + 1
        key = rank * (size + 1) + following
        order = np.argsort(key, kind="stable")
        ordered = key[order]
        rank = np.empty(size, dtype=np.int64)
        rank[order] = np.concatenate(([0], np.cumsum(ordered[1:] != ordered[:-1])))
        rounds.append(rank)
        step *= 2
    common = np.zeros(size, dtype=np.int64)
    before, here = order[:-1], order[1:]
    for level in range(len(rounds) - 1, -1, -1):
        a, b = before + common[1:], here + common[1:]
        inside = np.maximum(a, b) < size
        equal = rounds[level][np.minimum(a, size - 1)] == rounds[level][np.minimum(b, size - 1)]
        common[1:] += (inside & equal) * (1 << level)
    return order, common


def maximal_repeats(text: np.ndarray, owner: np.ndarray) -> tuple[np.ndarray, list[Repeat]]:
    """The suffix array, and every repeat of at least 2 distinct owners that cannot be extended left or right."""
    suffixes, common = suffix_array(text)
    size = len(suffixes)
    if not size:
        return suffixes, []
    left = np.where(suffixes > 0, text[suffixes - 1], -1)
    changes = np.concatenate(([0], np.cumsum(left[1:] != left[:-1]))).tolist()
    previous = _previous_of_owner(owner[suffixes]).tolist()
    repeats: list[Repeat] = []
    # The path of open intervals, outermost first: where it starts, its length, pairs of one owner inside.
    firsts, lengths, doubles = [0], [0], [0]

    def close(last: int) -> tuple[int, int]:
        first, length, double = firsts.pop(), lengths.pop(), doubles.pop()
        owners = last - first - double
        if owners >= 2 and changes[last - 1] > changes[first]:
            repeats.append(Repeat(first, last, length, owners))
        return first, double

    for position, length in enumerate([*common.tolist()[1:], 0], start=1):
        first, double = position - 1, 0
        while lengths[-1] > length:
            first, inner = close(position)
            double += inner
            if lengths[-1] >= length:
                doubles[-1] += double
                double = 0
        if lengths[-1] < length:
            firsts.append(first)
            lengths.append(length)
            doubles.append(double)
        if position < size and previous[position] >= 0:
            doubles[bisect.bisect_right(firsts, previous[position]) - 1] += 1
    return suffixes, repeats


def _previous_of_owner(owner: np.ndarray) -> np.ndarray:
    """For each position the last one before it with the same owner, or -1."""
    order = np.argsort(owner, kind="stable")
    same = owner[order[1:]] == owner[order[:-1]]
    previous = np.full(len(owner), -1, dtype=np.int64)
    previous[order[1:]] = np.where(same, order[:-1], -1)
    return previous
