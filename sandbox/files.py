"""Reading and writing a folder that untrusted code controls, through descriptors of its directories.

Every path is walked one component at a time with ``O_NOFOLLOW``, so a symlink, or a directory swapped for one in
the middle of a walk, never leads outside. Only regular files are read; they are opened without blocking, so a FIFO or
a device cannot hang the caller. Names are ``str`` with ``surrogateescape``.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping

from sandbox.base import WorkspaceError

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
MAX_DEPTH = 256  # deeper than PATH_MAX / 16; bounds the descriptors that a walk holds open


def split(path: str) -> list[str]:
    """The components of a relative path. Raises WorkspaceError for an absolute path, ``..``, NUL or an empty path."""
    parts = [p for p in path.split("/") if p not in ("", ".")]
    if path.startswith("/") or ".." in parts or "\0" in path or not parts or path.endswith("/"):
        raise WorkspaceError(f"{path!r} is no path inside the workspace: give a relative file path without '..' or NUL")
    return parts


def _open(name: str, flags: int, parent: int) -> int:
    """Open one component. Code inside may have taken our own permission away; then give it back and try again."""
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        if not hasattr(os, "O_PATH"):
            raise
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{handle}", 0o700)  # by descriptor: it names what was opened, whatever the name is now
    except OSError:
        pass
    finally:
        os.close(handle)
    return os.open(name, flags, dir_fd=parent)


def _own(root: int) -> None:
    os.fchmod(root, 0o755)  # code inside may have closed its own workspace to us


def _writable(folder: int) -> None:
    """Code inside may have made a folder read-only, which stops whoever is not root. One of another owner stays."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & 0o700 != 0o700:
        with contextlib.suppress(PermissionError):
            os.fchmod(folder, mode | 0o700)


def _remove(name: str, parent: int, depth: int = 0) -> None:
    """Delete whatever stands at a name, a folder with all it holds included."""
    try:
        os.unlink(name, dir_fd=parent)
        return
    except FileNotFoundError:
        return
    except OSError:
        if depth > MAX_DEPTH:
            raise WorkspaceError(f"folders nested deeper than {MAX_DEPTH} stand in the way of a file") from None
    folder = _open(name, _DIRECTORY, parent)
    try:
        _writable(folder)
        for entry in os.listdir(folder):
            _remove(entry, folder, depth + 1)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=parent)


def write(root: int, files: Mapping[str, bytes], owner: tuple[int, int] | None = None) -> None:
    """Write files under the directory ``root``. A new file wins over whatever stands at its path or across it.

    Args:
        owner: uid and gid that the files and new folders get; None leaves the caller's.

    Raises:
        WorkspaceError: for a path outside the workspace, or when it is full.
    """
    paths = {path: split(path) for path in files}
    _own(root)
    for path, data in files.items():
        *folders, name = paths[path]
        opened: list[int] = []
        try:
            here = root
            for folder in folders:
                here = _enter(folder, here, owner)
                opened.append(here)
            _put(name, here, data, owner)
        except OSError as error:
            raise WorkspaceError(
                f"cannot write {path!r}: {error.strerror}; raise Limits.disk_bytes or Limits.files if it is full"
            ) from error
        finally:
            for fd in opened:
                os.close(fd)


def _enter(name: str, parent: int, owner: tuple[int, int] | None) -> int:
    try:
        fd = _open(name, _DIRECTORY, parent)
        _writable(fd)
        return fd
    except FileNotFoundError:
        pass
    except OSError:
        _remove(name, parent)  # a file or a symlink stands where a folder must be
    os.mkdir(name, 0o755, dir_fd=parent)
    fd = os.open(name, _DIRECTORY, dir_fd=parent)
    if owner is not None:
        os.fchown(fd, *owner)
    return fd


def _put(name: str, parent: int, data: bytes, owner: tuple[int, int] | None) -> None:
    mode = 0o644
    try:
        old = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISREG(old.st_mode):
            mode = stat.S_IMODE(old.st_mode) & 0o777 | 0o600  # an executable script stays executable
    except FileNotFoundError:
        pass
    _remove(name, parent)  # never through an old inode: it may be a hard link, or open elsewhere
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=parent)
    try:
        if owner is not None:
            os.fchown(fd, *owner)
        os.fchmod(fd, mode)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
    finally:
        os.close(fd)


def read(root: int, path: str, limit: int) -> bytes:
    """One regular file of at most ``limit`` bytes.

    Raises:
        FileNotFoundError: nothing there, or no regular file, or a symlink on the way.
        WorkspaceError: the file is larger than ``limit``, or the path leads outside.
    """
    *folders, name = split(path)
    _own(root)
    opened: list[int] = []
    try:
        here = root
        for folder in folders:
            here = _open(folder, _DIRECTORY, here)
            opened.append(here)
        data = _regular(name, here, limit)
    except OSError as error:
        raise FileNotFoundError(f"no regular file at {path!r}") from error
    finally:
        for fd in opened:
            os.close(fd)
    if data is None:
        raise FileNotFoundError(f"no regular file at {path!r}")
    return data


def _regular(name: str, parent: int, limit: int) -> bytes | None:
    """The bytes of a regular file; None for anything else."""
    if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        return None  # not even opened: opening some devices acts
    fd = _open(name, _FILE, parent)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > limit:
            raise WorkspaceError(f"{name!r} holds {status.st_size} bytes, over the budget: raise Limits.disk_bytes")
        chunks = []
        while chunk := os.read(fd, min(1 << 20, limit + 1)):
            chunks.append(chunk)
            limit -= len(chunk)
            if limit < 0:
                raise WorkspaceError(f"{name!r} grew over the budget while it was read: raise Limits.disk_bytes")
        return b"".join(chunks)
    finally:
        os.close(fd)


def export(root: int, max_bytes: int, max_files: int) -> dict[str, bytes]:
    """Every regular file below ``root``, sorted by path.

    Raises:
        WorkspaceError: more than ``max_bytes`` (apparent sizes) or ``max_files`` entries, or folders nested too deeply.
    """
    _own(root)
    found: dict[str, bytes] = {}
    entries = 0
    for path, name, parent in _walk(root, "", 0):
        entries += 1
        if entries > max_files:
            raise WorkspaceError(f"the workspace holds more than {max_files} entries: raise Limits.files")
        try:
            data = _regular(name, parent, max_bytes)
        except OSError:
            continue  # it went away, or became a symlink, since it was listed
        if data is not None:
            found[path] = data
            max_bytes -= len(data)
    return dict(sorted(found.items()))


def _walk(folder: int, prefix: str, depth: int) -> Iterator[tuple[str, str, int]]:
    if depth > MAX_DEPTH:
        raise WorkspaceError(f"the workspace nests folders deeper than {MAX_DEPTH}")
    for name in os.listdir(folder):
        yield prefix + name, name, folder
        try:
            inner = _open(name, _DIRECTORY, folder)
        except OSError:
            continue  # no directory
        try:
            yield from _walk(inner, f"{prefix}{name}/", depth + 1)
        finally:
            os.close(inner)
