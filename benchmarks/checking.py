"""Do the tasks of a benchmark behave on this machine? Each is graded untouched and with its reference solution.

::

    for found in check_tasks(bench, bench.tasks("test"), runs=3):
        found.task_id, found.problem   # None, or why the task should be left out

A task behaves if its untouched version fails and its reference solution resolves, each in all of ``runs`` gradings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from benchmarks.base import Benchmark, Grade, Task, Workspace, reference
from sandbox.base import SandboxError


@dataclass(frozen=True)
class Checked:
    """What came of one task. ``problem`` is None for a task that behaves; an ``infra_error`` is no statement on it."""

    task_id: str
    problem: str | None
    infra_error: str | None = None


def check_tasks(bench: Benchmark, tasks: Sequence[Task], *, runs: int = 1, workers: int = 1) -> Iterator[Checked]:
    """Check tasks, ``workers`` at once, and give the results in order as they are there.

    Each task is taken from the sequence when its turn comes: the files of a repository are large.

    Raises ValueError for ``runs`` or ``workers`` below 1.
    """
    if runs < 1 or workers < 1:
        raise ValueError(f"runs={runs}, workers={workers}: each needs at least 1")
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda number: check_task(bench, tasks[number], runs), range(len(tasks)))


def check_task(bench: Benchmark, task: Task, runs: int) -> Checked:
    """Grade one task untouched and fixed, ``runs`` times each. What the machine lacks for it is an ``infra_error``."""
    try:
        return _check(bench, task, runs)
    except SandboxError as error:  # what the task is made of is not there, such as a clone
        return Checked(task.id, None, str(error))


def _check(bench: Benchmark, task: Task, runs: int) -> Checked:
    gold = reference(task)
    if gold is None:
        return Checked(task.id, "it has no reference solution")
    problems = []
    for name, workspace, wanted in (("the untouched version", task.workspace, False), ("the reference", gold, True)):
        grades = [_graded(bench, task, workspace) for _ in range(runs)]
        for grade in grades:
            if grade.infra_error is not None:
                return Checked(task.id, None, grade.infra_error)
        resolved = sum(grade.resolved for grade in grades)
        if 0 < resolved < runs:
            problems.append(f"{name} flakes: it resolves in {resolved} of {runs} runs")
        elif resolved and not wanted:
            problems.append(f"{name} resolves")
        elif wanted and not resolved:
            problems.append(f"{name} fails: {_why(grades[0])}")
    return Checked(task.id, "; ".join(problems) or None)


def _graded(bench: Benchmark, task: Task, workspace: Workspace) -> Grade:
    bench.forget()  # a kept verdict would hide a flake
    return bench.grade(task, workspace)


def _why(grade: Grade) -> str:
    for name, status in grade.tests.items():
        if status != "passed":
            return f"{name} {status}" + (f" ({grade.details[name]})" if name in grade.details else "")
    return "no test passed"
