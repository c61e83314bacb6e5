"""Which hunks, and which files, change nothing but blanks or comments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from codegym.diff.languages import Language
from codegym.diff.match import Matching
from codegym.diff.model import Change, Hunk, Only
from codegym.diff.script import script_of
from codegym.spans import Span


class Touching:
    """Ranges, asked whether one of them overlaps or meets another range."""

    def __init__(self, spans: Iterable[Span]) -> None:
        ordered = sorted(spans)
        self._starts = [span.start for span in ordered]
        self._ends = list(accumulate((span.end for span in ordered), max))

    def any(self, span: Span) -> bool:
        before = bisect_right(self._starts, span.end)
        return before > 0 and self._ends[before - 1] >= span.start


def blank_only(hunk: Hunk, old: bytes) -> Only:
    """The mark of a hunk of a file that is read by lines: its words are the same."""
    return "whitespace" if hunk.text.split() == old[slice(*hunk.old)].split() else ""


def only_marks(
    before: bytes,
    after: bytes,
    matching: Matching,
    hunks: Sequence[Hunk],
    changes: Sequence[Change],
    language: Language,
) -> tuple[Only, list[Only]]:
    """The mark of a parsed file and of each of its hunks, by what the actions of its script touch.

    A hunk that merely meets a changed node keeps no mark: a blank may be what changed it (indentation).
    """
    remarks = [change for change in changes if change.node in language.comments]
    near = Touching(c.old for c in remarks if c.old), Touching(c.new for c in remarks if c.new)
    marks: list[Only] = [""] * len(hunks)
    maybe = [
        k
        for k, hunk in enumerate(hunks)
        if _ink(before[slice(*hunk.old)]) == _ink(hunk.text) or near[0].any(hunk.old) or near[1].any(hunk.new)
    ]
    if not maybe:  # the script is not needed
        return "", marks
    syntax = [action for action in script_of(before, after, matching).actions if action.kind != "space"]
    code = [action for action in syntax if action.node not in language.comments]
    if not code:
        whole: Only = "comments" if syntax else "whitespace"
        return whole, [whole] * len(hunks)
    touched = [
        (Touching(a.old for a in actions if a.old), Touching(a.new for a in actions if a.new))
        for actions in (code, syntax)
    ]
    for k in maybe:
        in_code, in_any = (old.any(hunks[k].old) or new.any(hunks[k].new) for old, new in touched)
        marks[k] = "" if in_code else "comments" if in_any else "whitespace"
    return "", marks


def _ink(text: bytes) -> bytes:
    return b"".join(text.split())
