"""CPU time as the bound of a command: a busy machine gives less of it a second, and no other verdict.

::

    ran = run_bounded(box, ["python3", "main.py"], 4.0, stdin=b"1 2")   # timed_out after 4 s of CPU, or 12 s of waiting
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sandbox import ExecResult, Sandbox

PATIENCE = 3.0  # wall time of a command that only waits, in multiples of its CPU seconds
_BOUND = 'ulimit -S -t "$0" 2>/dev/null; exec "$@"'  # where the sandbox allows less, less it is


def run_bounded(
    box: Sandbox, argv: Sequence[str], seconds: float, *, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> ExecResult:
    """Run a command in a sandbox; ``timed_out`` says that it used its CPU seconds, or waited too long."""
    command = ["sh", "-c", _BOUND, str(math.ceil(seconds)), *argv]
    ran = box.run(command, stdin=stdin, timeout=PATIENCE * seconds, env=env)
    # whole seconds are all that the limit knows, and a runtime (Go's) may take its signal for itself and exit
    return replace(ran, timed_out=ran.timed_out or ran.cpu_s >= seconds)
