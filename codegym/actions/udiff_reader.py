"""Reads the files of a unified diff out of a reply. Used by :mod:`codegym.actions.udiff`."""

from __future__ import annotations

import re

from codegym.actions import diff_lines
from codegym.actions.base import BadReply, Delete, Edit, Rename, Write
from codegym.spans import Span, reply_text

EXAMPLE = "write a unified diff in a ```diff block: --- a/a.py, +++ b/a.py, then hunks that begin with @@"
NEW_FILE = re.compile(rb"(?:diff --git |--- [^\n]*\n\+\+\+ )")
#: The beginning of another file or hunk, where the reply ends.
CUT = re.compile(
    rb"(?:-{1,3}|--- (?:\"?a/[^\n]*|\S*)(?:\n\+{0,3})?|@@?|@@[ .][^\n]*|Binary files (?:\"?a/|/dev/null)[^\n]*)\Z"
)
_HEAD = re.compile(rb"--- ([^\n]*)\n\+\+\+ ([^\n]*)\n?")
_HUNK = re.compile(rb"@@(?: -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))?)?[^\n@]*@@[^\n]*\n?")
_EXTENDED = re.compile(
    rb"(?:(?P<link>(?:index [0-9a-f.]+ |(?:old|new|new file|deleted file) mode )1[26]0000\b)|"
    rb"index |similarity index |dissimilarity index |old mode |new mode |"
    rb"(?P<added>new file mode )|(?P<deleted>deleted file mode )|"
    rb"rename from (?P<source>[^\n]*)|rename to (?P<target>[^\n]*)|(?P<copy>copy (?:from|to) ))[^\n]*\n?"
)
_BINARY = re.compile(rb"(?:Binary files [^\n]* differ|GIT binary patch)[ \t\r]*(?:\n|\Z)")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
LETTERS = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}


class DiffReader:
    """Reads the files of a diff between two offsets of the reply."""

    def __init__(self, data: bytes, start: int, end: int, *, fenced: bool) -> None:
        self._data, self._at, self._end, self._fenced = data, start, end, fenced

    def files(self) -> tuple[list[Edit], int]:
        """The edits of all files, and where the diff ends."""
        edits: list[Edit] = []
        while True:
            blank = re.compile(rb"\s*").match(self._data, self._at, self._end)
            start = blank.end() if blank else self._at
            if binary := _BINARY.match(self._data, start, self._end):
                raise BadReply(f"{reply_text(binary[0].strip())}: the diff does not say how; leave that file out")
            if not NEW_FILE.match(self._data, start, self._end):
                break
            self._at = start
            edits += self._file()
        if not edits:
            raise BadReply(f"the diff names no file: {EXAMPLE}")
        return edits, self._at

    def _take(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        match = pattern.match(self._data, self._at, self._end)
        if match:
            self._at = match.end()
        return match

    def _file(self) -> list[Edit]:
        """The edits of one file."""
        start = self._at
        git = self._take(re.compile(rb"diff --git ([^\n]*)\n?"))
        added = deleted = link = False
        source = target = ""
        while git and (line := self._take(_EXTENDED)):
            link = link or bool(line["link"])
            added, deleted = added or bool(line["added"]), deleted or bool(line["deleted"])
            source = self._name(line["source"], b"") if line["source"] is not None else source
            target = self._name(line["target"], b"") if line["target"] is not None else target
            if line["copy"]:
                raise BadReply("a diff that copies a file is not read: write the copy as a new file")
        head = self._take(_HEAD)
        old, new = self._names(git[1] if git else b"", head)
        place = Span(start, self._at)
        if link:
            raise BadReply(f"{new or old}: is a link in the diff, and a workspace holds files only; leave it out")
        if self._take(_BINARY):
            raise BadReply(
                f"{new or old}: is binary in the diff, which does not say how it changes; leave that file out"
            )
        if None not in (old, new) and old != new and not (source and target):
            raise BadReply(f"a diff names two files, {old} and {new}: write the path of the one that it changes twice")
        boundary = _is_boundary if self._fenced else _is_bare_boundary
        hunks = diff_lines.hunks(self._data, self._at, self._end, _HUNK, boundary, fenced=self._fenced)
        self._at = hunks.end
        if not (self._fenced or hunks.found or self._data[self._at :].strip()):
            raise BadReply(
                f"{new or old}: the reply ends before any hunk of it: nothing was done; write the diff between ```diff "
                "and ```, where it needs none"
            )
        path = new or old or ""
        if source and target:
            edits: list[Edit] = [Rename(source, target, place)]
            return [*edits, diff_lines.patch(self._data, target, hunks.found, place)] if hunks.found else edits
        if old is None or (added and not hunks.found):
            return [Write(path, diff_lines.only(hunks.found, "+", path), place, new=True)]
        if new is None or (deleted and not hunks.found):
            return [Delete(path, diff_lines.only(hunks.found, "-", path) if hunks.found else None, place)]
        if not hunks.found:
            raise BadReply(f"{path}: the diff holds no hunk: {EXAMPLE}")
        return [diff_lines.patch(self._data, path, hunks.found, place)]

    def _names(self, git: bytes, head: re.Match[bytes] | None) -> tuple[str | None, str | None]:
        """The path before and after; None for /dev/null."""
        if head is None:
            half = git.rstrip(b"\r")
            quoted = _QUOTED.match(half)
            first = quoted[0] if quoted else half[: len(half) // 2]
            path = self._name(first, b"a/")
            return path, path
        names = [line.rstrip(b"\r").split(b"\t", 1)[0] if line[:1] != b'"' else line for line in (head[1], head[2])]
        prefixed = all(
            name.rstrip() == b"/dev/null" or name.lstrip(b'"').startswith(prefix)
            for name, prefix in zip(names, (b"a/", b"b/"), strict=True)
        )
        old, new = (
            None if name.rstrip() == b"/dev/null" else self._name(name, prefix if prefixed else b"")
            for name, prefix in zip(names, (b"a/", b"b/"), strict=True)
        )
        if old is None and new is None:
            raise BadReply("a diff names /dev/null on both sides: write the file's path")
        return old, new

    def _name(self, name: bytes, prefix: bytes) -> str:
        """A path as git writes it: quoted if it holds odd bytes."""
        quoted = _QUOTED.match(name)
        if quoted:
            name = _ESCAPE.sub(
                lambda match: bytes([LETTERS[match[1]] if match[1] in LETTERS else int(match[1], 8) & 255]), quoted[1]
            )
        else:
            name = name.rstrip(b"\r")
        if not name.removeprefix(prefix):
            raise BadReply(f"a diff does not name its file: {EXAMPLE}")
        return reply_text(name.removeprefix(prefix))


def _is_boundary(data: bytes, position: int, end: int) -> bool:
    """Whether a hunk cannot go on at a line: another file or hunk begins there, or the diff ends."""
    return position >= end or bool(NEW_FILE.match(data, position, end) or _HUNK.match(data, position, end))


def _is_bare_boundary(data: bytes, position: int, end: int) -> bool:
    """The same outside a fence, where a reply that was cut may end in the beginning of another file or hunk."""
    return _is_boundary(data, position, end) or bool(CUT.match(data, position, end))
