"""A diff on a terminal, side by side: green inserted, red deleted, yellow updated, cyan moved.

print(side_by_side(diff, old, width=shutil.get_terminal_size().columns))
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping

from codegym.diff.model import Diff, FileDiff
from codegym.diff.patch import apply
from codegym.diff.rows import Line, base, heading, moves, rows, shown, summary

_COLOURS = {"insert": 32, "delete": 31, "update": 33, "move": 36}


def side_by_side(diff: Diff, old: Mapping[str, bytes], *, width: int = 120, colour: bool = True) -> str:
    """The diff as text; ``old`` are the files it was made from. Long lines go on below.

    Under each file stand its changes, one a line, with the lines of both ends; moves are numbered there.
    """
    new = apply(diff, old)
    lines = [
        line for file in diff.files for line in _file(file, base(file, old), new.get(file.path, b""), width, colour)
    ]
    return "".join(line.rstrip() + "\n" for line in lines)


def _file(file: FileDiff, before: bytes, after: bytes, width: int, colour: bool) -> Iterator[str]:
    paint = _Paint(file, colour)
    yield paint.bold(heading(file))
    digits = len(str(max(before.count(b"\n"), after.count(b"\n")) + 1))
    column = max(8, (width - 2 * digits - 5) // 2)
    for group in rows(file, before, after):
        yield "-" * min(width, 2 * (column + digits) + 5)
        for row in group:
            left, right = paint.cells(row.old, column), paint.cells(row.new, column)
            for k in range(max(len(left), len(right))):
                halves = []
                for line, cells in ((row.old, left), (row.new, right)):
                    number = str(line.number) if line and k == 0 else ""
                    halves.append(f"{number:>{digits}} {cells[k] if k < len(cells) else ' ' * column}")
                yield f"{halves[0]} {'|' if row.changed else ' '} {halves[1]}"
    numbers = moves(file.changes)
    for k, words in enumerate(summary(file, before, after)):
        mark = f"[{numbers[k]}] " if k in numbers else ""
        yield "  " + paint.change(f"{mark}{shown(words)}", k)


class _Paint:
    def __init__(self, file: FileDiff, colour: bool) -> None:
        self._kinds = [change.kind for change in file.changes]
        self._colour = colour

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self._colour else text

    def change(self, text: str, change: int) -> str:
        return f"\x1b[{_COLOURS[self._kinds[change]]}m{text}\x1b[0m" if self._colour and change >= 0 else text

    def cells(self, line: Line | None, width: int) -> list[str]:
        """A line in parts of ``width`` columns, each filled up with blanks."""
        parts: list[str] = []
        part, used = "", 0
        for piece in line.pieces if line else ():
            run = ""
            for char in piece.text:
                size = 0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
                if used + size > width:
                    parts.append(part + self.change(run, piece.change) + " " * (width - used))
                    part, run, used = "", "", 0
                run, used = run + char, used + size
            part += self.change(run, piece.change) if run else ""
        return [*parts, part + " " * (width - used)]
