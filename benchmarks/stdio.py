"""Programming contests: a statement, and cases of standard input and output, or of a function's arguments and result.

``stdio`` takes any ``.jsonl`` (or .json, .parquet) of rows ``{"id", "statement", "cases": [[input, output], ...]}``,
with ``"public": [[input, output], ...]`` for cases that the agent is shown the verdict of, ``"solution"`` (a right
program), ``"time_limit"`` (seconds) and ``"date"`` (ISO) where there are any. With ``"function": name`` a case is
``[[argument, ...], result]``: the function, or the method of ``class Solution``, is called instead::

    bench = benchmarks.load("stdio", path="problems.jsonl")

APPS, CodeContests and LiveCodeBench are read into the same rows by :mod:`benchmarks.contests`. The workspace is
``main.py``, empty but for a starter; the hidden tests are all cases. Results are compared outside of the graded
process, like those of all function benchmarks.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.base import Grade, Task, Test, Workspace, register
from benchmarks.data import Row, find, read_rows
from benchmarks.functions import FunctionBenchmark
from sandbox.base import Limits

if TYPE_CHECKING:
    from benchmarks.grading.stdio import StdioGrader

PROGRAM = "main.py"
TIME_LIMIT_S = 4.0  # of one case where the row says nothing
_PROMPT = f"Write a Python program in {PROGRAM} that reads standard input and writes standard output."
_CALL_PROMPT = f"Write the Python function `{{}}` in {PROGRAM}."
# As APPS and LiveCodeBench compare: a tuple is a list, and APPS wraps some results in a list of one.
_CALLS = """
def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return {str(key): _plain(item) for key, item in value.items()} if isinstance(value, dict) else value

def _same(got, want):
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(_same, got, want))
    if isinstance(got, float) and isinstance(want, float):
        return got == want or abs(got - want) <= TOLERANCE * max(1.0, abs(want))
    return got == want

def _case(args, want):
    got = _plain(_function(*args))
    if not (_same(got, want) or isinstance(want, list) and len(want) == 1 and WRAPPED and _same(got, want[0])):
        assert got == want

try:
    _function = getattr(main.Solution(), NAME)
except AttributeError:
    _function = getattr(main, NAME)
"""


class StdioBenchmark(FunctionBenchmark):
    """Rows that become tasks of :class:`benchmarks.grading.stdio.StdioGrader`, or of a function that is called.

    ``loose``: outputs are compared without their lines and the case of letters.

    Args:
        path: the data, where it is not at its default place.
        tolerance: of numbers with a point; 0 compares text.
        workers: grades at once.
        limits: of one case.
    """

    loose = False

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        tolerance: float = 1e-6,
        workers: int = os.cpu_count() or 1,
        limits: Limits | None = None,
    ) -> None:
        if not isinstance(tolerance, (int, float)) or not tolerance >= 0:
            raise ValueError(f"tolerance={tolerance!r}: needs a number, 0 or more")
        super().__init__(path=path, workers=workers, limits=limits)
        self._tolerance = tolerance
        self._programs: StdioGrader | None = None

    def make(self, row: Row) -> Task:
        return call_task(self.name, row, self._tolerance) if row.get("function") else stdio_task(self.name, row)

    def verdict(self, task: Task, tests: Sequence[Test], workspace: Workspace) -> Grade:
        """The verdict of some cases."""
        if "suite" in task.meta:
            return super().verdict(task, tests, workspace)
        return self.judge.grade(tests, workspace)

    def forget(self) -> None:
        """Drop the verdicts in memory."""
        super().forget()
        self.judge.forget()

    @property
    def judge(self) -> StdioGrader:
        """The grader of programs, made when it is first needed."""
        with self._lock:
            if self._programs is None:
                from benchmarks.grading.stdio import StdioGrader  # late: loading a benchmark must stay cheap

                self._programs = StdioGrader(
                    ["python3", PROGRAM],
                    tolerance=self._tolerance,
                    loose=self.loose,
                    workers=self._workers,
                    limits=self._limits,
                )
            return self._programs


def stdio_task(benchmark: str, row: Mapping[str, Any]) -> Task:
    """The task of a row of programs. Raises ValueError for one without cases: nothing could be judged."""
    from benchmarks.grading.stdio import case

    seconds = float(row.get("time_limit") or TIME_LIMIT_S)
    public = [(given, want) for given, want in row.get("public", ())]
    every = list(dict.fromkeys([*public, *((given, want) for given, want in row["cases"])]))
    if not all(isinstance(text, str) for pair in every for text in pair):
        raise ValueError("a case is [input, output], both text")
    return _task(
        benchmark,
        row,
        _PROMPT,
        public=[case(given, want, seconds) for given, want in public],
        every=[case(given, want, seconds) for given, want in every],
    )


def call_task(benchmark: str, row: Mapping[str, Any], tolerance: float) -> Task:
    """The task of a row with a function. Raises ValueError for one without cases."""
    from benchmarks.grading.remote import Suite

    public, every = ([f"_case({args!r}, {want!r})" for args, want in row.get(key, ())] for key in ("public", "cases"))
    settings = f"NAME, TOLERANCE, WRAPPED = {row['function']!r}, {tolerance!r}, {bool(row.get('wrapped'))}\n"
    suite = Suite(
        {"main": "main:"}, setup=settings + _CALLS, cpu_s=float(row.get("time_limit") or TIME_LIMIT_S), wall_s=60.0
    )
    prompt = _CALL_PROMPT.format(row["function"])
    return _task(benchmark, row, prompt, public=public, every=list(dict.fromkeys([*public, *every])), suite=suite)


def _task(
    benchmark: str, row: Mapping[str, Any], prompt: str, *, public: Sequence[str], every: Sequence[str], **meta: Any
) -> Task:
    if not every:
        raise ValueError(f"row {row['id']!r} has no cases")
    solution = {"fixed": {PROGRAM: row["solution"].encode()}} if row.get("solution") else {}
    return Task(
        id=str(row["id"]),
        benchmark=benchmark,
        prompt=f"{prompt}\n\n{row['statement'].strip()}",
        language="python",
        workspace={PROGRAM: (row.get("starter") or "").encode()},
        visible=tuple(Test(f"public {n}", body) for n, body in enumerate(public, start=1)),
        hidden=tuple(Test(f"case {n}", body) for n, body in enumerate(every, start=1)),
        meta={**solution, **({"date": row["date"]} if row.get("date") else {}), **meta},
    )


@register("stdio")
class Stdio(StdioBenchmark):
    """The problems of one file."""

    name = "stdio"

    def rows(self, split: str) -> Iterable[Row]:
        return read_rows(find(self.name, "stdio.jsonl", self.path, get="put your own problems there"))
