"""Finds where the hunks of a patch belong in a file, and applies them all or none.

A hunk belongs where its lines that stay or go stand, line ends aside: at the line it names, below the lines that it
says stand above it, or at the only place there is. Where several places remain the hunk is refused, and the message
names them; nothing is taken for being near. Only the lines that go and come are touched.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from codegym.actions.base import Hunk, Patch
from codegym.actions.text import Piece, Text, join
from codegym.edits.file import BOM, EditedFile, Splice
from codegym.edits.fitting import ends_open, fitted, whole_lines
from codegym.finding import MOST_COUNTED, EditError, Found, at, line_starts, loose_places, many, not_found, with_margin
from codegym.spans import NOWHERE, Span


class _Placed(NamedTuple):
    """A hunk at line ``first`` (from 0); ``margin`` as in :class:`codegym.finding.Found`."""

    first: int
    number: int
    hunk: Hunk
    margin: bytes = b""
    add: bool = True
    note: str = ""


class _Run(NamedTuple):
    """Lines next to each other that go and come: the place in the file, the texts, the reply's bytes that say where."""

    found: Found
    removed: list[Text]
    added: list[Text]
    place: Span


def apply_hunks(path: str, file: EditedFile, patch: Patch, *, tolerant: bool = False) -> list[str]:
    """Apply a patch to its file and return notes for the agent. Raises EditError and then has changed nothing."""
    data = file.data
    lines = _FileLines(path, data)
    placed = sorted(
        (lines.place(number, hunk, tolerant) for number, hunk in enumerate(patch.hunks, 1)), key=lambda one: one[:2]
    )
    for before, after in pairwise(placed):
        if before.first + len(_old(before.hunk)) > after.first:
            raise EditError(
                f"{path}: hunks {before.number} and {after.number} overlap at line {after.first + 1}: make them one"
            )
    runs = [run for one in placed for run in lines.runs(one)]
    file.splice(
        *(
            Splice(run.found.start, run.found.end, _pieces(run, data), join(run.added), run.place, patch.place)
            for run in runs
        )
    )
    return [one.note for one in placed if one.note]


