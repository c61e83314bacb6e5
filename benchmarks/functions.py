"""The common part of benchmarks whose tests are Python code around a function or class of the solution.

A benchmark says where its rows come from and how a row becomes a task; docs/add_a_benchmark.md walks through one::

    @register("mine")
    class Mine(FunctionBenchmark):
        name = "mine"

        def rows(self, split):
            return read_rows(find("mine", "mine.jsonl", self.path, get="run `curl ...`"))

        def make(self, row):
            return function_task(self.name, row["id"], prompt=row["text"], files={"solution.py": ...}, ...)

Python's tests are graded by :class:`benchmarks.grading.remote.RemoteGrader`: they never share a process with the
solution. Those of other languages are built with it (:mod:`benchmarks.toolchains`).
"""

from __future__ import annotations

import abc
import ast
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import exclusions
from benchmarks.base import Benchmark, Grade, Place, Task, Test, Workspace
from benchmarks.data import MissingData, Row, reading
from sandbox.base import Limits

if TYPE_CHECKING:
    from benchmarks import toolchains
    from benchmarks.grading.built import BuiltGrader
    from benchmarks.grading.remote import RemoteGrader, Suite

SOLUTION = "solution.py"


class FunctionBenchmark(Benchmark):
    """Rows that become tasks, graded by their ``meta["suite"]``.

    Args:
        path: the data, where it is not at its default place.
        workers: grades at once.
        limits: of a grading job; None for the grader's own.
    """

    splits: tuple[str, ...] = ("test",)

    def __init__(
        self, *, path: str | Path | None = None, workers: int = os.cpu_count() or 1, limits: Limits | None = None
    ) -> None:
        if not isinstance(workers, int) or workers < 1:
            raise ValueError(f"workers={workers!r}: needs a whole number, at least 1")
        self.path, self._workers, self._limits = path, workers, limits
        self._graders: dict[type, RemoteGrader | BuiltGrader] = {}
        self._loaded: dict[str, list[Task]] = {}
        self._lock = threading.RLock()

    @abc.abstractmethod
    def rows(self, split: str) -> Iterable[Row]:
        """The data of a split, in its own order. Raises MissingData."""

    @abc.abstractmethod
    def make(self, row: Row) -> Task:
        """The task of a row. Raises ValueError for a row that cannot be graded."""

    def tasks(self, split: str) -> Sequence[Task]:
        """The tasks of a split, without those on the exclusion list that ``codegym check`` wrote."""
        return exclusions.without(self.name, self.all_tasks(split))

    def all_tasks(self, split: str) -> Sequence[Task]:
        """The tasks of a split, all of them. Raises ValueError if there are none: that is never what was meant."""
        if split not in self.splits:
            raise ValueError(f"split={split!r} is unknown; there are: {', '.join(self.splits)}")
        found = self._of(split)
        if not found:
            where = f"path={str(self.path)!r}" if self.path is not None else "its data"
            raise ValueError(f"{self.name} finds no task of split {split!r} in {where}: give path=... or other options")
        return found

    def task(self, task_id: str) -> Task:
        """The task with this id, excluded or not, of any split whose data are here."""
        some, missing = None, None
        for split in self.splits:
            try:
                tasks = self._of(split)
            except MissingData as error:
                missing = missing or error
                continue
            for task in tasks:
                if task.id == task_id:
                    return task
                some = some or task
        if some is None and missing is not None:
            raise missing
        raise KeyError(f"no task {task_id!r} in {self.name}" + (f"; ids look like {some.id}" if some else ""))

    def _of(self, split: str) -> list[Task]:
        with self._lock:
            if split not in self._loaded:
                made: dict[str, Task] = {}
                for row in self.rows(split):
                    with reading(row, self.name):
                        task = self.make(row)
                        if task.id in made:
                            raise ValueError(f"{task.id} is there twice")
                        made[task.id] = task
                self._loaded[split] = list(made.values())
            return self._loaded[split]

    def grade(self, task: Task, workspace: Workspace) -> Grade:
        """The verdict of the hidden tests. Kept in memory: the same files are not graded twice."""
        return self.verdict(task, task.hidden, workspace)

    def check(self, task: Task, workspace: Workspace) -> Grade:
        """The verdict of the visible tests, kept likewise; of a task that has none, no verdict."""
        return self.verdict(task, task.visible, workspace) if task.visible else Grade(False, 0.0, {})

    def verdict(self, task: Task, tests: Sequence[Test], workspace: Workspace) -> Grade:
        """The verdict of some tests of a task, by the grader of its suite."""
        suite = task.meta["suite"]
        return self.grader(suite).grade(suite, tests, restored(task, workspace))

    def forget(self) -> None:
        """Drop the verdicts in memory."""
        with self._lock:
            graders = list(self._graders.values())
        for grader in graders:
            grader.forget()

    def close(self) -> None:
        """End the grading processes; a later grade starts new ones. May be called twice."""
        with self._lock:
            graders, self._graders = list(self._graders.values()), {}
        for grader in graders:
            grader.close()

    def grader(self, suite: Any) -> Any:
        """The grader of suites of this kind, made when it is first needed."""
        with self._lock:
            if type(suite) not in self._graders:
                self._graders[type(suite)] = suite.grader(workers=self._workers, limits=self._limits)
            return self._graders[type(suite)]


