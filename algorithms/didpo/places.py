"""Places that trajectories had before them, and what each wrote there: the groups of all estimators but the published.

A place is a definition of a file (``path``, symbol) **with the text it has at that moment**, at a turn; text outside
of definitions is a place by the region of the file that is replaced, and with ``by_symbol=False`` all text is. Every
trajectory that reached the turn with the place as it is belongs to it: what it wrote there is its *variant*, and
leaving it alone is one, too. A reply that was refused left all places alone, whatever it tried: the workspace, and so
the tests' verdict, is that of an untouched one. Two variants are the same where the same units
(:mod:`algorithms.didpo.units`) took the place of as many bytes at the same point of the place; comments alone are no
unit, so where nothing else changed the bytes themselves count.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from algorithms.core.trajectory import Trajectory, Turn
from algorithms.didpo.roots import Places
from algorithms.didpo.units import units_of
from codegym.diff.model import Diff, FileDiff, Hunk
from codegym.spans import Span

UNCHANGED: Hashable = "unchanged"
Key = tuple[str, str]  # path, and symbol or region


@dataclass(frozen=True)
class Visit:
    """What one trajectory did at a place. ``hunks`` is empty, and so are the spans, if it left the place alone.

    Attributes:
        member: position in the group.
        variant: 0 for unchanged, else the number of what was written, in order of appearance.
        spans: the bytes of the reply that wrote the content; where nothing was written, those that named what went.
    """

    member: int
    variant: int
    hunks: tuple[tuple[str, Hunk], ...] = ()
    spans: tuple[Span, ...] = ()


@dataclass
class Place:
    """A place at a turn, and the visits of all trajectories that had it before them."""

    key: Key
    turn: int
    visits: list[Visit] = field(default_factory=list)


def places_of(group: Sequence[Trajectory], by_symbol: bool = True) -> list[Place]:
    """Every place that some trajectory changed, in order of turn and key."""
    text: list[dict[Key, Hashable]] = [{} for _ in group]  # what each trajectory made of each place so far
    diffs = [[turn.diff for turn in trajectory.turns] for trajectory in group]
    found: list[Place] = []
    for number in range(max((len(trajectory.turns) for trajectory in group), default=0)):
        present = [member for member, trajectory in enumerate(group) if number < len(trajectory.turns)]
        turns = {member: group[member].turns[number] for member in present}
        changes = _changes(turns, by_symbol)
        contents = {
            (member, key): _content(key, hunks, diffs[member][: number + 1])
            for member, own in changes.items()
            for key, hunks in own.items()
        }
        for key in sorted({key for own in changes.values() for key in own}):
            states: dict[Hashable, list[int]] = {}
            for member in present:
                region = key[1].startswith("@")
                states.setdefault(turns[member].state_before if region else text[member].get(key), []).append(member)
            for members in states.values():
                if any(key in changes[member] for member in members):
                    found.append(_place(key, number, members, changes, contents, turns))
        for (member, key), content in contents.items():
            text[member][key] = (text[member].get(key), content)
    return found


def _place(key, number, members, changes, contents, turns) -> Place:
    place, variants = Place(key, number), {UNCHANGED: 0}
    for member in members:
        hunks = changes[member].get(key, ())
        variant = variants.setdefault(contents.get((member, key), UNCHANGED), len(variants))
        place.visits.append(Visit(member, variant, tuple(hunks), tuple(_spans(hunks))))
    return place


def _changes(turns: dict[int, Turn], by_symbol: bool) -> dict[int, dict[Key, list[tuple[str, Hunk]]]]:
    """Per trajectory the hunks of each place."""
    result: dict[int, dict[Key, list[tuple[str, Hunk]]]] = {member: {} for member in turns}
    loose: dict[tuple[str, str], list[tuple[int, Hunk]]] = {}
    for member, turn in turns.items():
        for file in turn.diff.files:
            symbols = Places(file, by_symbol)
            for hunk in file.hunks:
                key = symbols.of_hunk(hunk)
                if key[1]:
                    result[member].setdefault(key, []).append((file.path, hunk))
                else:
                    loose.setdefault((file.path, turn.state_before), []).append((member, hunk))
    for (path, _), hunks in loose.items():
        # Regions of the old file that overlap or touch are one.
        start = end = -1
        for member, hunk in sorted(hunks, key=lambda item: (item[1].old, item[0])):
            if hunk.old.start > end:
                start = hunk.old.start
            end = max(end, hunk.old.end)
            result[member].setdefault((path, f"@{start}"), []).append((path, hunk))
    return result


def _content(key: Key, hunks: Sequence[tuple[str, Hunk]], diffs: Sequence[Diff]) -> Hashable:
    """What hunks write at a place, ``diffs`` being those of the trajectory's turns up to theirs."""
    files = {file.path: file for file in diffs[-1].files}
    parts = []
    for path, hunk in hunks:
        written = units_of(hunk.text, files[path].language).texts or hunk.text.strip()
        # Who has a region before them has the whole file as it is: there a position is itself.
        known = hunk.old.start if key[1].startswith("@") else _before(hunk.old.start, files[path], diffs[:-1])
        parts.append((known, hunk.old.end - hunk.old.start, written))
    return tuple(parts)


def _before(position: int, file: FileDiff, diffs: Sequence[Diff]) -> Hashable:
    """A position of the file before its change, as that of the first workspace: edits elsewhere move the one alone.

    Inside of what a turn wrote, it is where that was written, the turn and the distance from its start.
    """
    inside, path = [], file.old_path or file.path
    for number in reversed(range(len(diffs))):
        earlier = next((other for other in diffs[number].files if other.path == path), None)
        if earlier is None:
            continue
        path, shift = earlier.old_path or path, 0
        for hunk in earlier.hunks:
            if hunk.new.end <= position:
                shift = hunk.new.end - hunk.old.end  # of all hunks up to here
            elif hunk.new.start <= position:
                inside.append((number, position - hunk.new.start))
                position = hunk.new.start
        position -= shift
    return (position, *inside)


def _spans(hunks: Sequence[tuple[str, Hunk]]) -> list[Span]:
    spans = []
    for _, hunk in hunks:
        written = [span for span in hunk.source if span.start < span.end] if hunk.text else []
        named = [span for span in hunk.place if span.start < span.end]
        spans += written if hunk.text else named[-1:]
    return spans
