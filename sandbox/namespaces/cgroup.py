"""Limits on the memory, the number of processes and the CPU share of a whole tree, by control groups, version 1 or 2.

``Cgroup.create(limits)`` makes a group under this process's own, or raises OSError with what is missing. Version 2
gives controllers to the groups below one only while no process is in that one itself. So there all processes of this
group move into one below; but root does that only where it was delegated, and else uses the top: that has no such rule.

PID 1 of the sandbox gets open files by which processes join, and each command joins before it starts.
Groups carry the process id of their maker in their name, so those of a killed maker are swept by the next one.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path

from sandbox.base import Limits

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000  # over which a share of the CPU is counted: the kernel's default
_LEAF = "codegym"  # where the processes of a delegated group go
_ROUNDS = 10  # of moving them: one may fork meanwhile, or takes some milliseconds to die
REMEDY = "run as root, or in a delegated group of version 2 (systemd-run --user --scope -p Delegate=yes ...)"
_NUMBERS = itertools.count()
_swept: set[Path] = set()


def _own_groups() -> dict[str, str]:
    """Controller list (empty for version 2) -> path of this process's group."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return {}
    return {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}


def _grant(parent: Path, names: Sequence[str]) -> None:
    """Of version 2: groups below get these controllers. Raises OSError, EBUSY where a process is in ``parent``."""
    granted = parent / "cgroup.subtree_control"
    if not set(names) <= set(granted.read_text().split()):
        granted.write_text(" ".join(f"+{name}" for name in names))


def _is_unified() -> bool:
    return (_ROOT / "cgroup.controllers").exists()


def _unified() -> Path:
    """Of version 2: this process's own group, or the one above where it was moved out of the way."""
    own = _ROOT / _own_groups().get("", "/").lstrip("/")
    return own.parent if own.name == _LEAF else own


def _parent(names: Sequence[str]) -> Path:
    """Of version 2: the folder to make a group in. Raises OSError."""
    parent = _unified()
    try:
        _grant(parent, names)
        return parent
    except OSError as error:
        if os.geteuid() == 0 and parent != _ROOT and not _delegated(parent):
            _grant(_ROOT, names)
            return _ROOT
        if error.errno != errno.EBUSY:
            raise
    leaf = parent / _LEAF
    leaf.mkdir(exist_ok=True)
    for left in reversed(range(_ROUNDS)):
        for pid in (parent / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):  # it has ended
                (leaf / "cgroup.procs").write_text(pid)
        try:
            _grant(parent, names)
            break
        except OSError as error:
            if error.errno != errno.EBUSY or not left:
                raise
            time.sleep(0.01)
    return parent


def _delegated(group: Path) -> bool:
    """Whether systemd says so. Root may write everywhere, but elsewhere systemd may take the controllers back."""
    try:
        return os.getxattr(group, "trusted.delegate") == b"1"
    except OSError:
        return False


def _parents(names: Sequence[str] = ("memory", "pids")) -> tuple[int, dict[str, Path]]:
    """(version, controller -> folder to make a group in). Raises OSError naming what is missing."""
    if _is_unified():
        return 2, dict.fromkeys(names, _parent(names))
    own, parents = _own_groups(), dict[str, Path]()
    for name in names:
        path = next((p for controllers, p in own.items() if name in controllers.split(",")), "/")
        mounted = _ROOT / name
        parents[name] = next((p for p in (mounted / path.lstrip("/"), mounted) if p.is_dir()), mounted)
        if not (parents[name] / "cgroup.procs").exists():
            raise OSError(f"no {name} control group at {mounted}")
    return 1, parents


def _sweep(parent: Path) -> list[str]:
    """Remove the groups of makers that are no more; their paths."""
    removed = []
    for folder in sorted(parent.glob("codegym-*")):
        if not Path(f"/proc/{folder.name.split('-')[1]}").exists():
            with contextlib.suppress(OSError):  # its last process is still dying; the next one sweeps it
                folder.rmdir()
                removed.append(str(folder))
    return removed


def prune() -> list[str]:
    """Remove the groups that killed processes left where this one would make its own; their paths."""
    if _is_unified():
        found = {_ROOT, _unified()}
    else:
        found = set[Path]()
        for name in ("memory", "pids", "cpu"):
            with contextlib.suppress(OSError):  # none of this kind
                found |= set(_parents([name])[1].values())
    return [path for parent in sorted(found) for path in _sweep(parent)]


class Cgroup:
    """One group with its limits set. ``joining`` are open files: a process with one thread that writes ``0`` joins."""

    def __init__(self, version: int, folders: dict[str, Path]) -> None:
        self.version = version
        self.folders = folders
        self.joining: list[int] = []
        self._events = -1  # how many were killed for memory: read after every command

    @classmethod
    def create(cls, limits: Limits) -> Cgroup:
        """Raises OSError where groups cannot be made."""
        version, parents = _parents(("memory", "pids", *(["cpu"] if limits.cpus else [])))
        name = f"codegym-{os.getpid()}-{next(_NUMBERS)}"
        group = cls(version, {controller: parent / name for controller, parent in parents.items()})
        for parent in set(parents.values()) - _swept:
            _swept.add(parent)
            _sweep(parent)
        try:
            for folder in set(group.folders.values()):
                folder.mkdir()
            memory, pids = group.folders["memory"], group.folders["pids"]
            if version == 1:
                (memory / "memory.limit_in_bytes").write_text(str(limits.memory_bytes))
                if (memory / "memory.memsw.limit_in_bytes").exists():
                    (memory / "memory.memsw.limit_in_bytes").write_text(str(limits.memory_bytes))
            else:
                (memory / "memory.max").write_text(str(limits.memory_bytes))
                if (memory / "memory.swap.max").exists():
                    (memory / "memory.swap.max").write_text("0")
            (pids / "pids.max").write_text(str(limits.pids))
            if limits.cpus:
                quota = round(limits.cpus * _PERIOD_US)
                if version == 1:
                    (group.folders["cpu"] / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
                    (group.folders["cpu"] / "cpu.cfs_quota_us").write_text(str(quota))
                else:
                    (group.folders["cpu"] / "cpu.max").write_text(f"{quota} {_PERIOD_US}")
            # A thread that moves itself takes no lock of the whole machine; a move by cgroup.procs waits 10 ms for it.
            door = "tasks" if version == 1 else "cgroup.procs"
            for folder in set(group.folders.values()):
                group.joining.append(os.open(folder / door, os.O_WRONLY | os.O_CLOEXEC))
            group._events = os.open(memory / ("memory.oom_control" if version == 1 else "memory.events"), os.O_RDONLY)
        except OSError:
            group.remove()
            raise
        return group

    def oom_kills(self) -> int:
        """How many processes of this group the kernel has killed for memory so far."""
        words = os.pread(self._events, 4096, 0).split()
        return int(words[words.index(b"oom_kill") + 1]) if b"oom_kill" in words else 0

    def remove(self) -> None:
        """Delete the group; its processes must have been killed. A group that stays busy is left to the next sweep."""
        for fd in self.joining:
            os.close(fd)
        self.joining = []
        if self._events >= 0:
            os.close(self._events)
            self._events = -1
        for folder in set(self.folders.values()):
            for _ in range(50):
                try:
                    folder.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.01)  # the kernel detaches dead processes a little after they are reaped
