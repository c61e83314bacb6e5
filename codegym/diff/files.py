"""The diff of two workspaces: which files changed, how, and which bytes of the reply wrote each change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from codegym.diff.languages import language_of
from codegym.diff.lines import Cut, cut_file
from codegym.diff.marks import Touching, blank_only, only_marks
from codegym.diff.match import Matching
from codegym.diff.model import Change, Diff, FileDiff, Hunk, Only
from codegym.diff.renames import find_renames
from codegym.diff.sources import Written
from codegym.diff.syntax import broken, changes_of, compare
from codegym.spans import Origin, Span


def diff_files(
    old: Mapping[str, bytes],
    new: Mapping[str, bytes],
    origins: Mapping[str, Sequence[Origin]] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> Diff:
    """What changed from ``old`` to ``new``.

    Args:
        old: path -> bytes before.
        new: path -> bytes after.
        origins: per path of ``new``, what a reply wrote there (:attr:`codegym.edits.Applied.origins`); changes outside
            them, such as a shell command's, get no source.
        renamed: new path -> old path, where it is known (:attr:`codegym.edits.Applied.renamed`). Other renames are
            found by content.

    Returns:
        Files sorted by path. The same input gives the same diff, byte for byte.
    """
    origins = origins or {}
    sources = find_renames(old, new, renamed or {})
    gone = set(sources.values())
    files: list[FileDiff] = []
    for path in sorted(old.keys() | new.keys()):
        if path in gone or (path in old and path in new and old[path] == new[path]):
            continue
        was = sources.get(path, path if path in old else None)
        files.append(_diff_file(path, was, old, new, Written(origins.get(path, ()))))
    return Diff(tuple(files))


def _diff_file(
    path: str, was: str | None, old: Mapping[str, bytes], new: Mapping[str, bytes], written: Written
) -> FileDiff:
    before, after = old[was] if was is not None else b"", new.get(path, b"")
    status: Literal["added", "deleted", "modified", "renamed"]
    status = "added" if was is None else "renamed" if was != path else "modified" if path in new else "deleted"
    language = language_of(path)
    name = language.name if language else None
    if status == "renamed" and before == after:
        return FileDiff(path, was, status, name, False, (), (), "content unchanged")
    found = cut_file(before, after, written)
    cuts = found.cuts
    hunks = [Hunk(Span(a, b), Span(c, d), after[c:d], written.source(c, d), written.place(c, d)) for a, b, c, d in cuts]
    matching: Matching | str
    if b"\0" in before or b"\0" in after:
        matching = "binary"
    elif language is None:
        matching = "no grammar for this kind of file"
    else:
        matching = compare(before, after, language, cuts)
    notes: list[str] = []
    parsed = False
    only: Only = ""
    changes: list[Change] = []
    if isinstance(matching, str) or language is None:
        notes.append(str(matching))
        if matching != "binary":
            hunks = [replace(hunk, only=blank_only(hunk, before)) for hunk in hunks]
            only = "whitespace" if hunks and all(hunk.only for hunk in hunks) else ""
        changes += [_line_change(hunk) for hunk in hunks]
    else:
        errors = broken(before, language), broken(after, language)
        parsed = not any(errors)
        changes += _with_sources(changes_of(matching), cuts, written)
        if parsed:
            only, marks = only_marks(before, after, matching, hunks, changes, language)
            hunks = [replace(hunk, only=mark) for hunk, mark in zip(hunks, marks, strict=True)]
            if not changes:
                notes.append("no syntax changed, only blanks")
        else:
            changes = _around_errors(changes, hunks, errors)
            notes.append(_where(before, after, errors))
    if found.coarse:
        notes.append("too many lines to align, shown as one hunk")
    return FileDiff(path, was, status, name, parsed, tuple(hunks), tuple(changes), "; ".join(notes), only)


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
    return Change(
        "insert" if old is None else "delete" if new is None else "update",
        "line",
        "",
        old,
        new,
        hunk.source,
        hunk.place,
    )


def _with_sources(changes: Sequence[Change], cuts: Sequence[Cut], written: Written) -> list[Change]:
    """Changes in the order of the new file, with the reply's bytes that wrote them."""
    starts, ends = [cut[0] for cut in cuts], [cut[1] for cut in cuts]
    placed: list[tuple[tuple[int, ...], str, Change]] = []
    for change in changes:
        low, high = change.new or _where_deleted(change.old, cuts, starts, ends)
        if written:
            change = replace(change, source=written.source(low, high), place=written.place(low, high))
        at = change.old.start if change.old else -1
        placed.append(((low, -high, at), change.kind, change))
    return [change for _, _, change in sorted(placed, key=lambda item: item[:2])]


def _where_deleted(old: Span | None, cuts: Sequence[Cut], starts: Sequence[int], ends: Sequence[int]) -> Span:
    """The range of the new file that stands where a deleted range stood."""
    assert old is not None
    first, last = bisect_right(ends, old.start), bisect_left(starts, old.end)
    if first < last:
        return Span(cuts[first][2], cuts[last - 1][3])
    # The syntax aligned equal text otherwise than the lines did: the place that the lines give it.
    shift = cuts[first - 1][3] - cuts[first - 1][1] if first else 0
    return Span(old.start + shift, old.end + shift)
