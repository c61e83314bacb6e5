"""What every sandbox backend promises: the contract, its limits and its results.

Use it through :func:`sandbox.open_sandbox`::

    with open_sandbox(limits=Limits(memory_bytes=256 << 20)) as box:
        box.write({"a.py": b"print(6 * 7)"})
        assert box.run(["python3", "a.py"]).stdout == b"42\\n"
"""

from __future__ import annotations

import abc
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

_LONGEST_S = 1_000_000  # eleven days; what waits is told in milliseconds, of 31 bits
# The least and the most of each limit. 16 MiB: without a control group it counts what the process of a command has
# mapped before that starts. 16 files: the sandbox's own folders are among them. 2^22 pids, 0.01 cpus: the kernel's.
_BOUNDS: dict[str, tuple[float, float]] = {
    "wall_s": (0.001, _LONGEST_S),
    "cpu_s": (0.001, _LONGEST_S),
    "memory_bytes": (16 << 20, 1 << 62),
    "pids": (1, 1 << 22),
    "disk_bytes": (4096, 1 << 62),
    "files": (16, 1 << 32),
    "output_bytes": (1, 1 << 62),
    "cpus": (0.01, 10_000),
}


@dataclass(frozen=True)
class Limits:
    """Budgets of one sandbox. Sizes are bytes, times are seconds. Raises ValueError for one that makes no sense.

    Attributes:
        wall_s: wall time of one command, unless ``run(timeout=...)`` says otherwise.
        cpu_s: CPU time of one process of a command.
        memory_bytes: memory of the whole process tree, tmpfs contents included.
        pids: processes and threads alive at once.
        disk_bytes: bytes that may be written (workspace, /tmp and /dev/shm together).
        files: inodes that may be created.
        output_bytes: bytes kept of stdout and of stderr, each.
        cpus: processors' worth of time that all processes together get, such as 0.5; None for all there are.
    """

    wall_s: float = 10.0
    cpu_s: float = 10.0
    memory_bytes: int = 512 << 20
    pids: int = 64
    disk_bytes: int = 64 << 20
    files: int = 20_000
    output_bytes: int = 1 << 20
    cpus: float | None = None

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if name == "cpus" and value is None:
                continue
            whole = isinstance(least, int)
            if type(value) is not int and (whole or type(value) is not float):
                raise ValueError(f"Limits.{name} must be a {'whole ' * whole}number, not {value!r}")
            if value <= 0:
                raise ValueError(f"Limits.{name} must be positive, not {value!r}")
            if not least <= value <= most:
                raise ValueError(f"Limits.{name} must be from {least} to {most}, not {value!r}")


