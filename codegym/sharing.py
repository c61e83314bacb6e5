"""Environments of one process that ask for the same benchmark get one object: its tasks, verdicts and processes.

A hundred environments then build a task once, and no workspace is graded twice. :class:`codegym.env.CodeEnv` leases
its benchmark here and releases it when it is closed; the last release closes the benchmark.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

import benchmarks
from benchmarks.base import Benchmark

_LOCK = threading.Lock()
_LEASED: dict[tuple[Any, ...], tuple[Benchmark, int]] = {}  # with the number of leases


def lease(name: str, options: Mapping[str, Any]) -> Benchmark:
    """The benchmark of this name and these options; see :func:`benchmarks.load`. To be given to :func:`release`."""
    # A forked process has copies of its parent's objects but not of their threads and runners.
    key = (os.getpid(), name, *((option, repr(value)) for option, value in sorted(options.items())))
    with _LOCK:
        benchmark, leases = _LEASED.get(key) or (benchmarks.load(name, **options), 0)
        _LEASED[key] = benchmark, leases + 1
        return benchmark


def release(leased: Benchmark) -> None:
    """Give one lease back."""
    with _LOCK:
        key, leases = next((key, leases) for key, (benchmark, leases) in _LEASED.items() if benchmark is leased)
        if leases > 1:
            _LEASED[key] = leased, leases - 1
            return
        del _LEASED[key]
    leased.close()
