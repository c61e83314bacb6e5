"""A workspace's files in pieces, and a whole workspace packed, for PID 1 of a container, whose memory is limited.

The walks are those of sandbox/files.py: by descriptor, ``O_NOFOLLOW``, regular files only.
"""

from __future__ import annotations

import os
import stat
import struct

from sandbox import files
from sandbox.base import WorkspaceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def regular(name: str, parent: int, limit: int) -> int | None:
    """A descriptor of a regular file; None for anything else.

    Raises:
        WorkspaceError: it holds more than ``limit`` bytes.
        OSError: it cannot be opened.
    """
    if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        return None  # not even opened: opening some devices acts
    fd = files._open(name, files._FILE, parent)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        return None
    if status.st_size > limit:
        os.close(fd)
        raise WorkspaceError(f"{name!r} holds {status.st_size} bytes, over the budget: raise Limits.disk_bytes")
    return fd


def pieces(fd: int, name: str, limit: int, size: int) -> Iterator[bytes]:
    """What a descriptor holds, which is closed then. Raises WorkspaceError past ``limit`` bytes."""
    try:
        while chunk := os.read(fd, size):
            limit -= len(chunk)
            if limit < 0:
                raise WorkspaceError(f"{name!r} grew over the budget while it was read: raise Limits.disk_bytes")
            yield chunk
    finally:
        os.close(fd)


def _parent(root: int, path: str) -> tuple[int, str]:
    """A descriptor of the folder that holds ``path``, and the last name."""
    *folders, name = files.split(path)
    files._own(root)
    here = os.dup(root)
    try:
        for folder in folders:
            inner = files._open(folder, files._DIRECTORY, here)
            os.close(here)
            here = inner
    except OSError:
        os.close(here)
        raise
    return here, name


def read(root: int, path: str, limit: int, size: int) -> Iterator[bytes]:
    """One regular file. Raises as :func:`sandbox.files.read`."""
    parent = -1
    try:
        parent, name = _parent(root, path)
        fd = regular(name, parent, limit)
    except OSError:
        fd = None
    finally:
        if parent >= 0:
            os.close(parent)
    if fd is None:
        raise FileNotFoundError(f"no regular file at {path!r}")
    yield from pieces(fd, path, limit, size)


def append(root: int, path: str, piece: bytes) -> None:
    """Add to the end of a file that was just written. Raises WorkspaceError when it does not fit, or is gone."""
    parent = -1
    try:
        parent, name = _parent(root, path)
        fd = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
        try:
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(fd, rest) :]
        finally:
            os.close(fd)
    except OSError as error:
        raise WorkspaceError(
            f"cannot write {path!r}: {error.strerror}; raise Limits.disk_bytes or Limits.files if it is full"
        ) from error
    finally:
        if parent >= 0:
            os.close(parent)


# A packed tree: entries in the order of a walk. Each is ENTRY and then ``size`` bytes (F has none: its S follow).
ENTRY = struct.Struct(
    "<cIqHQ"
)  # kind, mode, time in ns (S: offset), bytes of the name, bytes of content (F: its length)
# D a folder, its content up to U   F a file   S a piece of the last file that is no hole   L a symlink


def pack(root: int, size: int) -> Iterator[bytes]:
    """The folders, files and symlinks below a folder, with modes, times and holes. Nothing may run meanwhile."""
    yield from _folder(root, b"", os.fstat(root), size, 0)


def _folder(fd: int, name: bytes, status: os.stat_result, size: int, depth: int) -> Iterator[bytes]:
    if depth > files.MAX_DEPTH:
        raise WorkspaceError(f"the workspace nests folders deeper than {files.MAX_DEPTH}")
    yield _entry(b"D", status, name)
    for child in sorted(os.listdir(fd)):
        inside = os.stat(child, dir_fd=fd, follow_symlinks=False)
        raw = os.fsencode(child)
        if stat.S_ISLNK(inside.st_mode):
            yield _entry(b"L", inside, raw, os.fsencode(os.readlink(child, dir_fd=fd)))
            continue
        if stat.S_ISDIR(inside.st_mode):
            inner = files._open(child, files._DIRECTORY, fd)
            try:
                yield from _folder(inner, raw, inside, size, depth + 1)
            finally:
                _restore_mode(inner, inside)
                os.close(inner)
        elif stat.S_ISREG(inside.st_mode):
            inner = files._open(child, files._FILE, fd)
            try:
                yield ENTRY.pack(b"F", stat.S_IMODE(inside.st_mode), inside.st_mtime_ns, len(raw), inside.st_size) + raw
                yield from _segments(inner, inside.st_size, size)
            finally:
                _restore_mode(inner, inside)
                os.close(inner)
    yield _entry(b"U", status, b"")


