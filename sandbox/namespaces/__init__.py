"""The sandbox of Linux namespaces: one workspace, many commands. docs/sandbox.md lists its promises."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence

from sandbox import files
from sandbox.base import ExecResult, Limits, Sandbox, Snapshot, command, seconds
from sandbox.collect import anonymous
from sandbox.namespaces.box import Box
from sandbox.namespaces.family import Sight
from sandbox.namespaces.layers import NamespaceSnapshot, Workspace
from sandbox.namespaces.shell import NamespaceGround
from sandbox.session import ShellSession


class NamespaceSandbox(Sandbox):
    """A long-lived sandbox. Thread-safe: commands run one after another; ``read`` and ``export`` do not wait for them.

    ``run`` adds ``env`` to a clean environment. A command that cannot be started ends as in a shell: 127 (not found) or
    126, with the reason on stderr. ``cpu_s`` of the result counts all processes of the command.

    Raises:
        SandboxUnavailable: see :class:`sandbox.namespaces.box.Box`.
    """

    backend = "namespaces"

    def __init__(self, limits: Limits, *, read_only: Sequence[str] = (), packages: Sequence[str] = ()) -> None:
        self.limits = limits
        self._sight = Sight(read_only=tuple(read_only), packages=tuple(packages))
        self._box = Box(limits, "run", self._sight)
        self._files = Workspace(self._box)
        self._shells: weakref.WeakSet[ShellSession] = weakref.WeakSet()
        self._lock = threading.RLock()
        self.cgroup_version = self._box.cgroup.version if self._box.cgroup else 0  # 0: limits by rlimits only
        self.limits_tree = self._box.cgroup is not None
        self.own_uid = self._box.owner is not None  # a real uid of its own, not one in a user namespace

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Nothing else that needs the lock. A fork of the opener is told before it waits for one that is never free."""
        self._box.check()
        with self._lock:
            self._box.check()
            yield

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float | None = None,
        cwd: str | os.PathLike[str] = ".",
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        asked, folder, variables = command(argv, cwd, env)
        wall = seconds(timeout, self.limits)
        with self._alone():
            with self._box.workspace() as root:
                os.fchmod(root, 0o755)  # an earlier command may have closed its own workspace
            started = time.monotonic()
            out, out_write = self._box.output(self.limits.output_bytes)
            err, err_write = self._box.output(self.limits.output_bytes)
            given = [anonymous(stdin), out_write, err_write]
            try:
                try:
                    self._box.command((asked, folder, {**self._sight.environment(), **variables}), given)
                finally:
                    for fd in given:
                        os.close(fd)
                return self._box.finish([out, err], wall, started)
            finally:
                os.close(out.fd)
                os.close(err.fd)

    def write(self, files_: Mapping[str, bytes]) -> None:
        with self._box.workspace() as root:
            files.write(root, files_, self._box.owner)

    def read(self, path: str) -> bytes:
        with self._box.workspace() as root:
            return files.read(root, path, self.limits.disk_bytes)

    def export(self) -> dict[str, bytes]:
        with self._box.workspace() as root:
            return files.export(root, self.limits.disk_bytes, self.limits.files)

    def snapshot(self) -> NamespaceSnapshot:
        with self._alone():
            return self._files.snapshot(copy=self._has_shell())

    def restore(self, snapshot: Snapshot) -> None:
        with self._alone():
            if not isinstance(snapshot, NamespaceSnapshot) or snapshot.closed:
                raise ValueError("restore needs an open snapshot of a sandbox of namespaces that this process opened")
            for shell in list(self._shells):
                shell.close()  # its processes are in the old workspace
            self._files.restore(snapshot)

    def fork(self) -> NamespaceSandbox:
        other = self.spare() if self.spare else self._sibling()
        assert isinstance(other, NamespaceSandbox)
        try:
            with self._alone():
                self._files.fork_into(other._files, copy=self._has_shell())
        except BaseException:
            other.close()
            raise
        return other

    def _sibling(self) -> NamespaceSandbox:
        return NamespaceSandbox(self.limits, read_only=self._sight.read_only, packages=self._sight.packages)

    def shell(self) -> ShellSession:
        with self._alone():
            shell = ShellSession(NamespaceGround(self._box, self._sight))
            self._shells.add(shell)
            return shell

    def _has_shell(self) -> bool:
        return any(not shell.closed for shell in self._shells)

    def close(self) -> None:
        for shell in list(self._shells):
            shell.close()
        self._box.close()
        self._files.clear()
