"""A file that is being edited: its bytes, and for every byte who wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegym.actions.text import Piece, Text
from codegym.spans import NOWHERE, Origin, Span

BOM = b"\xef\xbb\xbf"

#: Marks, as its place, an origin that stands for text of the old file; its source is a range of that file.
_OLD = Span(-1, -1)


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

    def splice(self, start: int, end: int, pieces: Sequence[Piece], text: Text, place: Span, header: Span) -> None:
        """Replace bytes ``start`` to ``end`` by the pieces (of ``text``) and bring the origins up to date."""
        data = b"".join(piece.data for piece in pieces)
        shift = len(data) - (end - start)
        before, after = list[Origin](), list[Origin]()
        for origin in self._origins:
            low, high = origin.new
            if high <= start:
                before.append(origin)
            elif low >= end:
                after.append(_cut(origin, low, high, shift))
            else:
                if low < start:
                    before.append(_cut(origin, low, start, 0))
                if high > end:
                    after.append(_cut(origin, end, high, shift))
        written, position = list[Origin](), start
        for piece in pieces:
            new = Span(position, position + len(piece.data))
            written.append(Origin(new, piece.source, place, piece.exact, header))
            position = new.end
        if not data:
            written = [Origin(Span(start, start), text.span, place, not text.data, header)]
        self._origins = before + written + after
        self.data = self.data[:start] + data + self.data[end:]

    def empty(self, place: Span) -> None:
        """Remove all bytes, as a deletion of the file at ``place`` of the reply does."""
        self.splice(0, len(self.data), (), Text(b""), place, NOWHERE)

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
