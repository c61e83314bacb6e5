"""Both sides of a file diff as rows of lines, each line cut into pieces by the change that it belongs to.

What :mod:`codegym.diff.terminal` and :mod:`codegym.diff.page` show; nothing here knows how.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from codegym.diff.model import Change, FileDiff
from codegym.diff.patch import line_groups

_TAB = 4


@dataclass(frozen=True)
class Piece:
    """Text of one line, and the number of the innermost change around it (-1 for none)."""

    text: str
    change: int


@dataclass(frozen=True)
class Line:
    number: int  # from 1
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Row:
    """Lines side by side; ``changed`` if a hunk touches them. None where a side has none."""

    old: Line | None
    new: Line | None
    changed: bool


def rows(file: FileDiff, before: bytes, after: bytes) -> Iterator[list[Row]]:
    """Groups of rows: hunks with three lines of context. Empty for binary files."""
    if b"\0" in before or b"\0" in after:
        return
    old = _Painted(before, [change.old for change in file.changes])
    new = _Painted(after, [change.new for change in file.changes])
    for group in line_groups(file, before, after):
        found: list[Row] = []
        i, k = group[0][0], group[0][2]
        for a, b, c, d in group:
            found += [Row(old.line(i + n), new.line(k + n), False) for n in range(a - i)]
            pairs = zip_longest(map(old.line, range(a, b)), map(new.line, range(c, d)))
            found += [Row(left, right, True) for left, right in pairs]
            i, k = b, d
        yield found


def summary(file: FileDiff, before: bytes, after: bytes) -> Iterator[str]:
    """One line per change: "update binary_operator in Stack.push, line 6 to line 6"."""
    for change in file.changes:
        places = [(before, change.old), (after, change.new)]
        lines = [f"line {text[: span.start].count(NEWLINE) + 1}" for text, span in places if span is not None]
        yield f"{change.kind} {change.node}{' in ' + change.symbol if change.symbol else ''}, {' to '.join(lines)}"


NEWLINE = b"\n"


def heading(file: FileDiff) -> str:
    """What is said above a file."""
    name = f"{file.old_path} -> {file.path}" if file.status == "renamed" else file.path
    words = [file.status, file.language or "", f"only {file.only}" if file.only else "", file.note]
    return f"{shown(name)} ({', '.join(word for word in words if word)})"


def base(file: FileDiff, old: Mapping[str, bytes]) -> bytes:
    """The content that a file diff starts from."""
    return old[file.old_path] if file.old_path is not None else b""


class _Painted:
    def __init__(self, text: bytes, spans: Sequence[tuple[int, int] | None]) -> None:
        self._text = text
        self._starts = [0]
        for line in text.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        #: Pieces of the text in order: (start, end, change).
        self._pieces = list(_flat([(*span, k) for k, span in enumerate(spans) if span is not None]))
        self._at = 0

    def line(self, number: int) -> Line:
        """A line by its number from 0. Lines must be asked for in order."""
        start, end = self._starts[number], self._starts[number + 1] - 1
        pieces: list[Piece] = []
        while self._at < len(self._pieces) and self._pieces[self._at][1] <= start:
            self._at += 1
        at, position = self._at, start
        while at < len(self._pieces) and self._pieces[at][0] < end:
            low, high, change = self._pieces[at]
            low, high = max(low, start), min(high, end)
            pieces += [self._piece(position, low, -1), self._piece(low, high, change)]
            position, at = high, at + 1
        pieces.append(self._piece(position, end, -1))
        return Line(number + 1, tuple(piece for piece in pieces if piece.text))

    def _piece(self, start: int, end: int, change: int) -> Piece:
        return Piece(shown(self._text[start:end].decode("utf-8", "backslashreplace")), change)


def _flat(spans: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Nested ranges as disjoint ones in order, each given to the innermost."""
    open_spans: list[tuple[int, int, int]] = []
    position = 0
    for start, end, number in [*sorted(spans, key=lambda span: (span[0], -span[1])), (1 << 62, 1 << 62, -1)]:
        while open_spans and open_spans[-1][1] <= start:
            _, close, inner = open_spans.pop()
            if close > position:
                yield position, close, inner
                position = close
        if open_spans and start > position:
            yield position, start, open_spans[-1][2]
        position = max(position, start)
        open_spans.append((start, end, number))


def shown(text: str) -> str:
    """Text that cannot act on what shows it: control and direction characters as escapes, tabs as blanks."""
    text = text.replace("\t", " " * _TAB)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c.encode("unicode-escape").decode() if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs") else c
        for c in text
    )


def moves(changes: Sequence[Change]) -> dict[int, int]:
    """Change -> number of the move, from 1."""
    return {k: n for n, k in enumerate((k for k, change in enumerate(changes) if change.kind == "move"), 1)}
