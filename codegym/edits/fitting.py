"""The text of an edit as it goes into a file: line ends and margin made the file's, lines kept whole."""

from __future__ import annotations

import re

from codegym.actions.text import Cutter, Piece, Text
from codegym.edits.file import BOM
from codegym.finding import EditError, Found
from codegym.spans import Span


def verbatim(text: Text) -> list[Piece]:
    """The text as it was written."""
    return Cutter(text).cut(0, len(text.data))


def without_newline(data: bytes) -> bytes:
    """Without the line end of the last line, if it has one."""
    return data.removesuffix(b"\n").removesuffix(b"\r") if data.endswith(b"\n") else data


def ends_open(data: bytes) -> bool:
    """Whether a file has a last line without newline."""
    return bool(data) and data != BOM and not data.endswith(b"\n")


def whole_lines(text: Text, data: bytes, found: Found) -> list[Piece]:
    """Pieces that keep lines whole: a newline is added where one is missing, and none at an end that has none."""
    size = len(text.data)
    if not size:
        return []
    newline = b"\r\n" if data.count(b"\r\n") * 2 > data.count(b"\n") else b"\n"
    if found.end == len(data) and ends_open(data):
        body = without_newline(text.data)
        # Appended after a last line without newline: that line gets one, the new last line has none.
        said = [piece.source for piece in Cutter(text).cut(len(body), size)] or [Span(text.span.end, text.span.end)]
        lead = [Piece(newline, Span(said[0].start, said[-1].end), False)] if found.start == found.end else []
        return lead + fitted(text, data, found, len(body))
    tail = [] if text.data.endswith(b"\n") else [Piece(newline, Span(text.span.end, text.span.end), False)]
    return fitted(text, data, found) + tail


def fitted(text: Text, data: bytes, found: Found, stop: int | None = None) -> list[Piece]:
    """The text (up to its byte ``stop``) with the file's line ends, and the margin of a tolerant match, per line.

    Raises EditError where a line lacks the margin that was found too much.
    """
    written = text.data[:stop]
    cutter = Cutter(text)
    endings = _endings(written, data, found)
    if endings is None and not found.margin:
        return cutter.cut(0, len(written))
    pieces: list[Piece] = []

    def put(more: list[Piece]) -> None:
        for piece in more:
            last = pieces[-1] if pieces else None
            if last and piece.exact and last.exact and last.source.end == piece.source.start:
                pieces[-1] = Piece(last.data + piece.data, Span(last.source.start, piece.source.end), True)
            else:
                pieces.append(piece)

    position = 0
    for number, line in enumerate(re.findall(rb"[^\n]*\n|[^\n]+", written)):
        body = line.removesuffix(b"\n")
        begin, end = position, position + len(body)
        if found.margin and body.strip():
            if found.add:
                at = cutter.cut(begin, begin + 1)[0].source.start
                put([Piece(found.margin, Span(at, at), False)])
            elif body.startswith(found.margin):
                begin += len(found.margin)
            else:
                raise EditError("the replacement is less indented than the search text: indent both as the file does")
        put(cutter.cut(begin, end))
        if line.endswith(b"\n"):
            ending = b"\n" if endings is None or body.endswith(b"\r") else endings[number]
            said = cutter.cut(end, end + 1)
            put(said if ending == b"\n" else [Piece(ending, said[0].source, False)])
        position += len(line)
    return pieces


def _endings(text: bytes, data: bytes, found: Found) -> list[bytes] | None:
    """The line end for each newline of ``text``, or None if all stay as written.

    Lines that only repeat the replaced ones keep their line ends; new lines get the file's more frequent one.
    """
    crlf = data.count(b"\r\n")
    wanted = text.count(b"\n")
    if not crlf or not wanted:
        return None
    usual = b"\r\n" if crlf * 2 > data.count(b"\n") else b"\n"
    region = data[found.start : found.end]
    had = re.findall(rb"\r?\n", region)
    if len(had) == wanted:
        return had
    old = region.replace(b"\r\n", b"\n").split(b"\n")
    new = text.replace(b"\r\n", b"\n").split(b"\n")
    most = min(len(had), wanted)
    head = next((k for k in range(most) if old[k] != new[k]), most)
    most -= head
    tail = next((k for k in range(most) if old[-1 - k] != new[-1 - k]), most)
    return had[:head] + [usual] * (wanted - head - tail) + had[len(had) - tail :]
