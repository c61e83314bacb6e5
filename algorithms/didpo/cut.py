"""Choosing anchors: the groupability score, the set that covers most of it, the cut into pieces that do not overlap.

The objective is the sum of GS over **lines**: per line the score of the best anchor that covers it (a sum over
occurrences would cut a block of eight lines into eight anchors). Greedy choice reaches 1 - 1/e of the best set of its
size (facility location is submodular), and lazy evaluation (Minoux 1978) does not change it. Scores are integers of
2^-30, so sums are exact in any order and ties are ties.
"""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SCALE = 1 << 30
#: Candidates considered, those with the highest possible gain first, and how often all units may be looked at to weigh
#: them. Only texts of very many nested repeats (10,000 equal lines have as many) come near; it bounds their time.
MAX_CANDIDATES = 20_000
WORK, LEAST_WORK = 2_000, 1 << 24


def groupability(lines: float, n: int, s0: float = 8.0, g0: float = 8.0, shape: str = "exp") -> float:
    """GS = phi(lines) psi(n), for a mean length in lines and n distinct trajectories; 0 for n = 1.

    exp: phi = 1 - exp(-lines / s0), psi = 1 - exp(-(n - 1) / g0) (published). The other two are 1 from s0 and g0 on:
    linear: lines / s0 and (n - 1) / g0; log: ln(1 + lines) / ln(1 + s0) and ln(n) / ln(1 + g0).
    """
    if shape == "exp":
        return math.expm1(-lines / s0) * math.expm1(-(n - 1) / g0)
    if shape == "log":
        return min(1.0, math.log1p(lines) / math.log1p(s0)) * min(1.0, math.log(n) / math.log1p(g0))
    if shape == "linear":
        return min(1.0, lines / s0) * min(1.0, (n - 1) / g0)
    raise ValueError(f"algorithm.shape={shape!r} is unknown; there are: exp, log, linear")


@dataclass
class Candidate:
    """A possible anchor: where it starts [n] and how many units each occurrence has ([n], or one number for all).

    ``key`` orders candidates by content, so that ties fall the same way whatever the order of the trajectories.
    """

    key: tuple[int, int, int]
    starts: np.ndarray
    lengths: np.ndarray | int
    total: int  # the sum of the lengths
    weight: int

    def covered(self, size: int) -> np.ndarray:
        """bool [size]: the units that some occurrence covers."""
        if self.total <= size >> 4:
            lengths = np.broadcast_to(self.lengths, self.starts.shape)
            offsets = np.arange(self.total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
            mask = np.zeros(size, dtype=bool)
            mask[np.repeat(self.starts, lengths) + offsets] = True
            return mask
        # Occurrences of long repeats overlap and add up to far more than the text: count those open at each unit.
        opened = np.bincount(self.starts, minlength=size + 1)
        closed = np.bincount(self.starts + self.lengths, minlength=size + 1)
        return np.cumsum(opened - closed)[:size] > 0


def choose(candidates: Sequence[Candidate], size: int, limit: int) -> list[Candidate]:
    """At most ``limit`` candidates that cover a text of ``size`` units with the most weight, greedily."""
    best = np.zeros(size, dtype=np.int64)
    bounds = [(-c.weight * min(c.total, size), c.key, k) for k, c in enumerate(candidates)]
    heap = heapq.nsmallest(MAX_CANDIDATES, bounds)
    chosen: list[Candidate] = []
    room, work, seen = _Room(best), max(LEAST_WORK, WORK * size), set[int]()
    while heap and len(chosen) < limit and work > -LEAST_WORK:
        if work < 0 and len(seen) < len(heap):  # go on with those weighed so far
            heap = [entry for entry in heap if entry[2] in seen]
            heapq.heapify(heap)
        bound, key, k = heapq.heappop(heap)
        candidate = candidates[k]
        most = room.at_most(candidate.weight)
        if most < -bound:  # all lines together could not gain that much any more
            if most:
                heapq.heappush(heap, (-most, key, k))
            continue
        work -= size
        seen.add(k)
        covered = candidate.covered(size)
        gain = int(np.maximum(candidate.weight - best[covered], 0).sum())
        # Bounds and older gains are never too low, so what still comes first is the best.
        if gain and heap and heap[0][:2] < (-gain, key):
            heapq.heappush(heap, (-gain, key, k))
        elif gain:
            np.maximum(best, candidate.weight, out=best, where=covered)
            room = _Room(best)
            chosen.append(candidate)
    return chosen


class _Room:
    """How much all lines together could gain from a weight."""

    def __init__(self, best: np.ndarray) -> None:
        self._sorted = np.sort(best)
        self._sums = np.concatenate(([0], np.cumsum(self._sorted)))

    def at_most(self, weight: int) -> int:
        """The gain of a candidate of this weight that covers every line."""
        below = int(np.searchsorted(self._sorted, weight))
        return weight * below - int(self._sums[below])


def cut(occurrences: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int, int]]:
    """Non-overlapping occurrences of one root diff with the most weight times units (weighted interval scheduling).

    Args:
        occurrences: (first unit, last unit (not included), weight per unit, anchor's number).

    Returns:
        (first, last, anchor), in order. Of equal cuts the one whose last piece has the higher weight, then the lower
        anchor, wins.
    """
    order = sorted((last, -weight, anchor, first) for first, last, weight, anchor in occurrences)
    ends, values = [0], [0]  # the best value up to each end at which it grows
    taken: list[tuple[int, int, int, int] | None] = [None]  # and how: first, last, anchor, step before it
    for last, weight, anchor, first in order:
        before = bisect.bisect_right(ends, first) - 1
        reached = values[before] - weight * (last - first)
        if reached > values[-1]:
            if ends[-1] == last:
                ends.pop(), values.pop(), taken.pop()
            ends.append(last)
            values.append(reached)
            taken.append((first, last, anchor, before))
    pieces = []
    step = taken[-1]
    while step is not None:
        pieces.append(step[:3])
        step = taken[step[3]]
    return pieces[::-1]
