"""The host's side of a running command: its output with exact caps, its time-out, its end.

``collect`` reads several pipes at once and never keeps more than each one's cap, so a flood costs time but no memory.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sandbox.base import SandboxError

_GRACE_S = 10.0  # from the kill to its confirmation; a healthy machine needs milliseconds


@dataclass
class Stream:
    """One pipe being read: at most ``cap`` bytes are kept, ``truncated`` says whether there were more."""

    fd: int
    cap: int
    truncated: bool = False
    _kept: bytearray = field(default_factory=bytearray)

    @property
    def data(self) -> bytes:
        return bytes(self._kept)

    def take(self) -> bool:
        """Read once. False when the pipe has ended or is empty (the descriptor must not block)."""
        try:
            chunk = os.read(self.fd, 1 << 16)
        except BlockingIOError:
            return False
        room = self.cap - len(self._kept)
        self._kept += chunk[:room]
        self.truncated |= len(chunk) > room
        return bool(chunk)


def pipe() -> tuple[int, int]:
    """A pipe whose reading end does not block."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    return read, write


def anonymous(data: bytes) -> int:
    """A descriptor of a nameless file with this content, positioned at its start."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("data")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def collect(streams: Sequence[Stream], done: int, timeout: float, expire: Callable[[], None]) -> bool:
    """Read the streams until ``done`` is readable; whether the time-out came first.

    At the time-out ``expire`` is called once; it must make ``done`` readable soon. When ``done`` is, every writer is
    dead (or given up), so what the pipes still hold is all there will be.

    Raises:
        SandboxError: ``expire`` had no effect.
    """
    deadline = time.monotonic() + timeout
    expired = False
    poll = select.poll()
    poll.register(done, select.POLLIN)
    by_fd = {stream.fd: stream for stream in streams}
    for fd in by_fd:
        poll.register(fd, select.POLLIN)
    while True:
        wait = deadline - time.monotonic()
        ready = poll.poll(max(0.0, wait) * 1000) if wait > 0 else []
        if any(fd == done for fd, _ in ready):
            break
        for fd, _ in ready:
            if not by_fd[fd].take():
                poll.unregister(fd)
        if time.monotonic() < deadline:
            continue
        if expired:
            raise SandboxError(f"a command was still alive {_GRACE_S:g} s after it was killed")
        expired = True
        deadline = time.monotonic() + _GRACE_S
        expire()
    for stream in streams:
        budget = 64  # pipes hold 64 KiB (or up to 1 MiB if enlarged): bounded even if a writer escaped the kill
        while budget and stream.take():
            budget -= 1
    return expired


def readable(fd: int, timeout: float) -> bool:
    """Whether a descriptor is readable within so many seconds. Not by ``select``, which knows none above 1023."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(timeout * 1000))


def exit_code(wait_status: int) -> int:
    """The status of a process, or ``-signal``."""
    return os.waitstatus_to_exitcode(wait_status)


def cpu_exhausted(code: int) -> bool:
    """Whether the kernel ended a process for its CPU budget (Limits.cpu_s)."""
    return code == -signal.SIGXCPU
