"""Choosing anchors: the groupability score, the set that covers most of it, the cut into pieces that do not overlap.

The objective is the sum of GS over **lines**: per line the score of the best anchor that covers it (a sum over
occurrences would cut a block of eight lines into eight anchors). Greedy choice reaches 1 - 1/e of the best set of its
size (facility location is submodular), and lazy evaluation (Minoux 1978) does not change it. Scores are integers of
2^-30, so sums are exact in any order and ties are ties.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SCALE = 1 << 30
#: Candidates weighed, those with the highest possible gain first. Only texts of very many nested repeats (10,000 equal
#: lines have as many) come near it; it bounds the time spent on them.
MAX_CANDIDATES = 20_000


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
    """A possible anchor: where it starts [n] and how many units each occurrence has [n], on the joined text.

    ``key`` orders candidates by content, so that ties fall the same way whatever the order of the trajectories.
    """

    key: tuple[int, int, int]
    starts: np.ndarray
    lengths: np.ndarray
    total: int  # the sum of the lengths
    weight: int

    def covered(self) -> np.ndarray:
        """Distinct positions of the joined text that some occurrence covers."""
        if self.total <= 4096:
            offsets = np.arange(self.total) - np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
            return np.unique(np.repeat(self.starts, self.lengths) + offsets)
        # Overlapping occurrences of long repeats add up to far more than the text: merge intervals first.
        order = np.argsort(self.starts)
        starts, ends = self.starts[order], np.maximum.accumulate((self.starts + self.lengths)[order])
        new = np.concatenate(([True], starts[1:] > ends[:-1]))
        merged_ends = ends[np.concatenate((np.flatnonzero(new)[1:] - 1, [len(ends) - 1]))]
        return np.concatenate([np.arange(a, b) for a, b in zip(starts[new], merged_ends, strict=True)])


def choose(candidates: Sequence[Candidate], lines: np.ndarray, limit: int) -> list[Candidate]:
    """At most ``limit`` candidates that cover the joined text with the most weight, greedily.

    ``lines`` is bool [N]: which positions of the text are units (the others are separators).
    """
    best = np.zeros(len(lines), dtype=np.int64)
    most = int(lines.sum())
    bounds = [(-c.weight * min(c.total, most), c.key, k) for k, c in enumerate(candidates)]
    heap = heapq.nsmallest(MAX_CANDIDATES, bounds)
    chosen: list[Candidate] = []
    while heap and len(chosen) < limit:
        _, key, k = heapq.heappop(heap)
        candidate = candidates[k]
        gain = _gain(candidate, best, lines)
        # Bounds and older gains are never too low, so what still comes first is the best.
        if gain and heap and heap[0][:2] < (-gain, key):
            heapq.heappush(heap, (-gain, key, k))
        elif gain:
            covered = candidate.covered()
            best[covered] = np.maximum(best[covered], candidate.weight)
            chosen.append(candidate)
    return chosen


def _gain(candidate: Candidate, best: np.ndarray, lines: np.ndarray) -> int:
    """What the lines it covers would gain."""
    improvable = np.flatnonzero(lines & (best < candidate.weight))
    if len(improvable) * len(candidate.starts) > 1 << 16:
        return int(np.maximum(candidate.weight - best[candidate.covered()], 0).sum())
    # Few lines or few occurrences: ask each line, without laying out what long repeats cover many times over.
    at = improvable[:, None]
    inside = ((candidate.starts <= at) & (at < candidate.starts + candidate.lengths)).any(1)
    return int((candidate.weight - best[improvable[inside]]).sum())


def cut(size: int, occurrences: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int, int]]:
    """Non-overlapping occurrences of one root diff with the most weight times units (weighted interval scheduling).

    Args:
        size: units of the root diff.
        occurrences: (first unit, last unit (not included), weight per unit, anchor's number).

    Returns:
        (first, last, anchor), in order. Of equal cuts the one whose last piece has the higher weight, then the lower
        anchor, wins.
    """
    ending: list[list[tuple[int, int, int]]] = [[] for _ in range(size + 1)]
    for first, last, weight, anchor in occurrences:
        ending[last].append((-weight, anchor, first))
    value = [0] * (size + 1)
    taken: list[tuple[int, int] | None] = [None] * (size + 1)
    for end in range(1, size + 1):
        value[end] = value[end - 1]
        for weight, anchor, first in sorted(ending[end]):
            reached = value[first] - weight * (end - first)
            if reached > value[end]:
                value[end], taken[end] = reached, (first, anchor)
    pieces = []
    end = size
    while end:
        step = taken[end]
        if step is None:
            end -= 1
        else:
            pieces.append((step[0], end, step[1]))
            end = step[0]
    return pieces[::-1]
