"""Where a persistent shell runs without a process namespace of its own: as a child of this process.

What belongs to it is found in /proc: the descendants of a process that adopts orphans (in a container), or the
sessions of the shells (without isolation, where ``setsid`` gets away).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Sequence

from sandbox import shell
from sandbox.base import Limits, SandboxError
from sandbox.collect import Stream, pipe
from sandbox.processes import end, table
from sandbox.session import Ground

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PIDFD_OPEN = 434  # on every architecture; os.pidfd_open is not in Python 3.8, which images may have


class ProcessGround(Ground):
    """Shells that ``spawn`` starts as children of this process.

    Args:
        spawn: starts bash with these descriptors as its 0, 1, ...; its process id.
        ours: of a table of processes, those that belong to any of the shells.
        oom_kills: how many processes the kernel has killed for memory so far.
    """

    def __init__(
        self,
        limits: Limits,
        spawn: Callable[[Sequence[int]], int],
        ours: Callable[[dict[int, tuple[int, int]], set[int]], set[int]],
        oom_kills: Callable[[], int] = lambda: 0,
    ) -> None:
        self.limits = limits
        self._spawn, self._ours, self._oom_kills = spawn, ours, oom_kills
        self._oom_seen = oom_kills()
        self._shells: set[int] = set()
        self._now, self._pidfd = 0, -1  # the shell that lives
        self._known: set[int] = set()
        self._ended: tuple[int, float] | None = None  # how the shell ended, where it was reaped already

    def output(self, cap: int) -> tuple[Stream, int]:
        read, write = pipe()
        return Stream(read, cap), write

    def start(self, fds: Sequence[int]) -> None:
        self._now = self._spawn(fds)
        self._shells.add(self._now)
        self._pidfd = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(_PIDFD_OPEN), self._now, 0)
        if self._pidfd < 0:
            raise SandboxError(f"a persistent shell needs pidfd_open: {os.strerror(ctypes.get_errno())}")

    def _living(self) -> set[int]:
        processes = table()
        # The number of an ended shell is free when its session is empty: whoever has it then is someone else.
        self._shells = {pid for pid in self._shells if pid == self._now or pid not in processes}
        return self._ours(processes, self._shells)

    def mark(self) -> bool:
        self._known = self._living() - {self._now}
        if not self._now:
            return False
        if self._ended is None and os.waitid(os.P_PID, self._now, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            return True
        self.answer()
        return False

    def adopt(self) -> None:
        """Reap what has ended, in a process that orphans come to."""
        with contextlib.suppress(ChildProcessError):
            while (found := os.wait4(-1, os.WNOHANG))[0]:
                if found[0] == self._now:
                    self._ended = _ended(found)

    def kill(self) -> None:
        end(lambda: self._living() - self._known)

    def fileno(self) -> int:
        return self._pidfd

    def answer(self) -> tuple[int, float]:
        result = self._ended or _ended(os.wait4(self._now, 0))
        os.close(self._pidfd)
        self._now, self._pidfd, self._ended = 0, -1, None
        return result

    def oom_since_last(self) -> bool:
        before, self._oom_seen = self._oom_seen, self._oom_kills()
        return self._oom_seen > before

    def close(self) -> None:
        end(self._living)
        if self._now:
            self.answer()


def _ended(waited: tuple[int, int, Any]) -> tuple[int, float]:
    _, status, usage = waited
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    return code, usage.ru_utime + usage.ru_stime


def descriptors(fds: Sequence[int]) -> list[str]:
    """A command line of bash that becomes the shell, where descriptors keep their numbers across its start."""
    given, aside = fds[3:], max(fds) + 1  # first aside: a target may be the number of another one
    moves = [f"{aside + i}<&{fd}" for i, fd in enumerate(given)]
    moves += [f"{fd}<&-" for fd in given]
    moves += [f"{shell.SCRIPT + i}<&{aside + i}-" for i in range(len(given))]
    return ["bash", "--norc", "--noprofile", "-c", f"exec {' '.join(shell.argv())} {' '.join(moves)}"]
