"""Applies the edits of an action to a workspace: bytes in, bytes out, all or nothing.

::

    applied = apply_edits({"a.py": b"x = 1\\n"}, [Replace("a.py", Text(b"1"), Text(b"2"))])
    applied.files["a.py"]              # b"x = 2\\n"
    applied.origins["a.py"][0].new     # Span(start=4, end=5)

An edit touches only what it names. In a file whose lines end in CRLF, text written with LF gets CRLF (``Write``
excepted: it gives the whole file as it shall be), line ends of unchanged lines stay as they are, and so do a byte
order mark and a missing newline at the end. ``origins`` say for every byte that edits wrote where in the reply it
came from; they follow their text through later edits of the same file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from codegym.actions.base import Edit, Lines, Replace, Text, Write
from codegym.finding import EditError, Found, find, line_starts
from codegym.spans import NOWHERE, Origin, Span, reply_bytes

__all__ = ["Applied", "EditError", "apply_edits", "safe_path"]

_BOM = b"\xef\xbb\xbf"
_LONGEST_NAME = 255  # bytes of one path component on Linux file systems


@dataclass(frozen=True)
class Applied:
    """The workspace after the edits, the origins of edited paths (ordered by ``new``), remarks for the agent."""

    files: dict[str, bytes]
    origins: dict[str, tuple[Origin, ...]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Piece:
    data: bytes
    source: Span
    exact: bool


#: Marks, as its place, an origin that stands for text of the old file; its source is a range of that file.
_OLD = Span(-1, -1)


class _File:
    """A file being edited: its bytes, and origins for all of them, those of the old file's text included."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._old_size = len(data)
        whole = Span(0, len(data))
        self._origins = [Origin(whole, whole, _OLD)] if data else []

    def origins(self) -> tuple[Origin, ...]:
        """What edits wrote, each origin with the old text that it and those it touches replaced."""
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

    def splice(self, start: int, end: int, pieces: Sequence[_Piece], text: Text, place: Span, header: Span) -> None:
        """Replace bytes ``start`` to ``end`` by the pieces and bring the origins up to date."""
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


def _cut(origin: Origin, low: int, high: int, shift: int) -> Origin:
    """The part ``low`` to ``high`` of an origin, moved by ``shift``. An inexact one keeps its whole source."""
    source = origin.source
    if origin.exact and origin.new != (low, high):
        source = Span(source.start + low - origin.new.start, source.start + high - origin.new.start)
    return replace(origin, new=Span(low + shift, high + shift), source=source)


def apply_edits(files: Mapping[str, bytes], edits: Sequence[Edit], *, tolerant: bool = False) -> Applied:
    """Apply edits in order, each to the result of the one before.

    Args:
        files: the workspace; never changed.
        edits: of one action.
        tolerant: accept search texts that differ from the file in trailing blanks or one common margin.

    Raises:
        EditError: an edit does not fit, or nothing would change; the message is for the agent.
    """
    work: dict[str, _File] = {}
    notes: list[str] = []
    for number, edit in enumerate(edits, 1):
        try:
            path = safe_path(edit.path)
            old = work[path] if path in work else _File(files[path]) if path in files else None
            if old is None:
                _check_new_path(path, edit, files.keys() | work.keys())
            file = old or _File(b"")
            before = file.data
            note = _apply(path, file, edit, tolerant)
        except EditError as error:
            where = f"edit {number} of {len(edits)} does not fit, nothing was changed: " if len(edits) > 1 else ""
            raise EditError(where + str(error)) from None
        work[path] = file
        if note:
            notes.append(note)
        if old is not None and file.data == before:
            notes.append(f"{path}: edit {number} changed nothing, the file already reads so")
    if all(path in files and files[path] == file.data for path, file in work.items()):
        raise EditError(f"nothing changed: {', '.join(work) or 'no file'} already reads so")
    return Applied(
        {**files, **{path: file.data for path, file in work.items()}},
        {path: file.origins() for path, file in work.items()},
        tuple(notes),
    )


def safe_path(path: str) -> str:
    """The path in its one spelling (``./a//b`` is ``a/b``). Raises EditError for one that leads elsewhere."""
    parts = path.split("/")
    if not path or path.startswith("/") or ".." in parts or "\0" in path or parts[-1] in ("", "."):
        raise EditError(f"path {path[:80]!r} is refused: write a file's path inside the workspace, such as src/a.py")
    if any(len(reply_bytes(part)) > _LONGEST_NAME for part in parts):
        raise EditError(f"path {path[:80]!r}... is refused: a name is longer than {_LONGEST_NAME} bytes")
    return posixpath.normpath(path)


