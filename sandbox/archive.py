"""A workspace as a value: folders, regular files and symlinks with modes and times, for copies.

``save`` and ``load`` walk by descriptors, as sandbox/files.py does: no symlink is followed, and nothing that code
inside does meanwhile leads outside. Other kinds of files are left out, and hard links become separate files.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from sandbox import files
from sandbox.base import WorkspaceError


@dataclass(frozen=True)
class Entry:
    """One file: ``data`` are the bytes of a regular file, the target of a symlink, or None for a folder."""

    path: str
    mode: int
    mtime_ns: int
    data: bytes | str | None


@dataclass(frozen=True)
class Archive:
    """All entries, folders before what they hold; the first is the root, with path ``""``.

    ``whole``: nothing was left out, and no hard link became a file.
    """

    entries: tuple[Entry, ...]
    whole: bool


def save(root: int, max_bytes: int, max_files: int) -> Archive:
    """Read everything below the directory ``root``.

    Raises:
        WorkspaceError: more than ``max_bytes`` (apparent sizes) or ``max_files`` entries, or folders nested too deeply.
    """
    entries, whole = [_entry("", os.fstat(root), None)], True
    for path, name, parent in _walk(root, "", 0):
        try:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            data: bytes | str | None = None
            if stat.S_ISREG(found.st_mode):
                whole &= found.st_nlink == 1
                data = files._regular(name, parent, max_bytes)
                if data is None:
                    continue
                max_bytes -= len(data)
                _give_back(name, parent, found)
            elif stat.S_ISLNK(found.st_mode):
                data = os.readlink(name, dir_fd=parent)
            elif not stat.S_ISDIR(found.st_mode):
                whole = False
                continue
        except OSError:
            continue  # it went away, or became something else, since it was listed
        entries.append(_entry(path, found, data))
        if len(entries) > max_files + 1:
            raise WorkspaceError(f"the workspace holds more than {max_files} entries: raise Limits.files")
    return Archive(tuple(entries), whole)


def _entry(path: str, found: os.stat_result, data: bytes | str | None) -> Entry:
    return Entry(path, stat.S_IMODE(found.st_mode) & 0o777, found.st_mtime_ns, data)


def _walk(folder: int, prefix: str, depth: int) -> Iterator[tuple[str, str, int]]:
    if depth > files.MAX_DEPTH:
        raise WorkspaceError(f"the workspace nests folders deeper than {files.MAX_DEPTH}")
    for name in os.listdir(folder):
        before = None
        with contextlib.suppress(OSError):
            before = os.stat(name, dir_fd=folder, follow_symlinks=False)
        yield prefix + name, name, folder
        if before is None or not stat.S_ISDIR(before.st_mode):
            continue
        try:
            inner = files._open(name, files._DIRECTORY, folder)
        except OSError:
            continue
        try:
            yield from _walk(inner, f"{prefix}{name}/", depth + 1)
            with contextlib.suppress(OSError):
                os.fchmod(inner, stat.S_IMODE(before.st_mode))  # reading may have needed more
        finally:
            os.close(inner)


def _give_back(name: str, parent: int, found: os.stat_result) -> None:
    if found.st_mode & 0o400 or not hasattr(os, "O_PATH"):
        return  # reading changed nothing
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    with contextlib.suppress(OSError):
        os.chmod(f"/proc/self/fd/{handle}", stat.S_IMODE(found.st_mode))
    os.close(handle)


def load(root: int, archive: Archive, owner: tuple[int, int] | None = None) -> None:
    """Write an archive into the empty directory ``root``, where no other process writes.

    Args:
        owner: uid and gid that everything gets; None leaves the caller's.

    Raises:
        WorkspaceError: there is no room.
    """
    try:
        for entry in archive.entries[1:]:
            _put(root, entry, owner)
        for entry in reversed(archive.entries):  # a folder's time and rights when nothing more comes into it
            if entry.data is None:
                _finish(root, entry)
    except OSError as error:
        raise WorkspaceError(
            f"cannot copy the workspace: {error.strerror}; raise Limits.disk_bytes or Limits.files if it is full"
        ) from error


def _put(root: int, entry: Entry, owner: tuple[int, int] | None) -> None:
    path = entry.path
    if entry.data is None:
        os.mkdir(path, 0o700, dir_fd=root)
    elif isinstance(entry.data, str):
        os.symlink(entry.data, path, dir_fd=root)
    else:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=root)
        try:
            rest = memoryview(entry.data)
            while rest:
                rest = rest[os.write(fd, rest) :]
            os.fchmod(fd, entry.mode)
        finally:
            os.close(fd)
    if owner is not None:
        os.chown(path, *owner, dir_fd=root, follow_symlinks=False)
    if entry.data is not None:
        os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=root, follow_symlinks=False)


def _finish(root: int, entry: Entry) -> None:
    path = entry.path or "."
    os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=root)
    os.chmod(path, entry.mode, dir_fd=root)
