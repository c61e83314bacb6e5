"""All root diffs of a group as flat arrays: one number per unit, equal where place and text are equal.

The text in which repeats are sought holds only units that two trajectories wrote; what stands between them separates.
A repeat can hold no other unit, and most of what a model writes is its own, so that text is short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.core.trajectory import Trajectory
from algorithms.didpo.roots import Place, Root, root_diffs


@dataclass(frozen=True)
class Corpus:
    """The units of all root diffs, one after the other.

    Attributes:
        firsts: int64 [R + 1], where each root's units begin.
        ids: int64 [N], the number of each unit; ``names[id]`` is its place and text.
        root, member: int64 [N], the root of each unit and the trajectory (its position in the group).
        shared: bool [names], whether two trajectories wrote it.
    """

    roots: list[Root]
    firsts: np.ndarray
    ids: np.ndarray
    names: list[tuple[Place, bytes]]
    root: np.ndarray
    member: np.ndarray
    shared: np.ndarray

    def content(self, first: int, last: int) -> tuple[int, ...]:
        """The numbers of units [first, last)."""
        return tuple(self.ids[first:last].tolist())


def corpus_of(group: Sequence[Trajectory], place: str) -> Corpus:
    """Read a group. ``place`` is "symbol" or "path" (see :mod:`algorithms.didpo.roots`)."""
    roots = root_diffs(group, place)
    sizes = np.array([len(root.units.texts) for root in roots], dtype=np.int64)
    number: dict[tuple[Place, bytes], int] = {}
    ids: list[int] = []
    for root in roots:
        ids += [number.setdefault(key, len(number)) for key in zip(root.places, root.units.texts, strict=True)]
    of_unit = np.array(ids, dtype=np.int64)
    root_of = np.repeat(np.arange(len(roots)), sizes)
    member = np.array([root.member for root in roots], dtype=np.int64)[root_of] if roots else root_of
    pairs = np.unique(of_unit * max(1, len(group)) + member) // max(1, len(group))
    shared = np.bincount(pairs, minlength=len(number)) > 1
    firsts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Corpus(roots, firsts, of_unit, list(number), root_of, member, shared)


def shared_text(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """The units that trajectories share, with a separator of its own after each unbroken piece of them.

    Returns:
        text [T], symbols in the order of the names (so that it does not depend on that of the trajectories), all
        larger than the separators; at [T], the position in ``corpus.ids`` that each symbol is, -1 for separators.
    """
    kept = np.flatnonzero(corpus.shared[corpus.ids])
    if not len(kept):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    ends = np.concatenate((np.diff(kept) > 1, [True])) | np.concatenate((np.diff(corpus.root[kept]) > 0, [True]))
    pieces = int(ends.sum())
    rank = np.zeros(len(corpus.names), dtype=np.int64)
    common = np.flatnonzero(corpus.shared).tolist()
    rank[sorted(common, key=corpus.names.__getitem__)] = np.arange(len(common))
    to = np.arange(len(kept)) + np.concatenate(([0], np.cumsum(ends)[:-1]))
    text, at = np.empty(len(kept) + pieces, dtype=np.int64), np.full(len(kept) + pieces, -1, dtype=np.int64)
    text[to] = rank[corpus.ids[kept]] + pieces
    text[to[ends] + 1] = np.arange(pieces)
    at[to] = kept
    return text, at
