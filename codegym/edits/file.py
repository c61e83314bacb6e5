"""A file that is being edited: its bytes, and for every byte who wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from codegym.actions.text import Piece, Text
from codegym.spans import NOWHERE, Origin, Span

BOM = b"\xef\xbb\xbf"

#: Marks, as its place, an origin that stands for text of the old file; its source is a range of that file.
_OLD = Span(-1, -1)


class Splice(NamedTuple):
    """Bytes ``start`` to ``end`` become the pieces (of ``text``); ``place`` and ``header`` as in an Origin."""

    start: int
    end: int
    pieces: Sequence[Piece]
    text: Text
    place: Span
    header: Span = NOWHERE


class EditedFile:
    """Starts as the old file; :meth:`splice` changes it. ``exists`` is false while the path holds no file."""

    def __init__(self, data: bytes = b"", *, exists: bool = True) -> None:
        self.data, self.exists = data, exists
        self._old_size: int | None = len(data)
        whole = Span(0, len(data))
        self._origins = [Origin(whole, whole, _OLD)] if data else []

    def origins(self) -> tuple[Origin, ...]:
        """What edits wrote, each origin with the old text that it and those it touches replaced.

        That old text is None in a file that came from another path: it is no range of the old file at this one.
        """
        if self._old_size is None:
            return tuple(origin for origin in self._origins if origin.place != _OLD)
        found: list[Origin] = []
        together: list[Origin] = []
        position = 0
        for origin in [*self._origins, Origin(NOWHERE, Span(self._old_size, self._old_size), _OLD)]:
            if origin.place != _OLD:
                together.append(origin)
                continue
            found += [replace(written, old=Span(position, origin.source.start)) for written in together]
            together, position = [], origin.source.end
        return tuple(found)

    def splice(self, *splices: Splice) -> None:
        """Replace ranges, which are in order and do not overlap, and bring the origins up to date in one pass."""
        old, at = self._origins, 0
        origins, data = list[Origin](), list[bytes]()
        position = shift = 0
        for one in (*splices, None):
            start = one.start if one else len(self.data)
            while at < len(old) and old[at].new.end <= start:
                low = max(old[at].new.start, position)
                if low < old[at].new.end or old[at].new.start == old[at].new.end:
                    origins.append(_cut(old[at], low, old[at].new.end, shift))
                at += 1
            if at < len(old) and (low := max(old[at].new.start, position)) < start:
                origins.append(_cut(old[at], low, start, shift))
            data.append(self.data[position:start])
            if one is None:
                break
            written = start + shift
            for piece in one.pieces:
                new = Span(written, written + len(piece.data))
                origins.append(Origin(new, piece.source, one.place, piece.exact, one.header))
                written = new.end
                data.append(piece.data)
            if written == start + shift:
                origins.append(Origin(Span(written, written), one.text.span, one.place, not one.text.data, one.header))
            while at < len(old) and old[at].new.end <= one.end and old[at].new.start < one.end:
                at += 1
            shift = written - one.end
            position = one.end
        self._origins, self.data = origins, b"".join(data)

    def empty(self, place: Span) -> None:
        """Remove all bytes, as a deletion of the file at ``place`` of the reply does."""
        self.splice(Splice(0, len(self.data), (), Text(b""), place))

    def moved(self) -> EditedFile:
        """The same bytes and origins under another path."""
        other = EditedFile(self.data)
        other._origins, other._old_size = self._origins, None
        return other


def _cut(origin: Origin, low: int, high: int, shift: int) -> Origin:
    """The part ``low`` to ``high`` of an origin, moved by ``shift``. An inexact one keeps its whole source."""
    source = origin.source
    if origin.exact and origin.new != (low, high):
        source = Span(source.start + low - origin.new.start, source.start + high - origin.new.start)
    return replace(origin, new=Span(low + shift, high + shift), source=source)
