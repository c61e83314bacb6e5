"""Root diffs: every piece of a reply that changed the workspace, as units with their place.

A root diff is one contiguous range of reply bytes that wrote a hunk. What a reply sends again unchanged is no part
of any hunk, and a change made by a shell command was written by no range: neither is a root diff.

**The place belongs to a unit's identity**: path and enclosing definition (``place="symbol"``), or the path alone
(``place="path"``). The same line written into another file or function is another change. Whether text was *added*
or *replaced* something is no part of it: that is decided by how the diff is aligned, not by the agent.

A **deletion** writes nothing. It is one unit that says what went (kinds of node and number of bytes, for the diff
carries no old text), and its range is the bytes that named the place, the only ones that made it happen: the last
range of them, since formats name the file first and then the place in it.
"""

from __future__ import annotations

import bisect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from algorithms.core.trajectory import Trajectory
from algorithms.didpo.units import Units, units_of
from codegym.diff.model import Change, FileDiff, Hunk
from codegym.spans import Span

Place = tuple[str, str]


@dataclass(frozen=True)
class Root:
    """One root diff: its units, the byte of the reply at which their text begins, and the place of each unit."""

    member: int
    turn: int
    offset: int
    units: Units
    places: tuple[Place, ...]

    def span(self, first: int, last: int) -> Span:
        """The bytes of the reply from unit ``first`` up to, not including, unit ``last``."""
        return Span(self.offset + self.units.starts[first], self.offset + self.units.ends[last - 1])


def root_diffs(group: Sequence[Trajectory], place: str) -> list[Root]:
    """All root diffs of a group that have a unit. ``Root.member`` is the position in ``group``."""
    roots = []
    for member, trajectory in enumerate(group):
        for number, turn in enumerate(trajectory.turns):
            for file in turn.diff.files:
                places = Places(file, by_symbol=place == "symbol")
                for hunk in file.hunks:
                    pieces = _written(hunk, file, places, turn.reply) if hunk.text else _deleted(hunk, places)
                    roots += [Root(member, number, *piece) for piece in pieces]
    return roots


_Piece = tuple[int, Units, tuple[Place, ...]]


def _written(hunk: Hunk, file: FileDiff, places: Places, reply: bytes) -> Iterator[_Piece]:
    spans = [span for span in hunk.source if span.start < span.end]
    exact = sum(span.end - span.start for span in spans) == len(hunk.text)
    position = hunk.new.start
    for start, end in spans:
        units = units_of(reply[start:end], file.language)
        if units.texts:
            # Without a byte-for-byte source (line ends translated) the whole hunk is the best-known range.
            at = (
                places.of_each(position, units.starts, units.ends)
                if exact
                else [places.of(hunk.new)] * len(units.texts)
            )
            yield start, units, tuple(at)
        position += end - start


def _deleted(hunk: Hunk, places: Places) -> Iterator[_Piece]:
    gone = places.deleted_in(hunk.old)
    if gone:
        what = " ".join(sorted(f"{change.node}:{old.end - old.start}" for old, change in gone))
    else:
        what = f"bytes:{hunk.old.end - hunk.old.start}"
    named = [span for span in hunk.place if span.start < span.end]
    if named:
        start, end = named[-1]
        unit = Units((b"\x00deleted " + what.encode(),), (0,), (end - start,), ((0, 1),), (0,))
        yield start, unit, (places.of_hunk(hunk),)


class Places:
    """The place of a range of the new file: the symbol of the innermost change around it."""

    def __init__(self, file: FileDiff, by_symbol: bool) -> None:
        self._path, self._by_symbol = file.path, by_symbol
        changes = [change for change in file.changes if change.new is not None] if by_symbol else []
        changes.sort(key=lambda change: (change.new.start, -change.new.end))  # type: ignore[union-attr]
        gone = [(change.old, change) for change in file.changes if change.kind == "delete" and change.old is not None]
        self._deletions: list[tuple[Span, Change]] = []  # the outermost, which are disjoint, in order
        for old, change in sorted(gone, key=lambda pair: (pair[0].start, -pair[0].end)):
            if not self._deletions or old.start >= self._deletions[-1][0].end:
                self._deletions.append((old, change))
        self._starts: list[int] = []
        self._chains: list[tuple[Change, ...]] = []  # per start: the changes open there, innermost last
        for change in changes:
            assert change.new is not None
            outer = self._chains[-1] if self._chains else ()
            while outer and outer[-1].new.end <= change.new.start:  # type: ignore[union-attr]
                outer = outer[:-1]
            self._starts.append(change.new.start)
            self._chains.append((*outer, change))

    def of_each(self, origin: int, starts: Sequence[int], ends: Sequence[int]) -> list[Place]:
        """The place of each range [starts[k], ends[k]) that follows ``origin``, in order."""
        result: list[Place] = []
        until, place = -1, ("", "")
        for start, end in zip(starts, ends, strict=True):
            if origin + end > until:
                new = Span(origin + start, origin + end)
                place = self.of(new)
                until = self._same_until(new)
            result.append(place)
        return result

    def _same_until(self, new: Span) -> int:
        """Ranges that follow ``new`` and end here or before have its place."""
        at = bisect.bisect_right(self._starts, new.start)
        after = self._starts[at] if at < len(self._starts) else sys.maxsize
        for change in reversed(self._chains[at - 1] if at else ()):
            if change.new.end > new.start:  # type: ignore[union-attr]
                return min(after, change.new.end)  # type: ignore[union-attr]
        return -1

    def of(self, new: Span) -> Place:
        """The innermost change that holds the start of the range, else the first that starts inside it."""
        at = bisect.bisect_right(self._starts, new.start)
        for change in reversed(self._chains[at - 1] if at else ()):
            if change.new.end > new.start:  # type: ignore[union-attr]
                return self.named(change.symbol)
        if at < len(self._starts) and self._starts[at] < new.end:
            return self.named(self._chains[at][-1].symbol)
        return self.named("")

    def of_hunk(self, hunk: Hunk) -> Place:
        """The place of what a hunk writes or, if it writes nothing, of what it deletes."""
        if hunk.text:
            return self.of(hunk.new)
        gone = self.deleted_in(hunk.old)
        return self.named(gone[0][1].symbol if gone else "")

    def named(self, symbol: str) -> Place:
        return (self._path, symbol if self._by_symbol else "")

    def deleted_in(self, old: Span) -> list[tuple[Span, Change]]:
        """Outermost deletions that touch a range of the old file."""
        first = bisect.bisect_right(self._deletions, old.start, key=lambda pair: pair[0].end)
        last = bisect.bisect_left(self._deletions, old.end, key=lambda pair: pair[0].start)
        return self._deletions[first:last]