class _FileLines:
    """The lines of a file without their line ends, and where they start."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path, self._data = path, data
        self._starts = line_starts(data)
        self._bodies = [line.removesuffix(b"\r") for line in data.split(b"\n")]
        if data.startswith(BOM):
            self._starts[0] = len(BOM)
            self._bodies[0] = self._bodies[0].removeprefix(BOM)
        if ends_open(data):
            self._starts.append(len(data))
        else:
            self._bodies.pop()
        self._joined = b"\n".join([b"", *self._bodies, b""])

    def place(self, number: int, hunk: Hunk, tolerant: bool) -> _Placed:
        """Where a hunk belongs. Raises EditError."""
        old, name = _old(hunk), f"hunk {number}"
        below = self._below(hunk, name)
        if not old:
            return _Placed(self._insertion(hunk, name, below), number, hunk)
        places = self._find(old)
        if len(places) == MOST_COUNTED:  # the place that the hunk names may be further down
            said = len(self._bodies) - len(old) if hunk.at_end else below - 1 if hunk.above else (hunk.line or 1) - 1
            places += [there for there in self._find(old, said) if there > places[-1]]
        first = self._choose(places, hunk, name, below)
        new = [text for mark, text in hunk.lines if mark != "-"]
        if first is None and tolerant and (found := self._tolerated(hunk, name, below)):
            return found._replace(number=number)
        done = [] if new == old or not new else self._find(new)
        if first is not None:
            done = [there for there in done if there == first - _lead(hunk)]
        if len(done) == 1:
            where = at(self._data, [self._range(done[0], len(new))])
            hint = "" if first is None else "; to add them again, show the lines that follow"
            raise EditError(f"{self._path}: {name} seems already applied: its lines as they shall be are {where}{hint}")
        if first is None and places:
            where = at(self._data, [self._range(there, len(old)) for there in places])
            ends = hunk.at_end and places[-1] + len(old) != len(self._bodies)
            wanted = "at the end of the file, as it says" if ends else f"below line {below}, which it names"
            raise EditError(f"{self._path}: the lines of {name} are {where}, but not {wanted}")
        if first is None:
            what = f"what {name} takes for the file's lines"
            raise EditError(not_found(self._path, self._data, _joined(old), _joined(new), what))
        moved = hunk.line is not None and hunk.line != first + 1
        note = f"{self._path}: {name} applied at line {first + 1}, not {hunk.line}" if moved else ""
        return _Placed(first, number, hunk, note=note)

    def runs(self, placed: _Placed) -> list[_Run]:
        """The lines that a placed hunk changes, in order."""
        runs: list[_Run] = []
        line, start = placed.first, -1
        removed, added = list[Text](), list[Text]()
        near = NOWHERE
        for mark, text in [*placed.hunk.lines, (" ", Text(b""))]:
            if mark == " ":
                if removed or added:
                    found = Found(self._starts[start], self._starts[line], placed.margin, placed.add)
                    said = join(removed).span if removed else placed.hunk.place
                    places = [span for span in (said, near, text.span) if span.start < span.end]
                    runs.append(_Run(found, removed, added, places[0] if places else NOWHERE))
                    removed, added = [], []
                near, line, start = text.span, line + 1, -1
                continue
            start = line if start < 0 else start
            if mark == "-":
                removed.append(text)
                line += 1
            else:
                added.append(text)
        return runs

    def _below(self, hunk: Hunk, name: str) -> int:
        """The first line below those that the hunk says stand above it: the first of them must be the only one."""
        line = 0
        for k, above in enumerate(hunk.above):
            wanted = above.data.strip()
            found = [i for i in range(line, len(self._bodies)) if self._bodies[i].strip() == wanted]
            if not found or (k == 0 and len(found) > 1):
                raise EditError(self._no_line(wanted, name, line, found))
            line = found[0] + 1
        return line

    def _no_line(self, wanted: bytes, name: str, line: int, found: Sequence[int]) -> str:
        """The message for a line named above a hunk that is not below ``line`` of the file, or there more than once."""
        shown = repr(wanted[:80].decode("utf-8", "backslashreplace"))
        places = found or [i for i in range(line) if self._bodies[i].strip() == wanted]
        if not places:
            return not_found(self._path, self._data, wanted, b"", f"the line {shown}, which {name} names,")
        where = at(self._data, [self._range(i, 1) for i in places])
        why = f"{where}, but not below line {line}, which it names before"
        if found:
            why = f"there more than once, {where}: name the line above it first, such as that of its class"
        return f"{self._path}: {name} names the line {shown}, which is {why}"

    def _insertion(self, hunk: Hunk, name: str, below: int) -> int:
        """The line before which a hunk that names no line of the file puts its lines."""
        count = len(self._bodies)
        if hunk.line is not None:
            if hunk.line > count:
                raise EditError(f"{self._path}: has {count} line{'s' * (count != 1)}, so {name} cannot add below")
            return hunk.line
        if hunk.above:
            return below
        if hunk.at_end or not count:
            return count
        raise EditError(f"{self._path}: {name} does not say where its lines go: write the lines around them as well")

    def _find(self, lines: Sequence[Text], start: int = 0) -> list[int]:
        """Where the lines stand from line ``start`` on, counted from 0; not more than ``MOST_COUNTED`` places."""
        wanted = b"\n" + _joined(lines)
        found: list[int] = []
        line = max(0, start)
        counted = sum(map(len, self._bodies[:line])) + min(line, len(self._bodies))
        offset = self._joined.find(wanted, counted)
        while offset >= 0 and len(found) < MOST_COUNTED:
            line += self._joined.count(b"\n", counted, offset)
            counted = offset
            found.append(line)
            offset = self._joined.find(wanted, offset + 1)
        return found

    def _choose(self, places: Sequence[int], hunk: Hunk, name: str, below: int) -> int | None:
        """The one of the places that the hunk means, or None if there is none. Raises EditError for several."""
        size = len(_old(hunk))
        if hunk.at_end:
            places = [first for first in places if first + size == len(self._bodies)]
        if hunk.above:  # a hunk may repeat the line named above it as its first
            return next((first for first in places if first >= below - 1), None)
        if hunk.line is not None and hunk.line - 1 in places:
            return hunk.line - 1
        if len(places) > 1:
            where = at(self._data, [self._range(first, size) for first in places])
            raise EditError(
                f"{self._path}: the lines of {name} are in the file {many(len(places))} times, {where}: "
                "show more of the lines around them"
            )
        return places[0] if places else None

    def _tolerated(self, hunk: Hunk, name: str, below: int) -> _Placed | None:
        """The place where only blanks differ."""
        search = _joined(_old(hunk))
        found, how = loose_places(self._data, search)
        byte_places = {bisect_right(self._starts, start) - 1: (start, end) for start, end in found}
        # An empty line of the hunk may have matched what follows the last newline, which is no line to take away.
        last = len(self._bodies) - len(_old(hunk))
        byte_places = {first: place for first, place in byte_places.items() if first <= last}
        first = self._choose(list(byte_places), hunk, name, below)
        fit = None if first is None else with_margin(self._path, self._data, search, byte_places[first], how)
        return None if fit is None or first is None else _Placed(first, 0, hunk, fit.margin, fit.add, fit.note)

    def _range(self, first: int, size: int) -> tuple[int, int]:
        return self._starts[first], self._starts[first + size]


def _pieces(run: _Run, data: bytes) -> list[Piece]:
    """The added lines as they go into the file. How the file ends stays unless the patch says otherwise."""
    if not run.added:
        return []
    text, found = join(run.added), run.found
    if found.end == len(data):
        opens = not text.data.endswith(b"\n") and not (found.start == found.end and ends_open(data))
        closes = run.removed and text.data.endswith(b"\n") and not run.removed[-1].data.endswith(b"\n")
        if opens or closes:
            return fitted(text, data, found)
    return whole_lines(text, data, found)


def _lead(hunk: Hunk) -> float:
    """How many lines come before the first that stays, in a hunk that only adds text; else infinity.

    Where such a hunk stands after its own addition, the lines that stay are in the file as before: only that the lines
    that come are there already shows that it is done.
    """
    marks = [mark for mark, _ in hunk.lines]
    said = b"".join(text.data for mark, text in hunk.lines if mark == "+").strip()
    return marks.index(" ") if said and "-" not in marks and " " in marks else math.inf


def _old(hunk: Hunk) -> list[Text]:
    return [text for mark, text in hunk.lines if mark != "+"]


def _joined(texts: Sequence[Text]) -> bytes:
    return b"".join(text.data.removesuffix(b"\n").removesuffix(b"\r") + b"\n" for text in texts)
