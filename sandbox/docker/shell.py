"""The host's side of a persistent shell in a container; ``inside_shell.py`` is the other."""

from __future__ import annotations

import marshal
import os
import time
from collections.abc import Callable, Iterator, Mapping

from sandbox.base import ExecResult, Limits, seconds
from sandbox.collect import cpu_exhausted
from sandbox.docker.container import SHELL_MODULES, sources
from sandbox.docker.frames import DONE, ERR, OUT
from sandbox.session import GuardedShell

Call = Callable[..., Iterator[tuple[int, bytes]]]


class DockerShell(GuardedShell):
    """See :class:`sandbox.Shell`. ``call`` is that of the sandbox, ``grace`` seconds past a time-out it may take."""

    def __init__(self, call: Call, limits: Limits, env: Mapping[str, str], grace: float) -> None:
        super().__init__()
        self._call, self._limits, self._grace = call, limits, grace
        self.cwd, self.restarts = ".", 0
        ((_, number),) = call("shell", sources(SHELL_MODULES), dict(env))
        self._number = int.from_bytes(number, "little")

    def run(self, command: str, *, timeout: float | None = None) -> ExecResult:
        wall = seconds(timeout, self._limits)
        text = command.encode(errors="surrogateescape")
        with self._alone(command):
            started = time.monotonic()
            kept: dict[int, list[bytes]] = {OUT: [], ERR: [], DONE: []}
            for kind, body in self._call("shell_run", self._number, text, wall, patience=wall + self._grace):
                kept[kind].append(body)
        code, expired, oom, truncated, cpu, self.cwd, self.restarts = marshal.loads(b"".join(kept[DONE]))
        return ExecResult(
            exit_code=code,
            stdout=b"".join(kept[OUT]),
            stderr=b"".join(kept[ERR]),
            timed_out=expired or cpu_exhausted(code),
            oom=oom,
            truncated=truncated,
            wall_s=time.monotonic() - started,
            cpu_s=cpu,
        )

    def close(self) -> None:
        if self.closed or os.getpid() != self._pid:
            return
        self._ask("shell_kill")  # a command that runs in another thread ends by it
        with self._lock:
            if not self.closed:
                self.closed = True
                self._ask("shell_close")

    def _ask(self, name: str) -> None:
        for _ in self._call(name, self._number):
            pass
