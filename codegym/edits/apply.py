"""The edits of an action in order, each on the result of the one before; see :mod:`codegym.edits`."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from codegym.actions.base import Delete, Edit, Insert, Lines, Patch, Rename, Replace, Write
from codegym.edits.file import BOM, EditedFile, Splice
from codegym.edits.fitting import fitted, verbatim, whole_lines, without_newline
from codegym.edits.hunks import apply_hunks
from codegym.finding import EditError, Found, find, line_starts
from codegym.spans import Origin, reply_bytes
from sandbox.files import MAX_DEPTH

_LONGEST_NAME = 255  # bytes of one path component on Linux file systems


@dataclass(frozen=True)
class Applied:
    """The workspace after the edits.

    Attributes:
        files: path -> bytes.
        origins: what was written in each edited path that still is, ordered by ``new``.
        notes: remarks for the agent: what was tolerated, what changed nothing.
        renamed: new path -> old path of files that were renamed.
    """

    files: dict[str, bytes]
    origins: dict[str, tuple[Origin, ...]]
    notes: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


def apply_edits(files: Mapping[str, bytes], edits: Sequence[Edit], *, tolerant: bool = False) -> Applied:
    """Apply edits in order, each to the result of the one before.

    Args:
        files: the workspace; never changed.
        edits: of one action.
        tolerant: accept search texts and hunks that differ from the file in trailing blanks or one common margin;
            ``notes`` say where.

    Raises:
        EditError: an edit does not fit, or nothing would change; the message is for the agent.
    """
    work = _Work(files)
    notes: list[str] = []
    for number, edit in enumerate(edits, 1):
        try:
            notes += work.do(edit, number, tolerant)
        except EditError as error:
            where = f"edit {number} of {len(edits)} does not fit, nothing was changed: " if len(edits) > 1 else ""
            raise EditError(where + str(error)) from None
    result = work.result()
    if result == dict(files):
        raise EditError(f"nothing changed: {', '.join(work.edited) or 'no file'} already reads so")
    origins = {path: file.origins() for path, file in work.edited.items() if file.exists}
    renamed = {new: old for new, old in work.renamed.items() if new != old and work.edited[new].exists}
    return Applied(result, origins, tuple(notes), renamed)


def safe_path(path: str) -> str:
    """The path in its one spelling (``./a//b`` is ``a/b``). Raises EditError for one that leads elsewhere."""
    parts = path.split("/")
    if not path or path.startswith("/") or ".." in parts or "\0" in path or parts[-1] in ("", "."):
        raise EditError(f"path {path[:80]!r} is refused: write a file's path inside the workspace, such as src/a.py")
    if any(len(reply_bytes(part)) > _LONGEST_NAME for part in parts):
        raise EditError(f"path {path[:80]!r}... is refused: a name is longer than {_LONGEST_NAME} bytes")
    path = posixpath.normpath(path)
    if path.count("/") > MAX_DEPTH:  # below that no command could be read back
        raise EditError(f"path {path[:80]!r}... is refused: it nests folders deeper than {MAX_DEPTH}")
    return path


class _Work:
    """A workspace and the files of it that edits have touched."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self.edited: dict[str, EditedFile] = {}
        self.renamed: dict[str, str] = {}

    def result(self) -> dict[str, bytes]:
        files = dict(self._files)
        for path, file in self.edited.items():
            files.pop(path, None)
            if file.exists:
                files[path] = file.data
        return files

    def do(self, edit: Edit, number: int, tolerant: bool) -> list[str]:
        """One edit. Returns notes for the agent."""
        path = safe_path(edit.path)
        if isinstance(edit, Rename):
            return self._rename(path, edit)
        file = self._open(path)
        if not file.exists:
            self._check_new(path)
            if not isinstance(edit, Write):
                raise EditError(f"{path}: no such file; {self._near(path)}")
        before = file.data if file.exists else None
        if isinstance(edit, Delete):
            _delete(path, file, edit)
            return []
        notes = _change(path, file, edit, tolerant)
        file.exists = True
        self.edited[path] = file
        if file.data == before:
            notes.append(f"{path}: edit {number} changed nothing, the file already reads so")
        return notes

    def _open(self, path: str) -> EditedFile:
        if path not in self.edited:
            found = path in self._files
            file = EditedFile(self._files[path] if found else b"", exists=found)
            if not found:
                return file
            self.edited[path] = file
        return self.edited[path]

    def _rename(self, path: str, edit: Rename) -> list[str]:
        to = safe_path(edit.to)
        file = self._open(path)
        if not file.exists:
            self._check_new(path)
            raise EditError(f"{path}: no such file; {self._near(path)}")
        if self._open(to).exists:
            raise EditError(f"{to}: exists already, so {path} cannot be renamed to it; delete it first")
        moved = file.moved()
        file.empty(edit.place)
        file.exists = False
        self._check_new(to)
        self.edited[to] = moved
        self.renamed[to] = self.renamed.pop(path, path)
        return []

    def _known(self) -> list[str]:
        gone = {path for path, file in self.edited.items() if not file.exists}
        return sorted((self._files.keys() | self.edited.keys()) - gone)

    def _check_new(self, path: str) -> None:
        for name in self._known():
            if name.startswith(path + "/"):
                raise EditError(f"{path}: is a directory; name a file in it")
            if path.startswith(name + "/"):
                raise EditError(f"{path}: {name} is a file, not a directory")

    def _near(self, path: str) -> str:
        from rapidfuzz import process

        near = process.extractOne(path, self._known(), score_cutoff=60)
        return f"did you mean {near[0]}?" if near else "write the whole file to create it"


def _delete(path: str, file: EditedFile, edit: Delete) -> None:
    if edit.text is not None:
        have, said = (data.replace(b"\r\n", b"\n").removesuffix(b"\n") for data in (file.data, edit.text.data))
        if have.removeprefix(BOM) != said.removeprefix(BOM):
            lines = zip(have.split(b"\n"), [*said.split(b"\n"), None], strict=False)
            first = next((number for number, (a, b) in enumerate(lines, 1) if a != b), have.count(b"\n") + 2)
            raise EditError(f"{path}: does not hold what the patch removes; the first line that differs is {first}")
    file.empty(edit.place)
    file.exists = False


def _change(path: str, file: EditedFile, edit: Write | Replace | Insert | Lines | Patch, tolerant: bool) -> list[str]:
    """Change the bytes of a file and return notes."""
    if isinstance(edit, Patch):
        return apply_hunks(path, file, edit, tolerant=tolerant)
    data, text = file.data, edit.text
    if isinstance(edit, Write):
        if edit.new and data:
            already = data == text.data
            raise EditError(
                f"{path}: exists already" + (" and reads so" if already else "; change it, or delete it first")
            )
        file.splice(Splice(0, len(data), verbatim(text), text, edit.place))
        return []
    if isinstance(edit, Replace):
        found = find(path, data, edit.search.data, text.data, tolerant=tolerant)
        stop = len(without_newline(text.data)) if found.open else None
        pieces = fitted(text, data, found, stop)
        file.splice(Splice(found.start, found.end, pieces, text, edit.search.span, edit.place))
        return [found.note] if found.note else []
    starts = line_starts(data)
    count = len(starts) - (starts[-1] == len(data))
    first, last = (edit.first, edit.last) if isinstance(edit, Lines) else (edit.line + 1, edit.line)
    if isinstance(edit, Lines) and last < first:
        raise EditError(f"{path}: lines {first} to {last} end before they start")
    if first < 1 or last > count:
        raise EditError(f"{path}: has {count} line{'s' * (count != 1)}, so there is no line {last}")
    start = (starts[first - 1] if first <= len(starts) else len(data)) or len(BOM) * data.startswith(BOM)
    end = max(start, starts[last] if last < len(starts) else len(data))
    file.splice(Splice(start, end, whole_lines(text, data, Found(start, end)), text, edit.place))
    return []
