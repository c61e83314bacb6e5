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
from algorithms.didpo.corpus import Corpus, corpus_of, shared_text
from algorithms.didpo.cut import SCALE, Candidate, choose, cut, groupability
from algorithms.didpo.repeats import maximal_repeats
from algorithms.didpo.roots import Root
from algorithms.didpo.similar import Where, near_duplicates

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
    corpus = corpus_of(group, place)
    roots = corpus.roots
    chosen = choose(_candidates(corpus, near_duplicates(corpus, eta), score), len(corpus.ids), limit)
    anchors = []
    for candidate, found in zip(chosen, _cut_all(corpus, chosen, score), strict=True):
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
                _id(candidate, corpus),
                score(lines, len({item[0] for item in spans})),
                lines,
                tuple(Occurrence(group[position].member, turn, span) for position, turn, span, _ in spans),
                tuple(item[0] for item in spans),
            )
        )
    return sorted(anchors, key=lambda anchor: (-anchor.score, anchor.id))


def _candidates(corpus: Corpus, classes: Sequence[Sequence[Where]], score: Score) -> list[Candidate]:
    text, at = shared_text(corpus)
    suffixes, repeats = maximal_repeats(text, np.where(at < 0, -1, corpus.member[at]))
    places = at[suffixes]  # candidates hold views of it: nested repeats add up to the square of the text
    found = []
    for repeat in repeats:
        starts = places[repeat.first : repeat.last]
        weight = round(score(repeat.length, repeat.owners) * SCALE)
        total = len(starts) * repeat.length
        found.append(Candidate((0, repeat.first, repeat.length), starts, repeat.length, total, weight))
    for k, where in enumerate(classes):
        starts, ends = np.array(where, dtype=np.int64).T
        lengths = ends - starts
        weight = round(score(float(lengths.mean()), len(np.unique(corpus.member[starts]))) * SCALE)
        found.append(Candidate((1, k, 0), starts, lengths, int(lengths.sum()), weight))
    return found


def _cut_all(corpus: Corpus, chosen: Sequence[Candidate], score: Score) -> list[list[tuple[int, int, int]]]:
    """Per chosen candidate what the cut leaves it: (root, first unit, last unit)."""
    roots = corpus.roots
    inside: list[list[tuple[int, int, int]]] = [[] for _ in roots]
    for k, candidate in enumerate(chosen):
        at = corpus.root[candidate.starts]
        first = candidate.starts - corpus.firsts[at]
        for root, a, b in zip(at.tolist(), first.tolist(), (first + candidate.lengths).tolist(), strict=True):
            inside[root].append((b, a, k))
    weights = [candidate.weight for candidate in chosen]
    for _ in range(1 + ROUNDS):
        pieces: list[list[tuple[int, int, int]]] = [[] for _ in chosen]
        for root, occurrences in enumerate(inside):
            if occurrences:
                for first, last, k in cut([(a, b, weights[k], k) for b, a, k in occurrences if weights[k]]):
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


def _id(candidate: Candidate, corpus: Corpus) -> str:
    """A name made of the contents alone: the same in every run, whatever the trajectories' order."""
    starts, ends = candidate.starts, candidate.starts + candidate.lengths
    if candidate.key[0] == 0:  # all its occurrences are equal
        starts, ends = starts[:1], ends[:1]
    digests = set()
    for content in {corpus.content(*where) for where in zip(starts.tolist(), ends.tolist(), strict=True)}:
        digest = hashlib.blake2b(digest_size=16)
        for (path, symbol), unit in (corpus.names[k] for k in content):
            # Lengths before the parts: no two contents give the same bytes.
            for part in (path.encode("utf-8", "surrogateescape"), symbol.encode("utf-8", "surrogateescape"), unit):
                digest.update(b"%d:" % len(part) + part)
        digests.add(digest.digest())
    return hashlib.blake2b(b"".join(sorted(digests)), digest_size=8).hexdigest()


if __name__ == "__main__":
    import sys

    from algorithms.didpo.show import main

    sys.exit(main())
