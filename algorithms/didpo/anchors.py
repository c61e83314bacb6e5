"""Anchors: the sub-diffs that recur across the trajectories of a task, with the bytes of every reply that wrote them.

    for anchor in find_anchors(group):
        anchor.occurrences      # (member, turn, span of the reply)

Candidates are all maximal repeats of the root diffs' units (:mod:`repeats`) and the classes of near-duplicates
(:mod:`similar`). At most ``limit`` are chosen for the groupability score of the lines they cover, every root diff is
cut into occurrences that do not overlap (:mod:`cut`), and what is left of an anchor after the cut is the anchor: its
n and GS are counted again and the cut repeated, ``ROUNDS`` times or until nothing changes. n counts **distinct
trajectories**; a trajectory that repeats itself makes no anchor.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.core.trajectory import Occurrence, Trajectory
from algorithms.didpo.cut import SCALE, Candidate, choose, cut, groupability
from algorithms.didpo.repeats import joined, maximal_repeats
from algorithms.didpo.roots import Place, Root, root_diffs
from algorithms.didpo.similar import near_duplicates

#: Re-cuts after the first; scores change little once n is counted after the cut.
ROUNDS = 3


@dataclass(frozen=True)
class FoundAnchor:
    """An anchor before it has a value. ``occurrences[k]`` is trajectory ``positions[k]`` of the group given."""

    id: str
    score: float
    lines: float
    occurrences: tuple[Occurrence, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True)
class Score:
    """The groupability score's settings; see :func:`algorithms.didpo.cut.groupability`."""

    s0: float = 8.0
    g0: float = 8.0
    shape: str = "exp"

    def __call__(self, lines: float, n: int) -> float:
        return groupability(lines, n, self.s0, self.g0, self.shape)


def find_anchors(
    group: Sequence[Trajectory],
    *,
    eta: float = 0.8,
    limit: int = 64,
    score: Score | None = None,
    place: str = "symbol",
) -> list[FoundAnchor]:
    """The anchors of a group, highest score first; their spans do not overlap within a root diff.

    Args:
        eta: similarity from which pieces count as one; 1 leaves exact repeats only.
        limit: K, the most anchors of a task.
        place: "symbol" or "path", what a change's place is (see :mod:`algorithms.didpo.roots`).
    """
    score = score or Score()
    roots = root_diffs(group, place)
    names = sorted({key for root in roots for key in root.keys})
    number = {key: k for k, key in enumerate(names)}
    sequences = [tuple(number[key] for key in root.keys) for root in roots]
    text, starts, owner = joined(sequences, [root.member for root in roots])
    candidates = _candidates(text, starts, owner, near_duplicates(roots, sequences, names, eta), score)
    chosen = choose(candidates, text >= len(roots), limit)
    pieces = _cut_all(roots, chosen, starts, score)

    ids = [_id(candidate, sequences, starts, names) for candidate in chosen]
    anchors = []
    for k, found in enumerate(pieces):
        if len({roots[root].member for root, _, _ in found}) < 2:
            continue
        spans = [
            (roots[root].member, roots[root].turn, roots[root].span(first, last), last - first)
            for root, first, last in found
        ]
        spans.sort(key=lambda item: (group[item[0]].member, *item[:3]))
        lines = math.fsum(item[3] for item in spans) / len(spans)
        anchors.append(
            FoundAnchor(
                ids[k],
                score(lines, len({item[0] for item in spans})),
                lines,
                tuple(Occurrence(group[position].member, turn, span) for position, turn, span, _ in spans),
                tuple(item[0] for item in spans),
            )
        )
    return sorted(anchors, key=lambda anchor: (-anchor.score, anchor.id))


def _candidates(text, starts, owner, classes, score: Score) -> list[Candidate]:
    suffixes, repeats = maximal_repeats(text, owner)
    found = []
    for repeat in repeats:
        at = suffixes[repeat.first : repeat.last]
        weight = round(score(repeat.length, repeat.owners) * SCALE)
        lengths = np.broadcast_to(np.int64(repeat.length), at.shape)  # no copy: nested repeats would add up to n^2
        found.append(Candidate((0, repeat.first, repeat.length), at, lengths, len(at) * repeat.length, weight))
    for k, where in enumerate(classes):
        at = np.array([starts[root] + first for root, first, _ in where])
        lengths = np.array([last - first for _, first, last in where])
        weight = round(score(float(lengths.mean()), len(np.unique(owner[at]))) * SCALE)
        found.append(Candidate((1, k, 0), at, lengths, int(lengths.sum()), weight))
    return found


def _cut_all(
    roots: Sequence[Root], chosen: Sequence[Candidate], starts: np.ndarray, score: Score
) -> list[list[tuple[int, int, int]]]:
    """Per chosen candidate what the cut leaves it: (root, first unit, last unit)."""
    inside: list[list[tuple[int, int, int]]] = [[] for _ in roots]
    for k, candidate in enumerate(chosen):
        at = np.searchsorted(starts, candidate.starts, side="right") - 1
        first = candidate.starts - starts[at]
        for root, a, b in zip(at.tolist(), first.tolist(), (first + candidate.lengths).tolist(), strict=True):
            inside[root].append((a, b, k))
    weights = [candidate.weight for candidate in chosen]
    for _ in range(1 + ROUNDS):
        pieces: list[list[tuple[int, int, int]]] = [[] for _ in chosen]
        for root, occurrences in enumerate(inside):
            if occurrences:
                weighted = [(a, b, weights[k], k) for a, b, k in occurrences if weights[k]]
                for first, last, k in cut(len(roots[root].units), weighted):
                    pieces[k].append((root, first, last))
        counted = [_weight(found, roots, score) for found in pieces]
        if counted == weights:
            break
        weights = counted
    return pieces


def _weight(found: Sequence[tuple[int, int, int]], roots: Sequence[Root], score: Score) -> int:
    n = len({roots[root].member for root, _, _ in found})
    if n < 2:
        return 0
    return round(score(sum(last - first for _, first, last in found) / len(found), n) * SCALE)


def _id(candidate: Candidate, sequences, starts, names: Sequence[tuple[Place, bytes]]) -> str:
    """A name made of the contents alone: the same in every run, whatever the trajectories' order."""
    contents = set()
    kinds = 1 if candidate.key[0] == 0 else len(candidate.starts)
    at = np.searchsorted(starts, candidate.starts[:kinds], side="right") - 1
    for root, start, length in zip(at, candidate.starts[:kinds], candidate.lengths[:kinds], strict=True):
        first = int(start - starts[root])
        contents.add(sequences[root][first : first + int(length)])
    digest = hashlib.blake2b(digest_size=8)
    for content in sorted(contents):
        for (path, symbol), unit in (names[k] for k in content):
            # Lengths before the parts: no two contents give the same bytes.
            for part in (path.encode("utf-8", "surrogateescape"), symbol.encode("utf-8", "surrogateescape"), unit):
                digest.update(b"%d:" % len(part) + part)
        digest.update(b";")
    return digest.hexdigest()
