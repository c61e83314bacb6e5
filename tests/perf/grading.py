"""How fast functions are graded: HumanEval's 164 reference solutions, beside plain subprocesses without any protection.

    python -m tests.perf.grading [--workers 2]

The plain run starts ``python -I`` on the solution followed by the row's own tests, as the original harness does in
spirit; expected values and graded code share that process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import benchmarks
from benchmarks.base import Task
from benchmarks.data import Row
from benchmarks.humaneval import HumanEval


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; the status is 1 if a reference solution did not resolve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2, help="gradings at once (default: %(default)s)")
    workers = parser.parse_args(argv).workers
    bench = benchmarks.load("humaneval", workers=workers)
    assert isinstance(bench, HumanEval)
    tasks, rows = bench.all_tasks("test"), list(bench.rows("test"))

    def graded(task: Task) -> bool:
        return bench.grade(task, task.meta["fixed"]).resolved

    try:
        graded_s, resolved = _timed(graded, tasks, workers)
    finally:
        bench.close()
    plain_s, passed = _timed(_plain, rows, workers)
    print(f"{len(tasks)} reference solutions of HumanEval, {workers} at once, {os.cpu_count()} cores")
    print(f"codegym            {graded_s:6.1f} s   {resolved} resolve")
    print(f"plain subprocess   {plain_s:6.1f} s   {passed} pass")
    return resolved < len(tasks)


def _plain(row: Row) -> bool:
    program = f"{row['prompt']}{row['canonical_solution']}\n{row['test']}\ncheck({row['entry_point']})\n"
    return subprocess.run([sys.executable, "-I", "-c", program], timeout=30, capture_output=True).returncode == 0


def _timed(work: Callable[[Any], bool], items: Sequence[Any], workers: int) -> tuple[float, int]:
    """Wall seconds, and how many succeeded."""
    started = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        good = sum(pool.map(work, items))
    return time.monotonic() - started, good


if __name__ == "__main__":
    sys.exit(main())
