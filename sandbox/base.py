"""What every sandbox backend promises: the contract, its limits and its results.

Use it through :func:`sandbox.open_sandbox`::

    with open_sandbox(limits=Limits(memory_bytes=256 << 20)) as box:
        box.write({"a.py": b"print(6 * 7)"})
        assert box.run(["python3", "a.py"]).stdout == b"42\\n"
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Budgets of one sandbox. Sizes are bytes, times are seconds.

    Attributes:
        wall_s: wall time of one command, unless ``run(timeout=...)`` says otherwise.
        cpu_s: CPU time of one process of a command.
        memory_bytes: memory of the whole process tree, tmpfs contents included.
        pids: processes and threads alive at once.
        disk_bytes: bytes that may be written (workspace, /tmp and /dev/shm together).
        files: inodes that may be created.
        output_bytes: bytes kept of stdout and of stderr, each.
    """

    wall_s: float = 10.0
    cpu_s: float = 10.0
    memory_bytes: int = 512 << 20
    pids: int = 64
    disk_bytes: int = 64 << 20
    files: int = 20_000
    output_bytes: int = 1 << 20

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value <= 0:
                raise ValueError(f"Limits.{name} must be positive, not {value}")


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


class Sandbox(abc.ABC):
    """A place for untrusted code. Paths are relative to the workspace, the directory commands start in."""

    limits: Limits

    @abc.abstractmethod
    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float | None = None,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        """Run one command to its end. When its main process ends, whatever else it started is killed."""

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

    @abc.abstractmethod
    def close(self) -> None:
        """Kill everything inside and free it. May be called twice."""

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
