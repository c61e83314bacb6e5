"""Run a command as another uid, which can enter this interpreter and this project even below a 0700 home.

``python as_user.py UID COMMAND...``, as root. In a mount namespace of its own, each folder on the way that others may
not enter is covered by an open one, with only what is needed mounted back at its old place.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def closed_folder(path: str) -> str | None:
    """The first folder above ``path`` that others may not enter."""
    above = [*reversed(Path(path).parents), Path(path)]
    return next((str(p) for p in above if not p.stat().st_mode & 0o001), None)


def open_the_way(paths: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x20000) != 0:  # CLONE_NEWNS
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    needed = [p for p in paths if closed_folder(p)]
    kept = {path: tempfile.mkdtemp() for path in needed}
    for path, place in kept.items():
        subprocess.run(["mount", "--bind", path, place], check=True)
    for folder in {closed_folder(p) for p in needed} - {None}:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "cover", str(folder)], check=True)
    for path, place in kept.items():
        os.makedirs(path, exist_ok=True)
        subprocess.run(["mount", "--move", place, path], check=True)
        os.rmdir(place)


def main() -> None:
    uid = int(sys.argv[1])
    open_the_way(sorted({os.path.realpath(p) for p in (sys.base_prefix, sys.prefix, str(Path(__file__).parents[2]))}))
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.environ.update(HOME="/tmp", PYTHONDONTWRITEBYTECODE="1")
    os.execv(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