@dataclass(frozen=True)
class ExecResult:
    """How one command ended.

    ``exit_code`` is the status of the main process, or ``-signal`` if a signal ended it.
    ``truncated`` is true if and only if stdout or stderr held more than ``Limits.output_bytes``.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    oom: bool
    truncated: bool
    wall_s: float
    cpu_s: float


class SandboxUnavailable(RuntimeError):  # noqa: N818 - the name is part of the published interface
    """No backend on this machine gives the guarantees asked for; the message names them and the remedy."""


class SandboxError(RuntimeError):
    """The sandbox itself failed (not the code in it). Callers report it as an infra error, never as a result."""


class WorkspaceError(ValueError):
    """A path outside the workspace, or a workspace over its budget: the caller's or the code's doing."""


def command(
    argv: Sequence[str], cwd: str | os.PathLike[str], env: Mapping[str, str] | None
) -> tuple[list[str], str, dict[str, str]]:
    """What a run is asked for, as plain strings. Raises ValueError where it is no command, TypeError for no folder."""
    if not argv or isinstance(argv, (str, bytes)):
        raise ValueError("argv must be a non-empty list of strings, e.g. ['sh', '-c', 'make']")
    given = dict(env or {})
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise ValueError(f"env must map strings to strings, and {name!r} is {value!r}")
    return [_text(argument) for argument in argv], os.fspath(cwd), given


def seconds(timeout: float | None, limits: Limits) -> float:
    """The wall time that a command gets. Raises ValueError where ``timeout`` is no number of seconds."""
    if timeout is None:
        return float(limits.wall_s)
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 <= timeout <= _LONGEST_S:
        raise ValueError(f"timeout={timeout!r} must be a number of seconds from 0 to {_LONGEST_S}, or None for wall_s")
    return float(timeout)


def _text(given: object) -> str:
    return os.fsdecode(given) if isinstance(given, (bytes, os.PathLike)) else str(given)


class Snapshot(abc.ABC):
    """The files of a workspace at one moment: folders, regular files and symlinks with their modes and times.

    It outlives the sandbox it was taken in, and can be restored, often, in any sandbox of the same backend that this
    process opened. Hard links become separate files; FIFOs, sockets and devices may be left out.
    """

    @abc.abstractmethod
    def close(self) -> None:
        """Free it. May be called twice; an unused snapshot frees itself."""

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Shell(abc.ABC):
    """A bash that stays: folder, variables, functions and background jobs carry over from one command to the next.

    A time-out kills what the command started and nothing else. When the shell itself ends (``exit``, ``exec``, a
    time-out, a kill) the next command gets a new one, with the folder, variables, functions and options that the last
    finished command left. Opened by :meth:`Sandbox.shell`; ``Sandbox.restore`` and ``Sandbox.close`` end it.

    Attributes:
        cwd: the folder after the last finished command, as the shell names it.
        restarts: how often the shell was replaced.
    """

    cwd: str
    restarts: int

    @abc.abstractmethod
    def run(self, command: str, *, timeout: float | None = None) -> ExecResult:
        """Run shell text to its end. What it leaves in the background runs on; its output comes with later results.

        The text is one argument of ``eval``, so a syntax error is a result and spoils nothing. If the shell itself
        ended, ``exit_code`` is how. Raises ValueError for text with NUL, and for a time-out as ``Sandbox.run`` does.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """Kill it and all it started. May be called twice."""

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Sandbox(abc.ABC):
    """A place for untrusted code. Paths are relative to the workspace, the directory commands start in."""

    limits: Limits
    backend: str  # the name that open_sandbox takes for it: what "auto" chose
    limits_tree = True  # whether the memory and the CPU share of all its processes together can be limited
    spare: Callable[[], Sandbox] | None = None  # opens an empty sandbox of the same kind for a fork; a pool's own

    @abc.abstractmethod
    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float | None = None,
        cwd: str | os.PathLike[str] = ".",
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        """Run one command to its end. When its main process ends, whatever else it started is killed.

        Raises ValueError where ``argv`` is no list of arguments, ``env`` holds what is no string, or ``timeout`` is no
        number of seconds from 0 to 1,000,000 (None: ``Limits.wall_s``).
        """

    @abc.abstractmethod
    def write(self, files: Mapping[str, bytes]) -> None:
        """Create or overwrite files, parents included. A file wins over a folder or symlink at its path or across it.

        Raises WorkspaceError for a path outside the workspace, or when the workspace is full.
        """

    @abc.abstractmethod
    def read(self, path: str) -> bytes:
        """The bytes of one regular file. Raises FileNotFoundError; never follows a symlink.

        Raises WorkspaceError for a path outside the workspace, or a file over ``Limits.disk_bytes``.
        """

    @abc.abstractmethod
    def export(self) -> dict[str, bytes]:
        """Every regular file of the workspace, names with ``surrogateescape``. Symlinks are not followed.

        Raises WorkspaceError over ``Limits.disk_bytes`` (apparent sizes, so sparse files count) or ``Limits.files``.
        """

    def snapshot(self) -> Snapshot:
        """Keep the files of the workspace as they are now. Raises WorkspaceError when there is no room for it."""
        raise SandboxError(f"{type(self).__name__} has no snapshots: use backend='namespaces'")

    def restore(self, snapshot: Snapshot) -> None:
        """Make the workspace what it was at a snapshot; /tmp and /dev/shm stay.

        Ends open shells, and first: what runs in them would write on, into the files that are put in place.

        Raises ValueError for a snapshot of another backend or process, or one that was closed, and SandboxError or
        WorkspaceError when it fails; the workspace is as before then, but shells have ended.
        """
        raise SandboxError(f"{type(self).__name__} has no snapshots: use backend='namespaces'")

    def fork(self) -> Sandbox:
        """Another sandbox with the same limits, whose workspace starts as this one's is now."""
        raise SandboxError(f"{type(self).__name__} has no snapshots: use backend='namespaces'")

    def shell(self) -> Shell:
        """A persistent shell in the workspace. Commands of :meth:`run` do not disturb it."""
        raise SandboxError(f"{type(self).__name__} has no persistent shell: use backend='namespaces'")

    @abc.abstractmethod
    def close(self) -> None:
        """Kill everything inside and free it. May be called twice."""

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
