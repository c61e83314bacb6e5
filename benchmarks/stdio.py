"""Programming contests: a statement, and cases of standard input and output.

``stdio`` takes any ``.jsonl`` (or .json, .parquet) of rows ``{"id", "statement", "cases": [[input, output], ...]}``,
with ``"public": [[input, output], ...]`` for cases that the agent is shown the verdict of, ``"solution"`` (a right
program), ``"time_limit"`` (seconds) and ``"date"`` (ISO) where there are any::

    bench = benchmarks.load("stdio", path="problems.jsonl")

APPS, CodeContests and LiveCodeBench are read into the same rows by :mod:`benchmarks.contests`. The workspace is
``main.py``, empty but for a starter; the hidden tests are all cases.
"""

from __future__ import annotations

import abc
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import exclusions
from benchmarks.base import Benchmark, Grade, Task, Test, Workspace, register
from benchmarks.data import Row, find, read_rows
from sandbox.base import Limits

if TYPE_CHECKING:
    from benchmarks.grading.stdio import StdioGrader

PROGRAM = "main.py"
_PROMPT = f"Write a Python program in {PROGRAM} that reads standard input and writes standard output."


class StdioBenchmark(Benchmark):
    """Rows that become tasks of :class:`benchmarks.grading.stdio.StdioGrader`.

    Args:
        path: the data, where it is not at its default place.
        tolerance: of numbers with a point; 0 compares text.
        workers: grades at once.
        limits: of one case.
    """

    splits: tuple[str, ...] = ("test",)

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        tolerance: float = 1e-6,
        workers: int = os.cpu_count() or 1,
        limits: Limits | None = None,
    ) -> None:
        self.path, self._tolerance, self._workers, self._limits = path, tolerance, workers, limits
        self._grader: StdioGrader | None = None
        self._loaded: dict[str, list[Task]] = {}
        self._lock = threading.RLock()

    @abc.abstractmethod
    def rows(self, split: str) -> Iterable[Row]:
        """The rows of a split, as the module says. Raises MissingData."""

    def tasks(self, split: str) -> Sequence[Task]:
        """The tasks of a split, without those on the exclusion list that ``codegym check`` wrote."""
        return exclusions.without(self.name, self.all_tasks(split))

    def all_tasks(self, split: str) -> Sequence[Task]:
        """The tasks of a split, all of them."""
        if split not in self.splits:
            raise ValueError(f"split={split!r} is unknown; there are: {', '.join(self.splits)}")
        with self._lock:
            if split not in self._loaded:
                self._loaded[split] = [stdio_task(self.name, row) for row in self.rows(split)]
            return self._loaded[split]

    def task(self, task_id: str) -> Task:
        """The task with this id, excluded or not."""
        for split in self.splits:
            for task in self.all_tasks(split):
                if task.id == task_id:
                    return task
        raise KeyError(f"no task {task_id!r} in {self.name}")

    def grade(self, task: Task, workspace: Workspace) -> Grade:
        """The verdict of all cases."""
        return self.judge.grade(task.hidden, workspace)

    def check(self, task: Task, workspace: Workspace) -> Grade:
        """The verdict of the public cases; of a task that has none, no verdict."""
        return self.judge.grade(task.visible, workspace) if task.visible else Grade(False, 0.0, {})

    def forget(self) -> None:
        """Drop the verdicts in memory."""
        self.judge.forget()

    @property
    def judge(self) -> StdioGrader:
        """The grader, made when it is first needed."""
        with self._lock:
            if self._grader is None:
                from benchmarks.grading.stdio import StdioGrader  # late: loading a benchmark must stay cheap

                self._grader = StdioGrader(
                    ["python3", PROGRAM], tolerance=self._tolerance, workers=self._workers, limits=self._limits
                )
            return self._grader


def stdio_task(benchmark: str, row: Mapping[str, Any]) -> Task:
    """The task of a row. Raises ValueError for one without cases: nothing could be judged."""
    from benchmarks.grading.stdio import case

    seconds = float(row.get("time_limit") or 4.0)
    public = [(given, want) for given, want in row.get("public", ())]
    every = list(dict.fromkeys([*public, *((given, want) for given, want in row["cases"])]))
    if not every:
        raise ValueError(f"row {row['id']!r} has no cases")
    solution = {"fixed": {PROGRAM: row["solution"].encode()}} if row.get("solution") else {}
    return Task(
        id=str(row["id"]),
        benchmark=benchmark,
        prompt=f"{_PROMPT}\n\n{row['statement'].strip()}",
        language="python",
        workspace={PROGRAM: (row.get("starter") or "").encode()},
        visible=tuple(
            Test(f"public {n}", case(given, want, seconds)) for n, (given, want) in enumerate(public, start=1)
        ),
        hidden=tuple(Test(f"case {n}", case(given, want, seconds)) for n, (given, want) in enumerate(every, start=1)),
        meta={**solution, **({"date": row["date"]} if row.get("date") else {})},
    )


@register("stdio")
class Stdio(StdioBenchmark):
    """The problems of one file."""

    name = "stdio"

    def rows(self, split: str) -> Iterable[Row]:
        return read_rows(find(self.name, "stdio.jsonl", self.path, get="put your own problems there"))
