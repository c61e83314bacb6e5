"""The diff of two workspaces: which files changed, how, and which bytes of the reply wrote each change."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace

from codegym.diff.languages import language_of
from codegym.diff.lines import Cut, cut_file
from codegym.diff.model import Change, Diff, FileDiff, Hunk
from codegym.diff.sources import Written
from codegym.diff.syntax import syntax_changes
from codegym.spans import Origin, Span


def diff_files(
    old: Mapping[str, bytes], new: Mapping[str, bytes], origins: Mapping[str, Sequence[Origin]] | None = None
) -> Diff:
    """What changed from ``old`` to ``new``.

    Args:
        old: path -> bytes before.
        new: path -> bytes after.
        origins: per path of ``new``, what a reply wrote there (:attr:`codegym.edits.Applied.origins`); changes outside
            them, such as a shell command's, get no source.

    Returns:
        Files sorted by path. The same input gives the same diff, byte for byte.
    """
    origins = origins or {}
    renamed = _renamed(old, new)
    gone = set(renamed.values())
    files: list[FileDiff] = []
    for path in sorted(old.keys() | new.keys()):
        if path in gone or (path in old and path in new and old[path] == new[path]):
            continue
        if path in renamed:
            files.append(FileDiff(path, renamed[path], "renamed", _language(path), False, (), (), "content unchanged"))
        else:
            files.append(_diff_file(path, old.get(path), new.get(path), Written(origins.get(path, ()))))
    return Diff(tuple(files))


def _renamed(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> dict[str, str]:
    """New path -> old path of files that went away and came back elsewhere with the same, non-empty content."""
    lost: dict[bytes, list[str]] = {}
    for path in sorted(old.keys() - new.keys(), reverse=True):
        if old[path]:
            lost.setdefault(old[path], []).append(path)
    if not lost:
        return {}
    return {path: lost[new[path]].pop() for path in sorted(new.keys() - old.keys()) if lost.get(new[path])}


def _language(path: str) -> str | None:
    language = language_of(path)
    return language.name if language else None


def _diff_file(path: str, old: bytes | None, new: bytes | None, written: Written) -> FileDiff:
    before, after = old or b"", new or b""
    found = cut_file(before, after, written)
    cuts = found.cuts
    hunks = tuple(
        Hunk(Span(a, b), Span(c, d), after[c:d], written.source(c, d), written.place(c, d)) for a, b, c, d in cuts
    )
    language = language_of(path)
    syntax: tuple[Change, ...] | str
    if b"\0" in before or b"\0" in after:
        syntax = "binary"
    elif language is None:
        syntax = "no grammar for this kind of file"
    else:
        syntax = syntax_changes(before, after, language, cuts)
    notes = [syntax] if isinstance(syntax, str) else [] if syntax else ["no syntax changed, only blanks"]
    if found.coarse:
        notes.append("too many lines to align, shown as one hunk")
    return FileDiff(
        path,
        None if old is None else path,
        "added" if old is None else "deleted" if new is None else "modified",
        language.name if language else None,
        not isinstance(syntax, str),
        hunks,
        tuple(_line_change(hunk) for hunk in hunks)
        if isinstance(syntax, str)
        else _with_sources(syntax, cuts, written),
        "; ".join(notes),
    )


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


def _with_sources(changes: Sequence[Change], cuts: Sequence[Cut], written: Written) -> tuple[Change, ...]:
    """Changes in the order of the new file, with the reply's bytes that wrote them."""
    starts, ends = [cut[0] for cut in cuts], [cut[1] for cut in cuts]
    placed: list[tuple[tuple[int, ...], str, Change]] = []
    for change in changes:
        low, high = change.new or _where_deleted(change.old, cuts, starts, ends)
        if written:
            change = replace(change, source=written.source(low, high), place=written.place(low, high))
        at = change.old.start if change.old else -1
        placed.append(((low, -high, at), change.kind, change))
    return tuple(change for _, _, change in sorted(placed, key=lambda item: item[:2]))


def _where_deleted(old: Span | None, cuts: Sequence[Cut], starts: Sequence[int], ends: Sequence[int]) -> Span:
    """The range of the new file that stands where a deleted range stood."""
    assert old is not None
    first, last = bisect_right(ends, old.start), bisect_left(starts, old.end)
    if first < last:
        return Span(cuts[first][2], cuts[last - 1][3])
    # The syntax aligned equal text otherwise than the lines did: the place that the lines give it.
    shift = cuts[first - 1][3] - cuts[first - 1][1] if first else 0
    return Span(old.start + shift, old.end + shift)
