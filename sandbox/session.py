"""A persistent shell, whatever it runs in: the one implementation of :class:`sandbox.Shell`.

``ShellSession`` talks to a bash by the text protocol of ``sandbox/shell.py`` over pipes, and starts another one where
the last was lost. How a shell is started in a backend, and what of it is killed by a time-out, is that backend's
``Ground``.
"""

from __future__ import annotations

import abc
import contextlib
import os
import select
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sandbox import shell
from sandbox.base import ExecResult, Limits, SandboxError, Shell, seconds
from sandbox.collect import Stream, collect, cpu_exhausted, readable


class Ground(abc.ABC):
    """Where shells run, one after another."""

    limits: Limits

    @abc.abstractmethod
    def output(self, cap: int) -> tuple[Stream, int]:
        """A stream to read, and the descriptor for its writers."""

    @abc.abstractmethod
    def start(self, fds: Sequence[int]) -> None:
        """Start bash as ``sandbox.shell.argv`` says; ``fds`` are its 0, 1, 2, script, token and report."""

    @abc.abstractmethod
    def mark(self) -> bool:
        """What lives now is to survive the next kill, but for the shell. False if the shell has ended."""

    @abc.abstractmethod
    def kill(self) -> None:
        """Kill the shell and what was started since the mark."""

    @abc.abstractmethod
    def fileno(self) -> int:
        """Readable when the shell has ended."""

    @abc.abstractmethod
    def answer(self) -> tuple[int, float]:
        """How the shell ended, which it has or is about to: its status and CPU seconds, once for each."""

    @abc.abstractmethod
    def oom_since_last(self) -> bool:
        """Whether the kernel has killed something for memory since this was asked."""

    @abc.abstractmethod
    def close(self) -> None:
        """Kill everything and free it. May be called twice."""


class GuardedShell(Shell):
    """One user at a time, of the process that opened it, while it is open."""

    def __init__(self) -> None:
        self.closed = False
        self._pid = os.getpid()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def _alone(self, command: str) -> Iterator[None]:
        if "\0" in command:
            raise ValueError("a shell command cannot hold NUL")
        if os.getpid() != self._pid:  # asked before the lock, which another thread may have held at the fork
            raise SandboxError("this shell was opened by another process: open one in each process")
        with self._lock:
            if self.closed:
                raise SandboxError("this shell is closed: open another with Sandbox.shell()")
            yield


class ShellSession(GuardedShell):
    """See :class:`sandbox.Shell`. Thread-safe; it owns its ground."""

    def __init__(self, ground: Ground) -> None:
        super().__init__()
        self.limits = ground.limits
        self.restarts = 0
        self._state = shell.State(cwd=".")
        self._ground = ground
        # Read ends for the host, write ends kept for the next shell: (out, err, token, report).
        pairs = [self._ground.output(self.limits.output_bytes) for _ in range(4)]
        self._read, self._write = [stream.fd for stream, _ in pairs], [write for _, write in pairs]
        self._null = os.open(os.devnull, os.O_RDONLY)
        self._script: list[int] = []  # the pipe to the shell, while there is one
        self._free = weakref.finalize(self, _close, [*self._read, *self._write, self._null], self._script)

    @property
    def cwd(self) -> str:  # type: ignore[override]
        return self._state.cwd

    def run(self, command: str, *, timeout: float | None = None) -> ExecResult:
        wall = seconds(timeout, self.limits)
        with self._alone(command):
            started = time.monotonic()
            text, token = shell.script(command, self._state)
            try:
                if not self._ground.mark() and self._script:
                    self._restart()  # something killed it between commands
                if not self._script:
                    self._start()
                    text = shell.reopening(self._state) + text
                return self._run(text.encode(errors="surrogateescape"), token, wall, started)
            except BaseException:  # an interrupt, too: what the command still says would be the next one's
                self._end()
                raise

    def _start(self) -> None:
        inner, script = os.pipe()
        self._script.append(script)
        os.set_blocking(script, False)
        out, err, token, report = self._write
        try:
            self._ground.start([self._null, out, err, inner, token, report])
        finally:
            os.close(inner)

    def _run(self, text: bytes, token: bytes, wall: float, started: float) -> ExecResult:
        cap = self.limits.output_bytes
        out, err, report = (
            Stream(self._read[0], cap),
            Stream(self._read[1], cap),
            Stream(self._read[3], shell.MAX_REPORT),
        )
        deadline = started + wall
        _write(self._script[0], text)
        said, expired = b"", False
        with select.epoll() as done:
            done.register(self._ground.fileno(), select.EPOLLIN)
            done.register(self._read[2], select.EPOLLIN)
            while token not in said and not expired and not self._has_ended():
                wait = max(0.0, deadline - time.monotonic())
                expired = collect([out, err, report], done.fileno(), wait, self._ground.kill)
                said = said[-len(token) :] + _available(self._read[2])
        before = self._state
        self._state = shell.parse(report.data, token, before, whole=not report.truncated) if token in said else before
        code, cpu = self._state.status, self._state.seconds - before.seconds
        if expired or token not in said:
            code, total = self._ground.answer()
            cpu = max(0.0, total - before.seconds)
            self._restart()
        return ExecResult(
            exit_code=code,
            stdout=out.data,
            stderr=err.data,
            timed_out=expired or cpu_exhausted(code),
            oom=self._ground.oom_since_last(),
            truncated=out.truncated or err.truncated,
            wall_s=time.monotonic() - started,
            cpu_s=cpu,
        )

    def _has_ended(self) -> bool:
        return readable(self._ground.fileno(), 0)

    def _restart(self) -> None:
        """The shell is gone; the next command gets a new one."""
        os.close(self._script.pop())
        self.restarts += 1
        self._state = replace(self._state, status=0, seconds=0.0)

    def close(self) -> None:
        if os.getpid() != self._pid:
            return  # a fork of the opener only has copies
        with contextlib.suppress(OSError):
            self._ground.kill()  # a command that runs in another thread ends by it
        with self._lock:
            self._end()

    def _end(self) -> None:
        self.closed = True
        self._ground.close()
        self._free()


def _close(*lists: list[int]) -> None:
    for fds in lists:
        while fds:
            os.close(fds.pop())


def _available(fd: int) -> bytes:
    try:
        return os.read(fd, 4096)
    except BlockingIOError:
        return b""


def _write(fd: int, text: bytes) -> None:
    """Write to a pipe; what does not fit at once is written while the shell reads."""
    rest = memoryview(text)[_some(fd, text) :]
    if rest:
        threading.Thread(target=_write_rest, args=(os.dup(fd), rest), daemon=True).start()


def _some(fd: int, text: bytes) -> int:
    try:
        return os.write(fd, text)
    except (BlockingIOError, BrokenPipeError):
        return 0


def _write_rest(fd: int, rest: memoryview) -> None:
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    try:
        while rest:
            poll.poll()
            rest = rest[os.write(fd, rest) :]
    except BrokenPipeError:
        pass  # the shell ended
    finally:
        os.close(fd)