def function_task(
    benchmark: str,
    task_id: str,
    *,
    prompt: str,
    files: Mapping[str, bytes],
    fixed: Mapping[str, bytes] | None,
    suite: Suite | toolchains.Suite,
    hidden: Sequence[Test],
    visible: Sequence[Test] = (),
    protected: Sequence[str] = (),
    language: str = "python",
    place: Callable[[], Place] = Place,
    **meta: Any,
) -> Task:
    """A task of a function benchmark. ``fixed``: the files of the reference solution, None where there is none.

    Raises ValueError if there are no hidden tests, or two of one id: nothing could be judged.
    """
    for tests in (hidden, visible):
        if len({test.id for test in tests}) < len(tests):
            raise ValueError(f"task {task_id!r} has two tests of one id")
    if not hidden:
        raise ValueError(f"task {task_id!r} has no hidden tests")
    solution = {} if fixed is None else {"fixed": dict(fixed)}
    return Task(
        id=task_id,
        benchmark=benchmark,
        prompt=prompt,
        language=language,
        workspace=dict(files),
        visible=tuple(visible),
        hidden=tuple(hidden),
        protected=tuple(protected),
        meta={"suite": suite, **solution, **meta},
        place=place,
    )


def restored(task: Task, workspace: Workspace) -> Workspace:
    """The workspace with the task's own protected files."""
    return {**workspace, **{path: task.workspace[path] for path in task.protected}}


def split_tests(source: str, called: str, prefix: str) -> tuple[Test, ...]:
    """The statements of a test function's body, as tests that run in one namespace, one after another.

    A statement that names ``called`` is a test; what stands before it belongs to it, what follows the last to the last.
    All of them pass exactly when the function would return. Statements alone, such as ``assert True``, are no tests.
    """
    tests: list[Test] = []
    before: list[str] = []
    for statement in ast.parse(source).body:
        before.append(ast.unparse(statement))
        if any(isinstance(node, ast.Name) and node.id == called for node in ast.walk(statement)):
            tests.append(Test(f"{prefix}{len(tests) + 1}", "\n".join(before)))
            before = []
    if before and tests:
        tests[-1] = Test(tests[-1].id, "\n".join([tests[-1].body, *before]))
    return tuple(tests)


#: Setup of suites whose tests are methods of unittest classes.
RUN = """
def _run(kind, method):
    import unittest
    result = unittest.TestResult()
    unittest.TestSuite([kind(method)]).run(result)
    for _, problem in (*result.failures, *result.errors):
        raise AssertionError(problem.strip().splitlines()[-1])
    assert result.testsRun == 1 and result.wasSuccessful()
    assert not result.skipped and not result.expectedFailures
"""


def unittest_tests(kinds: Iterable[ast.ClassDef]) -> tuple[Test, ...]:
    """The test methods of unittest classes, one test each; the suite's setup holds :data:`RUN` and the classes."""
    return tuple(
        Test(f"{kind.name}.{method}", f"_run({kind.name}, {method!r})")
        for kind in kinds
        for method in dict.fromkeys(node.name for node in kind.body if isinstance(node, ast.FunctionDef))
        if method.startswith("test")
    )


_ARROW = re.compile(r"\s*(?:==|=>|➞|->|→|returns|should return|=)\s*")


def examples(doc: str, entry_point: str, called: str) -> tuple[Test, ...]:
    """The examples of a docstring as tests: ``>>> f(1)`` with the line below, or ``f(1) == 2`` and the like.

    Only those whose call and value are literals: prose must not become a test.
    """
    found: dict[str, str] = {}
    lines = [line.strip() for line in doc.splitlines()]
    for line, below in pairwise([*lines, ""]):
        if line.startswith(">>>"):
            call, want = line.removeprefix(">>>").strip(), below
        else:
            start = line.find(f"{entry_point}(")
            cuts = [cut for cut in _ARROW.finditer(line) if start >= 0 and line[cut.start() - 1 : cut.start()] == ")"]
            if not cuts:
                continue
            call, want = line[start : cuts[0].start()], line[cuts[0].end() :]
        test = _example(call, want, entry_point, called)
        if test is not None:
            found.setdefault(call, test)
    return tuple(Test(f"example {number}", body) for number, body in enumerate(found.values(), start=1))


def _example(call: str, want: str, entry_point: str, called: str) -> str | None:
    try:
        tree = ast.parse(call, mode="eval").body
        value = ast.literal_eval(want.strip().rstrip(".,;"))
    except (ValueError, SyntaxError):
        return None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or tree.func.id != entry_point:
        return None
    try:
        for arg in (*tree.args, *(keyword.value for keyword in tree.keywords)):
            ast.literal_eval(arg)
    except ValueError:
        return None
    tree.func.id = called
    return f"assert {ast.unparse(tree)} == {value!r}"
