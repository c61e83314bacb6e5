"""What two texts of a file differ in, as syntax or by lines, whoever wrote them: all of a FileDiff but its sources."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from codegym.diff import trees
from codegym.diff.languages import Language
from codegym.diff.lines import Cut
from codegym.diff.marks import Touching, blank_only, only_marks
from codegym.diff.model import Change, Hunk, Only
from codegym.diff.syntax import broken, changes_of, compare
from codegym.spans import Span

#: Readings kept, of texts of up to so many bytes together. Sampled replies often say the same: of the changes of a step
#: of the built-in run 29 % (step 1) to 71 % (step 40) had been made by another trajectory of the group.
MOST_KEPT, MOST_BYTES_KEPT = 512, 1 << 15


class Reading(NamedTuple):
    """``changes`` in the order of the new file, without sources; ``at`` is where in the new file each stands or stood.

    ``marks`` are the hunks' ``only``; ``parsed``, ``only`` and ``note`` are those of the FileDiff.
    """

    parsed: bool
    changes: tuple[Change, ...]
    at: tuple[Span, ...]
    only: Only
    marks: tuple[Only, ...]
    note: str


def read(before: bytes, after: bytes, language: Language | None, cuts: tuple[Cut, ...]) -> Reading:
    """Read two texts that differ in ``cuts``."""
    work = _kept if len(before) + len(after) <= MOST_BYTES_KEPT else _read
    return work(before, after, language, cuts)


def unread(cuts: tuple[Cut, ...]) -> Reading:
    """The reading that says nothing."""
    marks: list[Only] = [""] * len(cuts)
    return Reading(False, (), (), "", tuple(marks), "syntax was not asked for")


def forget(trees_too: bool = True) -> None:
    """Drop what is kept, so that a measurement can count all of the work."""
    _kept.cache_clear()
    if trees_too:
        trees.forget()


def _read(before: bytes, after: bytes, language: Language | None, cuts: tuple[Cut, ...]) -> Reading:
    hunks = [Hunk(Span(a, b), Span(c, d), after[c:d]) for a, b, c, d in cuts]
    if b"\0" in before or b"\0" in after:
        return _by_lines(hunks, cuts, [""] * len(hunks), "binary")
    matching = "no grammar for this kind of file" if language is None else compare(before, after, language, cuts)
    if language is None or isinstance(matching, str):
        return _by_lines(hunks, cuts, [blank_only(hunk, before) for hunk in hunks], str(matching))
    changes = _in_order(changes_of(matching), cuts)
    errors = broken(before, language), broken(after, language)
    if any(errors):
        changes = _around_errors(changes, hunks, errors)
        return _reading(False, changes, cuts, "", [""] * len(hunks), _where(before, after, errors))
    only, marks = only_marks(before, after, matching, hunks, changes, language)
    blank = "no syntax changed" + (", only blanks" if only else "")  # a byte order mark is neither
    return _reading(True, changes, cuts, only, marks, "" if changes else blank)


_kept = lru_cache(maxsize=MOST_KEPT)(_read)


def _by_lines(hunks: Sequence[Hunk], cuts: Sequence[Cut], marks: Sequence[Only], why: str) -> Reading:
    only: Only = "whitespace" if hunks and all(marks) else ""
    return _reading(False, [_line_change(hunk) for hunk in hunks], cuts, only, marks, why)


def _reading(
    parsed: bool, changes: Sequence[Change], cuts: Sequence[Cut], only: Only, marks: Sequence[Only], note: str
) -> Reading:
    starts, ends = [cut[0] for cut in cuts], [cut[1] for cut in cuts]
    at = [change.new or _where_deleted(change.old, cuts, starts, ends) for change in changes]
    return Reading(parsed, tuple(changes), tuple(at), only, tuple(marks), note)


def _where(before: bytes, after: bytes, errors: tuple[Sequence[Span], Sequence[Span]]) -> str:
    sides = (("old", before, errors[0]), ("new", after, errors[1]))
    lines = [(which, text[: spans[0].start].count(b"\n") + 1) for which, text, spans in sides if spans]
    places = [f"the {which} file at line {line}" for which, line in lines]
    return f"a syntax error in {' and in '.join(places)}, compared by lines there"


def _around_errors(
    changes: Sequence[Change], hunks: Sequence[Hunk], errors: tuple[Sequence[Span], Sequence[Span]]
) -> list[Change]:
    """Syntax where it can be trusted, lines for every hunk that it does not speak of."""
    errors_old, errors_new = Touching(errors[0]), Touching(errors[1])
    torn = {k for k, hunk in enumerate(hunks) if errors_old.any(hunk.old) or errors_new.any(hunk.new)}
    # What the other side has in place of torn text is not gone.
    bad = Touching([*errors[0], *(hunks[k].old for k in torn)]), Touching([*errors[1], *(hunks[k].new for k in torn)])
    good = [c for c in changes if not (c.old and bad[0].any(c.old)) and not (c.new and bad[1].any(c.new))]
    told = Touching([c.old for c in good if c.old]), Touching([c.new for c in good if c.new])
    by_line = [
        _line_change(hunk)
        for k, hunk in enumerate(hunks)
        if k in torn or not (told[0].any(hunk.old) or told[1].any(hunk.new))
    ]
    at = [change.new or change.old or Span(0, 0) for change in (*good, *by_line)]
    order = sorted(range(len(at)), key=lambda k: (at[k].start, -at[k].end))
    return [[*good, *by_line][k] for k in order]


def _line_change(hunk: Hunk) -> Change:
    old = hunk.old if hunk.old.start < hunk.old.end else None
    new = hunk.new if hunk.new.start < hunk.new.end else None
    return Change("insert" if old is None else "delete" if new is None else "update", "line", "", old, new)


def _in_order(changes: Sequence[Change], cuts: Sequence[Cut]) -> list[Change]:
    """In the order of the new file."""
    starts, ends = [cut[0] for cut in cuts], [cut[1] for cut in cuts]

    def place(change: Change) -> tuple[int, int, int, str]:
        low, high = change.new or _where_deleted(change.old, cuts, starts, ends)
        return low, -high, change.old.start if change.old else -1, change.kind

    return sorted(changes, key=place)


def _where_deleted(old: Span | None, cuts: Sequence[Cut], starts: Sequence[int], ends: Sequence[int]) -> Span:
    """The range of the new file that stands where a deleted range stood."""
    assert old is not None
    first, last = bisect_right(ends, old.start), bisect_left(starts, old.end)
    if first < last:
        return Span(cuts[first][2], cuts[last - 1][3])
    # The syntax aligned equal text otherwise than the lines did: the place that the lines give it.
    shift = cuts[first - 1][3] - cuts[first - 1][1] if first else 0
    return Span(old.start + shift, old.end + shift)
