"""The texts of an edit, and where in the reply each of their bytes was said.

Mostly a text is a contiguous range of the reply. Where a format puts marks between its lines (a diff's ``+``) or says
a byte in other words (``\\n`` in JSON), ``parts`` say piece by piece which bytes of the reply stand for which bytes::

    text = join([Text(b"a\\n", Span(1, 3)), Text(b"b\\n", Span(4, 6))])   # of the reply b"+a\\n+b\\n"
    Cutter(text).cut(1, 3)    # [Piece(b"\\n", Span(2, 3), True), Piece(b"b", Span(4, 5), True)]
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from codegym.spans import NOWHERE, Span


class Part(NamedTuple):
    """The next ``size`` bytes of a text and the bytes of the reply that say them: the same bytes if as many."""

    size: int
    source: Span


class Piece(NamedTuple):
    """Bytes, the bytes of the reply that say them, and whether those are the same (``exact``)."""

    data: bytes
    source: Span
    exact: bool


@dataclass(frozen=True)
class Text:
    """Bytes of an edit and where they stand in the reply.

    ``span`` is the range from the first to the last byte that says them. Without ``parts`` the text is exactly that
    range. Two texts are equal if their bytes are.
    """

    data: bytes
    span: Span = field(default=NOWHERE, compare=False)
    parts: tuple[Part, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.parts and sum(part.size for part in self.parts) != len(self.data):
            raise ValueError(f"the parts of a text of {len(self.data)} bytes say another number of bytes")


class Cutter:
    """Cuts ranges out of one text; a cut takes time in the number of parts it touches."""

    def __init__(self, text: Text) -> None:
        self._data = text.data
        self._parts: Sequence[Part] = text.parts or (Part(len(text.data), text.span),)
        self._ends = list(accumulate(part.size for part in self._parts))

    def cut(self, start: int, end: int) -> list[Piece]:
        """The bytes ``start`` to ``end`` as pieces. A part that is not said byte for byte keeps its whole source."""
        pieces: list[Piece] = []
        k = bisect_right(self._ends, start)
        while start < end:
            size, source = self._parts[k]
            first, stop = self._ends[k] - size, min(end, self._ends[k])
            exact = size == source.end - source.start
            if exact:
                source = Span(source.start + start - first, source.start + stop - first)
            if stop > start:
                pieces.append(Piece(self._data[start:stop], source, exact))
            start, k = stop, k + 1
        return pieces


def join(texts: Iterable[Text]) -> Text:
    """One text after the other."""
    pieces = [piece for text in texts for piece in Cutter(text).cut(0, len(text.data))]
    return of_pieces(pieces)


def of_pieces(pieces: Iterable[Piece]) -> Text:
    """The text that the pieces make, in order; neighbours that are one range of the reply become one part."""
    data: list[bytes] = []
    parts: list[Part] = []
    for piece in pieces:
        data.append(piece.data)
        last = parts[-1] if parts else None
        if last and piece.exact and last.source.end == piece.source.start and last.size == _length(last.source):
            parts[-1] = Part(last.size + len(piece.data), Span(last.source.start, piece.source.end))
        else:
            parts.append(Part(len(piece.data), piece.source))
    said = [part.source for part in parts if part.source != NOWHERE]
    span = Span(min(s.start for s in said), max(s.end for s in said)) if said else NOWHERE
    plain = len(parts) == 1 and parts[0].size == _length(span)
    return Text(b"".join(data), span, () if plain else tuple(parts))


def within(inner: Text, outer: Text) -> Text:
    """``inner``, a text of the bytes that ``outer`` decodes to, as a text of what ``outer`` is a text of."""
    cutter = Cutter(outer)
    pieces: list[Piece] = []
    for piece in Cutter(inner).cut(0, len(inner.data)):
        said = cutter.cut(*piece.source)
        if piece.exact:
            pieces += said
        else:
            hull = Span(said[0].source.start, said[-1].source.end) if said else NOWHERE
            pieces.append(Piece(piece.data, hull, False))
    return of_pieces(pieces)


def with_lf(text: Text) -> Text:
    """The text of a reply that itself has CRLF line ends: they are not meant, so each is a LF said by two bytes."""
    cutter, position = Cutter(text), 0
    pieces: list[Piece] = []
    for match in re.finditer(rb"\r\n", text.data):
        said = cutter.cut(*match.span())
        pieces += cutter.cut(position, match.start())
        pieces.append(Piece(b"\n", Span(said[0].source.start, said[-1].source.end), False))
        position = match.end()
    return of_pieces(pieces + cutter.cut(position, len(text.data))) if pieces else text


def _length(span: Span) -> int:
    return span.end - span.start
