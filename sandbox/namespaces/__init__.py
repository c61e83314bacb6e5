"""The sandbox of Linux namespaces: one workspace, many commands. docs/sandbox.md lists its promises."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence

from sandbox import files
from sandbox.base import ExecResult, Limits, Sandbox
from sandbox.collect import anonymous
from sandbox.namespaces.box import Box, environment


class NamespaceSandbox(Sandbox):
    """A long-lived sandbox. Thread-safe: commands run one after another; ``read`` and ``export`` do not wait for them.

    ``run`` adds ``env`` to a clean environment. A command that cannot be started ends as in a shell: 127 (not found) or
    126, with the reason on stderr. ``cpu_s`` of the result counts all processes of the command.

    Raises:
        SandboxUnavailable: see :class:`sandbox.namespaces.box.Box`.
    """

    backend = "namespaces"

    def __init__(self, limits: Limits, *, read_only: Sequence[str] = ()) -> None:
        self.limits = limits
        self._box = Box(limits, "run", read_only=read_only)
        self._lock = threading.Lock()
        self.cgroup_version = self._box.cgroup.version if self._box.cgroup else 0  # 0: limits by rlimits only
        self.own_uid = self._box.owner is not None  # a real uid of its own, not one in a user namespace

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float | None = None,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        if not argv or isinstance(argv, str):
            raise ValueError("argv must be a non-empty list of strings, e.g. ['sh', '-c', 'make']")
        with self._lock:
            self._box.check()
            os.fchmod(self._box.dirfd, 0o755)  # an earlier command may have closed its own workspace
            started = time.monotonic()
            out, out_write = self._box.output(self.limits.output_bytes)
            err, err_write = self._box.output(self.limits.output_bytes)
            given = [anonymous(stdin), out_write, err_write]
            try:
                try:
                    request = ("run", [str(a) for a in argv], cwd, {**environment(), **(env or {})})
                    self._box.start(request, given)
                finally:
                    for fd in given:
                        os.close(fd)
                return self._box.finish([out, err], self.limits.wall_s if timeout is None else timeout, started)
            finally:
                os.close(out.fd)
                os.close(err.fd)

    def write(self, files_: Mapping[str, bytes]) -> None:
        self._box.check()
        files.write(self._box.dirfd, files_, self._box.owner)

    def read(self, path: str) -> bytes:
        self._box.check()
        return files.read(self._box.dirfd, path, self.limits.disk_bytes)

    def export(self) -> dict[str, bytes]:
        self._box.check()
        return files.export(self._box.dirfd, self.limits.disk_bytes, self.limits.files)

    def close(self) -> None:
        self._box.close()
