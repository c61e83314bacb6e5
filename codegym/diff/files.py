"""The diff of two workspaces: which files changed, how, and which bytes of the reply wrote each change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from codegym.diff.languages import language_of
from codegym.diff.lines import cut_file
from codegym.diff.model import Change, Diff, FileDiff, Hunk
from codegym.diff.reading import read, unread
from codegym.diff.renames import find_renames
from codegym.diff.sources import Written
from codegym.spans import Origin, Span


def diff_files(
    old: Mapping[str, bytes],
    new: Mapping[str, bytes],
    origins: Mapping[str, Sequence[Origin]] | None = None,
    renamed: Mapping[str, str] | None = None,
    *,
    syntax: bool = True,
) -> Diff:
    """What changed from ``old`` to ``new``.

    Args:
        old: path -> bytes before.
        new: path -> bytes after.
        origins: per path of ``new``, what a reply wrote there (:attr:`codegym.edits.Applied.origins`); changes outside
            them, such as a shell command's, get no source.
        renamed: new path -> old path, where it is known (:attr:`codegym.edits.Applied.renamed`). Other renames are
            found by content.
        syntax: whether changes are told; a patch needs the hunks alone, which are much quicker.

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
        files.append(_diff_file(path, was, old, new, Written(origins.get(path, ())), syntax))
    return Diff(tuple(files))


def _diff_file(
    path: str, was: str | None, old: Mapping[str, bytes], new: Mapping[str, bytes], written: Written, syntax: bool
) -> FileDiff:
    before, after = old[was] if was is not None else b"", new.get(path, b"")
    status: Literal["added", "deleted", "modified", "renamed"]
    status = "added" if was is None else "renamed" if was != path else "modified" if path in new else "deleted"
    language = language_of(path)
    name = language.name if language else None
    if status == "renamed" and before == after:
        return FileDiff(path, was, status, name, False, (), (), "content unchanged")
    found = cut_file(before, after, written)
    cuts = tuple(found.cuts)
    reading = read(before, after, language, cuts) if syntax else unread(cuts)
    hunks = [
        Hunk(Span(a, b), Span(c, d), after[c:d], written.source(c, d), written.place(c, d), only)
        for (a, b, c, d), only in zip(cuts, reading.marks, strict=True)
    ]
    changes = reading.changes
    if written:
        changes = tuple(
            Change(c.kind, c.node, c.symbol, c.old, c.new, written.source(*at), written.place(*at))
            for c, at in zip(changes, reading.at, strict=True)
        )
    note = "; ".join(filter(None, (reading.note, "too many lines to align, shown as one hunk" if found.coarse else "")))
    return FileDiff(path, was, status, name, reading.parsed, tuple(hunks), changes, note, reading.only)
