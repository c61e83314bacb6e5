"""What ``Limits`` are to the kernel: a control group where there can be one, and limits of each process."""

from __future__ import annotations

import resource
from math import ceil
from typing import Any

from sandbox.base import Limits, SandboxUnavailable
from sandbox.namespaces.cgroup import REMEDY, Cgroup


def group(limits: Limits) -> Cgroup | None:
    """A control group with these limits; None where there can be none, which the probe tells.

    Raises SandboxUnavailable for a limit that needs one.
    """
    try:
        return Cgroup.create(limits)
    except OSError as error:
        if limits.cpus is not None:
            raise SandboxUnavailable(f"Limits.cpus={limits.cpus} needs a control group ({error}): {REMEDY}") from error
        return None


def config(limits: Limits, group: Cgroup | None) -> dict[str, Any]:
    """What the processes inside need to know of them."""
    return {
        "disk_bytes": limits.disk_bytes,
        "files": limits.files,
        "groups": len(group.joining) if group else 0,
        "own_users": group is None,  # the kernel counts processes per user: commands in user namespaces of their own
        "rlimits": _rlimits(limits, group is not None),
    }


def _rlimits(limits: Limits, grouped: bool) -> list[tuple[int, int, int]]:
    """Rows of (which, soft, hard) for every command; without a control group more of them."""
    seconds = ceil(limits.cpu_s)
    rows = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_FSIZE, limits.disk_bytes, limits.disk_bytes),
        (resource.RLIMIT_NOFILE, 1024, 1024),
    ]
    if not grouped:  # per process, and per command: each has a user namespace of its own
        rows.append((resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes))
        rows.append((resource.RLIMIT_NPROC, limits.pids, limits.pids))
    return rows