def _entry(kind: bytes, status: os.stat_result, name: bytes, content: bytes = b"") -> bytes:
    return ENTRY.pack(kind, stat.S_IMODE(status.st_mode), status.st_mtime_ns, len(name), len(content)) + name + content


def _restore_mode(fd: int, status: os.stat_result) -> None:
    """What was closed to everyone had to be opened to be read."""
    if os.fstat(fd).st_mode != status.st_mode:
        os.fchmod(fd, stat.S_IMODE(status.st_mode))


def _segments(fd: int, length: int, size: int) -> Iterator[bytes]:
    at = 0
    while at < length:
        try:
            at = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:
            return  # nothing but a hole up to the end
        end = os.lseek(fd, at, os.SEEK_HOLE)
        while at < end:
            piece = os.pread(fd, min(size, end - at), at)
            if not piece:
                raise WorkspaceError("a file shrank while the workspace was packed: write nothing meanwhile")
            yield ENTRY.pack(b"S", 0, at, 0, len(piece)) + piece
            at += len(piece)


def clear(folder: int) -> None:
    """Delete all that a folder holds."""
    files._own(folder)
    for name in os.listdir(folder):
        files._remove(name, folder)


class Unpacker:
    """Builds a packed tree in an empty folder, from pieces as they come."""

    def __init__(self, root: int) -> None:
        self._rest = bytearray()
        self._open = [os.dup(root)]  # the folders on the way down, and then the file being filled
        self._file: tuple[int, int] | None = None  # its mode and time

    def feed(self, piece: bytes) -> None:
        """Take the next piece. Raises WorkspaceError when the tree does not fit."""
        self._rest += piece
        try:
            while len(self._rest) >= ENTRY.size:
                kind, mode, when, named, length = ENTRY.unpack_from(self._rest)
                end = ENTRY.size + named + (0 if kind == b"F" else length)
                if len(self._rest) < end:
                    return
                body = bytes(self._rest[ENTRY.size : end])
                del self._rest[:end]
                self._take(kind, mode, when, os.fsdecode(body[:named]), body[named:], length)
        except OSError as error:
            raise WorkspaceError(
                f"the files do not fit ({error.strerror}): raise Limits.disk_bytes or Limits.files"
            ) from error

    def _take(self, kind: bytes, mode: int, when: int, name: str, content: bytes, length: int) -> None:
        if kind == b"S":
            rest = memoryview(content)
            while rest:
                done = os.pwrite(self._open[-1], rest, when)
                rest, when = rest[done:], when + done
            return
        if self._file is not None:
            self._leave(*self._file)
            self._file = None
        here = self._open[-1]
        if kind == b"U":
            self._leave(mode, when)
        elif kind == b"L":
            os.symlink(os.fsdecode(content), name, dir_fd=here)
            os.utime(name, ns=(when, when), dir_fd=here, follow_symlinks=False)
        elif kind == b"F":
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=here)
            self._open.append(fd)
            self._file = (mode, when)
            os.ftruncate(fd, length)
        elif name:  # the root is there
            os.mkdir(name, 0o700, dir_fd=here)
            self._open.append(os.open(name, files._DIRECTORY, dir_fd=here))

    def _leave(self, mode: int, when: int) -> None:
        fd = self._open.pop()
        try:
            os.fchmod(fd, mode)
            os.utime(fd, ns=(when, when))
        finally:
            os.close(fd)

    @property
    def complete(self) -> bool:
        """Whether the whole tree has come."""
        return not self._open and not self._rest

    def close(self) -> None:
        """Let go of what is open."""
        for fd in self._open:
            os.close(fd)
        self._open = []
