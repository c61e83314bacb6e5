"""Processes told apart and ended where there is no process namespace to do it: by /proc.

Also runs inside containers, on Python 3.8 and newer.
"""

from __future__ import annotations

import contextlib
import os
import signal

from sandbox.base import SandboxError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_ROUNDS = 50  # of killing what is new; each sees what the one before missed


def table() -> dict[int, tuple[int, int]]:
    """Of every process that is no zombie: its parent and its session. Raises SandboxError where there is no /proc."""
    found = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        raise SandboxError("a persistent shell needs /proc, which is Linux's: use run") from None
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, parent, _, session = file.read().rpartition(b") ")[2].split()[:4]
        except OSError:
            continue  # it ended
        if state not in (b"Z", b"X"):
            found[int(name)] = int(parent), int(session)
    return found


def below(tops: set[int], processes: dict[int, tuple[int, int]]) -> set[int]:
    """All descendants of some processes."""
    found = set(tops)
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in processes.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found - tops


def end(listed: Callable[[], set[int]]) -> bool:
    """Kill processes until none is listed any more; False if they are made faster than they die."""
    for _ in range(_ROUNDS):
        pids = listed()
        if not pids:
            return True
        for number in (signal.SIGSTOP, signal.SIGKILL):  # none is to go on because another died first
            for pid in sorted(pids):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
    return False
