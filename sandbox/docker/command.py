"""One running command of PID 1 in a container: its process, its two pipes, its deadline. See ``inside.py``."""

from __future__ import annotations

import _signal as signal
import os
import time

from sandbox.docker.frames import DONE, ERR, FAIL, HEADER, OUT, RESULT
from sandbox.namespaces import init
from sandbox.processes import below, end, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

_OOM_COUNTS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")  # version 2, version 1
_DRAIN = 64  # reads after the end: a pipe holds 64 KiB, or 1 MiB if enlarged


def send(request: int, kind: int, body: bytes = b"") -> None:
    """Write one frame to the host."""
    rest = memoryview(HEADER.pack(request, kind, len(body)) + body)
    while rest:
        rest = rest[os.write(1, rest) :]


def oom_kills() -> int:
    """How many processes of this container the kernel has killed for memory so far."""
    for path in _OOM_COUNTS:
        try:
            with open(path) as file:
                words = file.read().split()
        except OSError:
            continue
        if "oom_kill" in words:
            return int(words[words.index("oom_kill") + 1])
    return 0


class Command:
    """Started by its construction.

    Args:
        request: the call it answers.
        work: a descriptor of the workspace.
        stdin: a descriptor of what it reads.
        timeout: seconds until it is killed.
        cap: bytes kept of each stream.
        shells: the processes that keep shells: these, and what is below them, do not end with it.
    """

    def __init__(
        self,
        config: dict[str, Any],
        request: int,
        work: int,
        stdin: int,
        what: tuple[list[str], str, dict[str, str]],
        timeout: float,
        cap: int,
        shells: set[int],
    ) -> None:
        self.request, self._shells = request, shells
        self.expired = False
        (out, out_write), (err, err_write), (self._failure, failure_write) = os.pipe(), os.pipe(), os.pipe()
        for fd in (out, err):
            os.set_blocking(fd, False)
        self._oom_before = oom_kills()
        try:
            self._main = os.fork()
            if self._main == 0:
                become(config, work, [stdin, out_write, err_write], failure_write, what)
        except OSError:
            for fd in (out, err, self._failure):
                os.close(fd)
            raise
        finally:
            for fd in (out_write, err_write, failure_write):
                os.close(fd)
        self._kinds = {out: OUT, err: ERR}
        self._room = {out: cap, err: cap}
        self._truncated = False
        self._status: int | None = None
        self._cpu = 0.0
        self.readable = {out, err}
        self._deadline = time.monotonic() + timeout

    @property
    def wait_ms(self) -> float | None:
        """How long nothing needs to be done."""
        return None if self.expired else max(0.0, self._deadline - time.monotonic()) * 1000

    def take(self, fd: int) -> bool:
        """Read once and pass on what fits. False when the pipe has ended or is empty."""
        try:
            chunk = os.read(fd, 1 << 16)
        except BlockingIOError:
            return False
        kept = chunk[: self._room[fd]]
        self._room[fd] -= len(kept)
        self._truncated |= len(chunk) > len(kept)
        if kept:
            send(self.request, self._kinds[fd], kept)
        if not chunk:
            self.readable.discard(fd)
        return bool(chunk)

    def expire(self) -> None:
        """Kill everything if its time is over."""
        if not self.expired and time.monotonic() >= self._deadline:
            self.expired = True
            self._end_all()

    def _end_all(self) -> bool:
        """Kill all but the shells. False: in the end them too, as it had no end."""
        if self._shells and end(self._others):
            return True
        init._kill_all()
        return False

    def _others(self) -> set[int]:
        processes = table()
        return set(processes) - {1} - self._shells - below(self._shells, processes)

    def ended(self) -> bool:
        """Whether the main process has ended; then all else is killed too, and the host is told."""
        self._status, self._cpu, left = init._reap(self._main, self._status, self._cpu, os.WNOHANG)
        if self._status is None:
            return False
        if left:
            flags = os.WNOHANG if self._end_all() else 0
            _, self._cpu, _ = init._reap(0, None, self._cpu, flags)
        for fd in self._kinds:
            budget = _DRAIN
            while budget and self.take(fd):
                budget -= 1
            os.close(fd)
        failed = os.read(self._failure, 4096)
        os.close(self._failure)
        if failed:
            send(self.request, FAIL, b"M" + failed)
        else:
            oom = oom_kills() > self._oom_before
            result = RESULT.pack(self._status or 0, self._cpu, self.expired, oom, self._truncated)
            send(self.request, DONE, result)
        return True


def become(
    config: dict[str, Any],
    work: int,
    fds: Sequence[int],
    failure: int,
    what: tuple[list[str], str, dict[str, str]],
    owned: Sequence[int] = (),
) -> NoReturn:
    """In a child: give up all rights and become a program, with these descriptors as its 0, 1, ...

    Args:
        work: a descriptor of the folder to start in.
        failure: where it is said what kept the program from starting.
        what: its arguments, folder and variables.
        owned: descriptors that it may open again by their paths.
    """
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        init._libc.setfsuid(0)
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # the kernel takes commands for memory, not PID 1
        for fd in owned:
            os.fchown(fd, config["uid"], config["gid"])
        os.fchdir(work)
        failure = init._place([*fds, failure])
        os.set_inheritable(failure, False)
        init._drop(config, failure + 1)
        init._command(*what)
    except BaseException as error:
        os.write(failure, f"{type(error).__name__}: {error}".encode(errors="replace")[:4000])
    os._exit(125)
