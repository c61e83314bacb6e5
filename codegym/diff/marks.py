"""Which hunks, and which files, change nothing but blanks or comments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from codegym.diff.languages import Language
from codegym.diff.model import Hunk, Only
from codegym.diff.script import Script
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


def only_marks(script: Script, hunks: Sequence[Hunk], language: Language) -> tuple[Only, list[Only]]:
    """The mark of a parsed file and of each of its hunks, by what the actions of its script touch.

    A hunk that merely meets a changed node keeps no mark: a blank may be what changed it (indentation).
    """
    syntax = [action for action in script.actions if action.kind != "space"]
    code = [action for action in syntax if action.node not in language.comments]
    touched = [
        (Touching(a.old for a in actions if a.old), Touching(a.new for a in actions if a.new))
        for actions in (code, syntax)
    ]

    def mark(hunk: Hunk) -> Only:
        in_code, in_any = (old.any(hunk.old) or new.any(hunk.new) for old, new in touched)
        return "" if in_code else "comments" if in_any else "whitespace"

    whole: Only = "" if code or not hunks else "comments" if syntax else "whitespace"
    return whole, [whole or mark(hunk) for hunk in hunks]
