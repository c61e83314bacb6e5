"""An agent that knows the answer: it proves that a benchmark's tasks can be solved through the environment.

It reads the reference solution, ``task.meta["fixed"]``, which no honest agent sees; whoever uses it must hand it
the benchmark, e.g. ``env.unwrapped.benchmark``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.base import Benchmark, Task
from codegym import actions


class GoldAgent:
    """Writes the fixed files in its first reply and submits in the next. Keeps no state."""

    def __init__(self, benchmark: Benchmark, *, action_format: str = "xml") -> None:
        self._benchmark = benchmark
        self._render = actions.base.get(action_format).render

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        if info["turn"] > 0:
            return self._render(actions.base.Action("submit"))
        task = self._benchmark.task(info["task_id"])
        writes = tuple(
            actions.base.Write(path, actions.base.Text(content))
            for path, content in sorted(fixed_files(task).items())
            if task.workspace.get(path) != content
        )
        return self._render(actions.base.Action("edit", writes))


def fixed_files(task: Task) -> dict[str, bytes]:
    """The files of the reference solution. Raises ValueError for a task that comes without one."""
    fixed = task.meta.get("fixed")
    if isinstance(fixed, Mapping):
        return dict(fixed)
    raise ValueError(f"task {task.id!r} has no reference solution: its meta holds no 'fixed' files")
