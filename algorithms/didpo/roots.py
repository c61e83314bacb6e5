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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from algorithms.core.trajectory import Trajectory
from algorithms.didpo.units import Unit, units_of
from codegym.diff.model import Change, FileDiff, Hunk
from codegym.spans import Span

Place = tuple[str, str]


@dataclass(frozen=True)
class Root:
    """One root diff: units with byte ranges of the reply, their identities, and runs that are syntax nodes."""

    member: int
    turn: int
    units: tuple[Unit, ...]
    keys: tuple[tuple[Place, bytes], ...]
    nodes: tuple[tuple[int, int], ...]

    def span(self, first: int, last: int) -> Span:
        """The bytes of the reply from unit ``first`` up to, not including, unit ``last``."""
        return Span(self.units[first].start, self.units[last - 1].end)


def root_diffs(group: Sequence[Trajectory], place: str) -> list[Root]:
    """All root diffs of a group that have a unit. ``Root.member`` is the position in ``group``."""
    roots = []
    for member, trajectory in enumerate(group):
        for number, turn in enumerate(trajectory.turns):
            for file in turn.diff.files:
                places = _Places(file, by_symbol=place == "symbol")
                for hunk in file.hunks:
                    pieces = _written(hunk, file, places, turn.reply) if hunk.text else _deleted(hunk, file, places)
                    roots += [Root(member, number, *piece) for piece in pieces]
    return roots


_Piece = tuple[tuple[Unit, ...], tuple[tuple[Place, bytes], ...], tuple[tuple[int, int], ...]]


def _written(hunk: Hunk, file: FileDiff, places: _Places, reply: bytes) -> Iterator[_Piece]:
    spans = [span for span in hunk.source if span.start < span.end]
    exact = sum(span.end - span.start for span in spans) == len(hunk.text)
    position = hunk.new.start
    for start, end in spans:
        split = units_of(reply[start:end], file.language)
        if split.units:
            keys = []
            for unit in split.units:
                # Without a byte-for-byte source (line ends translated) the whole hunk is the best-known range.
                new = Span(position + unit.start, position + unit.end) if exact else hunk.new
                keys.append((places.of(new), unit.text))
            moved = tuple(Unit(unit.text, start + unit.start, start + unit.end) for unit in split.units)
            yield moved, tuple(keys), split.nodes
        position += end - start


def _deleted(hunk: Hunk, file: FileDiff, places: _Places) -> Iterator[_Piece]:
    gone = places.deleted_in(hunk.old)
    if gone:
        what = " ".join(sorted(f"{change.node}:{old.end - old.start}" for old, change in gone))
    else:
        what = f"bytes:{hunk.old.end - hunk.old.start}"
    text = b"\x00deleted " + what.encode()
    key = (places.named(gone[0][1].symbol if gone else ""), text)
    named = [span for span in hunk.place if span.start < span.end]
    if named:
        start, end = named[-1]
        yield (Unit(text, start, end),), (key,), ()


class _Places:
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

    def of(self, new: Span) -> Place:
        """The innermost change that holds the start of the range, else the first that starts inside it."""
        at = bisect.bisect_right(self._starts, new.start)
        for change in reversed(self._chains[at - 1] if at else ()):
            if change.new.end > new.start:  # type: ignore[union-attr]
                return self.named(change.symbol)
        if at < len(self._starts) and self._starts[at] < new.end:
            return self.named(self._chains[at][-1].symbol)
        return self.named("")

    def named(self, symbol: str) -> Place:
        return (self._path, symbol if self._by_symbol else "")

    def deleted_in(self, old: Span) -> list[tuple[Span, Change]]:
        """Outermost deletions that touch a range of the old file."""
        first = bisect.bisect_right(self._deletions, old.start, key=lambda pair: pair[0].end)
        last = bisect.bisect_left(self._deletions, old.end, key=lambda pair: pair[0].start)
        return self._deletions[first:last]
