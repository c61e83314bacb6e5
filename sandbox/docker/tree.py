"""A workspace's files in pieces, for PID 1 of a container, whose memory is the container's.

The walks are those of sandbox/files.py: by descriptor, ``O_NOFOLLOW``, regular files only.
"""

from __future__ import annotations

import os
import stat

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
