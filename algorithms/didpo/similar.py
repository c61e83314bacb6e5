"""Near-duplicates: pieces of root diffs that are equal or at least ``eta`` similar, as classes around a leader.

Pieces are whole root diffs, what stands at their least depth (functions, statements) and, inside of what resembles
nothing there, deeper statements; so where no sequence recurs, the structure still offers something to compare.

Similarity is rapidfuzz's normalised Indel similarity, 2 * common subsequence / total length, of the units' texts; for
pieces of several lines also of the texts with the names they bind numbered in order of appearance, so that a function
whose local names are all others stays the same function, and one that uses another of them does not.

Most frequent pieces lead, and a piece joins the first leader it resembles among those that share a sketch value with
it: the minima of ``HASHES`` hash functions over its runs of three tokens (MinHash, Broder 1997), in which variables are
not told apart. A pair that shares the fraction J of its runs is missed with probability (1 - J)^12: one in 4,000 at
one half.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from rapidfuzz.distance import Indel

from algorithms.didpo.corpus import Corpus
from algorithms.didpo.roots import Place

#: GS grows by less than .04 % beyond this many lines, and the cost of comparing with their square.
MAX_LINES = 64
MAX_BYTES = 1 << 14
#: From so many lines on, names may all be others: a loop of two lines with other names is another loop.
MIN_RENAMED = 3
HASHES = 12
#: Leaders compared with a piece, those with the most sketch values in common first, and leaders that share a value:
#: bounds the time where boilerplate is everywhere.
MAX_LEADERS = 16

#: Where a piece stands: its first and last unit (not included) in the corpus.
Where = tuple[int, int]

_NAME = rb"[^\W\d]\w*+"
#: What binds a name, on tokens joined by blanks: an assignment, a loop, a parameter.
_ASSIGNED = re.compile(rb"(?<![.\w] )\b(" + _NAME + rb") (?:(?:[-+*/%&|^@:]|< <|> >|\* \*|/ /)? ?= (?!=)|in )")
_HEAD = re.compile(rb"^(?:[\w ]+ )?(?:def|fn|func|function) [^\n]*", re.MULTILINE)
_PARAMETER = re.compile(rb"\b(" + _NAME + rb") (?=[,):=])")
_VARIABLE = re.compile(rb"(?<!\. )\b" + _NAME + rb"(?! \()")
_RNG = np.random.default_rng(0)
_MULTIPLY = _RNG.integers(1 << 63, size=(HASHES, 1), dtype=np.uint64) | np.uint64(1)
_END = b"\x01"


@dataclass
class _Piece:
    """One text at one place: where it stands, and in which trajectories."""

    place: Place
    text: bytes
    where: list[Where] = field(default_factory=list)
    members: set[int] = field(default_factory=set)


@dataclass
class _Class:
    leader: _Piece
    pieces: list[_Piece] = field(default_factory=list)
    members: set[int] = field(default_factory=set)
    numbered: bytes | None = None


def near_duplicates(corpus: Corpus, eta: float) -> list[list[Where]]:
    """Classes of two or more different contents in two or more trajectories, leaders in order of frequency.

    Only pieces at one place are compared. The result depends on contents alone, not on the order of roots.
    """
    if eta >= 1:
        return []
    classes = _Classes(eta)
    tops = list(_tops(corpus))
    classes.add(_distinct(corpus, tops))
    classes.add(_distinct(corpus, _inside(corpus, {where for _, where in tops if classes.companions(corpus, where)})))
    return classes.found()


def _tops(corpus: Corpus) -> Iterator[tuple[int, Where]]:
    """(root, where) of whole root diffs and of what stands at their least depth."""
    for number, (root, origin) in enumerate(zip(corpus.roots, corpus.firsts.tolist(), strict=False)):
        yield number, (origin, origin + len(root.units.texts))
        size = len(root.units.texts)
        for (first, last), depth in zip(root.units.runs, root.units.depths, strict=True):
            # A line of its own weighs too little in a diff larger than a piece may be.
            if depth == 0 and last - first < size and (last - first > 1 or size <= MAX_LINES):
                yield number, (origin + first, origin + last)


def _inside(corpus: Corpus, resembling: set[Where]) -> Iterator[tuple[int, Where]]:
    """The deeper runs around which nothing resembles anything."""
    for number, (root, origin) in enumerate(zip(corpus.roots, corpus.firsts.tolist(), strict=False)):
        covered = origin
        for (first, last), depth in zip(root.units.runs, root.units.depths, strict=True):
            where = (origin + first, origin + last)
            if depth == 0 and where in resembling:
                covered = where[1]
            elif depth > 0 and where[0] >= covered:
                yield number, where


def _distinct(corpus: Corpus, pieces: Iterable[tuple[int, Where]]) -> list[_Piece]:
    texts = [text for _, text in corpus.names]
    ids, found = corpus.ids.tolist(), dict[tuple[Place, bytes], _Piece]()
    visitors: dict[Place, set[int]] = {}
    for root in corpus.roots:
        for place in set(root.places):
            visitors.setdefault(place, set()).add(root.member)
    for number, (first, last) in pieces:
        # A place that one trajectory alone wrote at has no class of two.
        if last - first <= MAX_LINES and len(visitors[corpus.names[ids[first]][0]]) > 1:
            root = corpus.roots[number]
            key = (corpus.names[ids[first]][0], b"\n".join([texts[unit] for unit in ids[first:last]]))
            piece = found.get(key)
            if piece is None:
                piece = found[key] = _Piece(*key)
            piece.where.append((first, last))
            piece.members.add(root.member)
    return [piece for piece in found.values() if len(piece.text) <= MAX_BYTES]


class _Classes:
    """Classes so far, with an index of their leaders by sketch value."""

    def __init__(self, eta: float) -> None:
        self._eta = eta
        self._classes: list[_Class] = []
        self._known: dict[tuple[Place, bytes], _Class] = {}
        self._leaders: dict[tuple[Place, int, int], list[int]] = {}

    def add(self, pieces: Iterable[_Piece]) -> None:
        """Put each piece with its like, the frequent ones first."""
        order = sorted(pieces, key=lambda piece: (-len(piece.members), piece.place, piece.text))
        for piece, sketch in zip(order, _sketches([piece.text for piece in order]), strict=True):
            keys = [(piece.place, k, value) for k, value in enumerate(sketch)]
            found = self._known.get((piece.place, piece.text)) or self._resembling(piece, keys)
            if found is None:
                for key in keys:
                    sharing = self._leaders.setdefault(key, [])
                    if len(sharing) < MAX_LEADERS:
                        sharing.append(len(self._classes))
                found = _Class(piece)
                self._classes.append(found)
            found.pieces.append(piece)
            found.members |= piece.members
            self._known[piece.place, piece.text] = found

    def _resembling(self, piece: _Piece, keys: Sequence[tuple[Place, int, int]]) -> _Class | None:
        common: Counter[int] = Counter()
        for key in keys:
            common.update(self._leaders.get(key, ()))
        if not common:
            return None
        numbered = None
        for number, _ in sorted(common.items(), key=lambda item: (-item[1], item[0]))[:MAX_LEADERS]:
            one = self._classes[number]
            if Indel.normalized_similarity(piece.text, one.leader.text, score_cutoff=self._eta) >= self._eta:
                return one
            if min(piece.text.count(b"\n"), one.leader.text.count(b"\n")) >= MIN_RENAMED - 1:
                numbered = numbered or number_names(piece.text)
                one.numbered = one.numbered or number_names(one.leader.text)
                if Indel.normalized_similarity(numbered, one.numbered, score_cutoff=self._eta) >= self._eta:
                    return one
        return None

    def companions(self, corpus: Corpus, where: Where) -> bool:
        """Whether what stands there is in a class of two or more trajectories."""
        key = (corpus.names[corpus.ids[where[0]]][0], b"\n".join(corpus.names[k][1] for k in corpus.ids[slice(*where)]))
        return key in self._known and len(self._known[key].members) > 1

    def found(self) -> list[list[Where]]:
        """Where the pieces of each class stand."""
        return [
            [where for piece in one.pieces for where in piece.where]
            for one in self._classes
            if len({piece.text for piece in one.pieces}) > 1 and len(one.members) > 1
        ]


def number_names(text: bytes) -> bytes:
    """Tokens joined by blanks with the names that they bind written as their number in order of appearance."""
    bound = set(_ASSIGNED.findall(text))
    for head in _HEAD.findall(text):
        bound.update(_PARAMETER.findall(head))
    numbers: dict[bytes, bytes] = {}
    return _VARIABLE.sub(
        lambda match: numbers.setdefault(match[0], b"$%d" % len(numbers)) if match[0] in bound else match[0], text
    )


class _Hashes(dict[bytes, int]):
    def __missing__(self, token: bytes) -> int:
        value = self[token] = zlib.crc32(token)  # the same in every run, unlike hash()
        return value


def _sketches(texts: Sequence[bytes]) -> list[list[int]]:
    """HASHES minima of every text, over its runs of three tokens with the ends marked."""
    if not texts:
        return []
    tokens = (_END + b" " + (b" " + _END + b" " + _END + b" ").join(texts) + b" " + _END).split()
    hashes = _Hashes()
    values = np.fromiter(map(hashes.__getitem__, tokens), dtype=np.uint64, count=len(tokens))
    names = {hashes[token] for token in hashes if re.fullmatch(_NAME, token)}
    named = np.isin(values, np.array(sorted(names), dtype=np.uint64))
    after = np.concatenate((values[1:] == hashes[b"("], [False]))
    before = np.concatenate(([False], values[:-1] == hashes[b"."]))
    values[named & ~after & ~before] = 7
    # An odd multiplier mixes upwards only, and the shift brings the high bits down.
    mixed = (values[:-2] * np.uint64(0x9E3779B97F4A7C15)) ^ (values[1:-1] * np.uint64(0xC2B2AE3D27D4EB4F))
    mixed ^= values[2:] * np.uint64(0x165667B19E3779F9)
    mixed ^= mixed >> np.uint64(31)
    # Each text owns the runs that begin at its first mark and end at its last.
    marks = np.flatnonzero(values == hashes[_END])
    starts = marks[::2]
    every = (mixed * _MULTIPLY) >> np.uint64(32)
    return np.minimum.reduceat(every, starts, axis=1).T.tolist()