def _check_new_path(path: str, edit: Edit, known: set[str]) -> None:
    if any(name.startswith(path + "/") for name in known):
        raise EditError(f"{path}: is a directory; name a file in it")
    for name in known:
        if path.startswith(name + "/"):
            raise EditError(f"{path}: {name} is a file, not a directory")
    if not isinstance(edit, Write):
        from rapidfuzz import process

        near = process.extractOne(path, sorted(known), score_cutoff=60)
        hint = f"did you mean {near[0]}?" if near else "write the whole file to create it"
        raise EditError(f"{path}: no such file; {hint}")


def _apply(path: str, file: _File, edit: Edit, tolerant: bool) -> str:
    """Apply one edit to its file and return a note ("" if there is none)."""
    data, text = file.data, edit.text
    if isinstance(edit, Write):
        file.splice(0, len(data), _verbatim(text), text, edit.place, NOWHERE)
        return ""
    if isinstance(edit, Replace):
        found = find(path, data, edit.search.data, text.data, tolerant=tolerant)
        pieces = _pieces(text, data, found)
        file.splice(found.start, found.end, pieces, text, edit.search.span, edit.place)
        return found.note
    starts = line_starts(data)
    count = len(starts) - (starts[-1] == len(data))
    first, last = (edit.first, edit.last) if isinstance(edit, Lines) else (edit.line + 1, edit.line)
    if isinstance(edit, Lines) and last < first:
        raise EditError(f"{path}: lines {first} to {last} end before they start")
    if first < 1 or last > count:
        raise EditError(f"{path}: has {count} line{'s' * (count != 1)}, so there is no line {last}")
    start = (starts[first - 1] if first <= len(starts) else len(data)) or len(_BOM) * data.startswith(_BOM)
    end = max(start, starts[last] if last < len(starts) else len(data))
    file.splice(start, end, _whole_lines(text, data, start, end), text, edit.place, NOWHERE)
    return ""


def _verbatim(text: Text) -> list[_Piece]:
    return [_Piece(text.data, text.span, True)] if text.data else []


def _whole_lines(text: Text, data: bytes, start: int, end: int) -> list[_Piece]:
    """Pieces that keep lines whole: a newline is added where one is missing, and none at an end that has none."""
    if not text.data:
        return []
    newline = b"\r\n" if data.count(b"\r\n") * 2 > data.count(b"\n") else b"\n"
    at_open_end = end == len(data) > 0 and not data.endswith(b"\n") and data != _BOM
    if at_open_end:
        ending = (
            text.data[len(text.data.removesuffix(b"\n").removesuffix(b"\r")) :] if text.data.endswith(b"\n") else b""
        )
        last = Span(text.span.end - len(ending), text.span.end)
        body = Text(text.data[: len(text.data) - len(ending)], Span(text.span.start, last.start))
        # Appended after a last line without newline: that line gets one, the new last line has none.
        lead = [_Piece(newline, last, False)] if start == end else []
        return lead + _pieces(body, data, Found(start, end))
    tail = [] if text.data.endswith(b"\n") else [_Piece(newline, Span(text.span.end, text.span.end), False)]
    return _pieces(text, data, Found(start, end)) + tail


def _pieces(text: Text, data: bytes, found: Found) -> list[_Piece]:
    """The text as it goes into the file at ``found``: its line ends and margin made the file's, per line."""
    endings = _endings(text.data, data, found)
    if endings is None and not found.margin:
        return _verbatim(text)
    pieces: list[_Piece] = []

    def put(part: bytes, start: int, length: int, exact: bool) -> None:
        if pieces and exact and pieces[-1].exact and pieces[-1].source.end == start:
            pieces[-1] = _Piece(pieces[-1].data + part, Span(pieces[-1].source.start, start + length), True)
        elif part:
            pieces.append(_Piece(part, Span(start, start + length), exact))

    position = text.span.start
    for number, line in enumerate(re.findall(rb"[^\n]*\n|[^\n]+", text.data)):
        body = line.removesuffix(b"\n")
        if found.margin and body.strip():
            if found.add:
                put(found.margin, position, 0, False)
            elif body.startswith(found.margin):
                body = body[len(found.margin) :]
            else:
                raise EditError("the replacement is less indented than the search text: indent both as the file does")
        begin = position + len(line.removesuffix(b"\n")) - len(body)
        put(body, begin, len(body), True)
        if line.endswith(b"\n"):
            ending = b"\n" if endings is None or body.endswith(b"\r") else endings[number]
            put(ending, begin + len(body), 1, ending == b"\n")
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
