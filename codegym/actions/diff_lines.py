"""Lines of hunks as diffs write them: a mark, then the text. Used by :mod:`udiff` and :mod:`apply_patch`.

An empty line is read as an empty line that stays, because models leave the blank before it out. ``\\`` says that the
line before it has no newline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from codegym.actions.base import BadReply, Hunk, Patch, Text
from codegym.actions.text import Piece, join, of_pieces, with_lf
from codegym.spans import Span, reply_text

Line = tuple[Literal[" ", "-", "+"], Text]
#: Whether a hunk cannot go on at an offset (of the reply, up to an end).
Boundary = Callable[[bytes, int, int], bool]

_MARKS: dict[int, Literal[" ", "-", "+"]] = {32: " ", 45: "-", 43: "+", 10: " ", 13: " "}
_NO_NEWLINE = "\\ No newline at end of file\n"


class Hunks(NamedTuple):
    """Hunks in order, and where they end."""

    found: tuple[Hunk, ...]
    end: int


class _Body(NamedTuple):
    lines: list[Line]
    end: int

    def counts(self) -> tuple[int, int]:
        return sum(mark != "+" for mark, _ in self.lines), sum(mark != "-" for mark, _ in self.lines)


def hunks(data: bytes, start: int, end: int, head: re.Pattern[bytes], boundary: Boundary, *, fenced: bool) -> Hunks:
    """The hunks of a unified diff that follow each other from ``start`` on.

    ``head`` matches a hunk's ``@@`` line; its groups are start and count of the old and of the new lines. Raises
    BadReply for an empty hunk, and outside a fence for one that may have been cut.
    """
    found: list[Hunk] = []
    while match := head.match(data, start, end):
        numbered = match[1] is not None
        counts = (int(match[2] or 1), int(match[4] or 1)) if numbered else None
        body = _counted(data, match.end(), end, boundary, counts) if counts else None
        if body is None:
            body = read(data, match.end(), end, boundary)
            short = counts is None or any(had < said for had, said in zip(body.counts(), counts, strict=True))
            if not fenced and short and not data[body.end : end].strip():
                raise BadReply(
                    "the reply ends inside a hunk, or the hunk does not say how long it is: nothing was done; write it "
                    "again, shorter, between ```diff and ```"
                )
        if not body.lines:
            raise BadReply("a hunk holds no lines: write the lines that go with - and those that come with +")
        told = counts is not None and (body.counts()[0] > 0 or counts[0] == 0)
        at = Span(match.start(), match.start() + len(match[0].rstrip()))
        found.append(Hunk(tuple(body.lines), int(match[1]) if told else None, place=at))
        start = body.end
    return Hunks(tuple(found), start)


def _counted(data: bytes, start: int, end: int, boundary: Boundary, counts: tuple[int, int]) -> _Body | None:
    """The lines that the counts say, or None where what follows shows that they are wrong."""
    old, new = counts
    body = read(data, start, end, lambda *_: not (old or new), limit=counts)
    if body.counts() != counts:
        return None
    rest = re.compile(rb"(?:[ \t]*\r?\n)*").match(data, body.end, end)
    after = rest.end() if rest else body.end
    goes_on = data[after : after + 1] in (b" ", b"+", b"-") and not boundary(data, after, end)
    return None if goes_on and after < end else body


def read(data: bytes, start: int, end: int, boundary: Boundary, limit: tuple[int, int] | None = None) -> _Body:
    """Lines with marks from ``start`` on: to the boundary, to a line without mark, or to the limit of old and new ones.

    Without a limit, empty lines at the end are left out: they only set what follows apart.
    """
    lines: list[Line] = []
    ends: list[int] = []
    old, new = limit or (-1, -1)
    position = start
    while position < end:
        stop = data.find(b"\n", position, end) + 1 or end
        if data[position : position + 1] == b"\\" and lines:
            mark, text = lines[-1]
            lines[-1] = (mark, _without_newline(text))
            position = ends[-1] = stop
            continue
        letter = _MARKS.get(data[position])
        if letter is None or (limit and not (old or new)) or (not limit and boundary(data, position, end)):
            break
        if limit:
            old -= letter != "+"
            new -= letter != "-"
            if min(old, new) < 0:
                break
        lines.append((letter, _text(data, position + (data[position] not in b"\r\n"), stop)))
        ends.append(stop)
        position = stop
    while lines and not limit and data[ends[-2] if len(ends) > 1 else start : ends[-1]].strip(b"\r\n") == b"":
        lines.pop()
        ends.pop()
    return _Body(lines, ends[-1] if ends else start)


def _text(data: bytes, start: int, stop: int) -> Text:
    """A line's text; the newline that the end of the reply lacks is no byte of it."""
    if data.endswith(b"\n", start, stop):
        return Text(data[start:stop], Span(start, stop))
    written = [Piece(data[start:stop], Span(start, stop), True)] if start < stop else []
    return of_pieces([*written, Piece(b"\n", Span(stop, stop), False)])


def _without_newline(text: Text) -> Text:
    data = text.data.removesuffix(b"\n").removesuffix(b"\r")
    return Text(data, Span(text.span.start, text.span.start + len(data)))


def patch(data: bytes, path: str, found: Sequence[Hunk], place: Span) -> Patch:
    """The hunks of a file whose first line in the diff begins at ``place``.

    Where that line ends in CRLF so do all lines of the reply, and the hunks' texts end in LF; `git diff` of a file with
    CRLF, whose line ends are meant, ends its own lines in LF.
    """
    if data[place.start : data.find(b"\n", place.start)].endswith(b"\r"):
        found = [replace(hunk, lines=tuple((mark, with_lf(text)) for mark, text in hunk.lines)) for hunk in found]
    return Patch(path, tuple(found), place)


def only(found: Sequence[Hunk], mark: str, path: str) -> Text:
    """The text of a file that comes or goes as a whole. Raises BadReply if other lines are among them."""
    lines = [line for hunk in found for line in hunk.lines]
    if any(other != mark for other, _ in lines):
        what = "makes a new file" if mark == "+" else "removes the file"
        raise BadReply(f"{path}: the diff {what}, so every line of it must begin with {mark}")
    return join(text for _, text in lines)


def render(lines: Sequence[Line]) -> str:
    """Lines with their marks."""
    parts: list[str] = []
    for mark, text in lines:
        parts.append(mark + reply_text(text.data))
        if not text.data.endswith(b"\n"):
            parts.append("\n" + _NO_NEWLINE)
    return "".join(parts)


def whole(text: Text, mark: Literal["-", "+"]) -> list[Line]:
    """All lines of a text under one mark."""
    return [(mark, Text(line)) for line in re.findall(rb"[^\n]*\n|[^\n]+", text.data)]
