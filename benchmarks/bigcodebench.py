"""BigCodeBench: 1,140 Python functions that use libraries, tested by unittest (Zhuo et al. 2024, "BigCodeBench",
https://arxiv.org/abs/2406.15877). Apache-2.0.

``codegym fetch bigcodebench`` (or ``bigcodebench-hard``, its 148 hard ones) gets the rows from the hub.
``prompt="complete"`` starts from a function with its long docstring, ``prompt="instruct"`` from a request in words::

    bench = benchmarks.load("bigcodebench", prompt="instruct", python="/opt/bcb/bin/python")

Tests patch and mock inside of the solution's process, so both run in the Python environment of ``python``, by the
runner that SWE-bench's repositories are tested with: records come over its own pipe, tests that must fail are mixed in,
and changes of the runner are noticed (docs/swebench.md says what that promises, and what it cannot).

A task whose libraries that Python lacks is no zero: ``tasks`` leaves it out and logs which libraries would bring it
back, and grading it is an infra error that names them.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.base import Grade, Place, Task, Test, Workspace, register
from benchmarks.data import Row, fetch, find, read_rows
from benchmarks.functions import SOLUTION, FunctionBenchmark

if TYPE_CHECKING:
    from benchmarks.swebench.environments import Environment

PROMPTS = ("complete", "instruct")
SUBSETS = {"full": "bigcodebench", "hard": "bigcodebench-hard"}
TEST_FILE = "test_solution.py"
TIMEOUT_S = 240.0  # of a task's tests together, as in the data set's own harness
# Tests stand below the solution in one namespace there, and use what it imports. Built-ins stay what they are.
_ABOVE = """import builtins as _builtins, solution as _solution
globals().update({k: v for k, v in vars(_solution).items() if not k.startswith("__") and not hasattr(_builtins, k)})
"""
# The tests call the function through a check of its answers; the solution keeps its own.
_CHECKED = """if callable(globals().get({name!r})):
    import os as _os
    _answers = {{"__name__": "answers"}}
    exec({source!r}, _answers)
    {name} = _answers["checked"]({name}, _os.getcwd())
    del _os, _answers
"""
# Likewise what the tests bind is the solution's: some reference solutions use an import of the tests, or need theirs to
# win (`import datetime` over `from datetime import datetime`).
_BELOW = """
for _name, _value in list(globals().items()):
    if not _name.startswith("__") and _name != {name!r}:
        setattr(_solution, _name, _value)
"""
_PROBE = "import importlib.util as u, json, sys; print(json.dumps([n for n in sys.argv[1:] if u.find_spec(n) is None]))"
_ENV = {"MPLBACKEND": "Agg", "HOME": "/tmp", "OMP_NUM_THREADS": "1"}
_LOG = logging.getLogger(__name__)


@register("bigcodebench")
class BigCodeBench(FunctionBenchmark):
    """The functions.

    Args:
        prompt: ``complete`` or ``instruct``.
        subset: ``full`` (1,140) or ``hard`` (148).
        python: the interpreter, of an environment that has the libraries; the running one when None.
        path, workers: see :class:`FunctionBenchmark`.
    """

    name = "bigcodebench"

    def __init__(
        self,
        *,
        prompt: str = "complete",
        subset: str = "full",
        python: str | None = None,
        path: str | Path | None = None,
        workers: int = os.cpu_count() or 1,
    ) -> None:
        for name, value, known in (("prompt", prompt, PROMPTS), ("subset", subset, SUBSETS)):
            if value not in known:
                raise ValueError(f"{name}={value!r} is unknown; there are: {', '.join(known)}")
        super().__init__(path=path, workers=workers)
        self._prompt, self._file = prompt, SUBSETS[subset]
        self._python = str(Path(python or sys.executable).expanduser())
        if not (Path(self._python).is_file() and os.access(self._python, os.X_OK)):
            raise ValueError(f"python={python!r} is no program: give the path of an interpreter")

    def rows(self, split: str) -> Iterable[Row]:
        return read_rows(find(self.name, f"{self._file}.jsonl", self.path, get=fetch(self._file)))

    def make(self, row: Row) -> Task:
        from benchmarks.grading import answers

        complete = self._prompt == "complete"
        start: str = row["complete_prompt"] if complete else row["code_prompt"]
        asked = (
            f"Complete the function `{row['entry_point']}` in {SOLUTION} so that it does what its docstring says."
            if complete
            else f"{row['instruct_prompt'].strip()}\n\nWrite it to {SOLUTION}."
        )
        libs = row["libs"]
        above = _CHECKED.format(name=row["entry_point"], source=inspect.getsource(answers))
        names = _test_names(row["test"])
        if not names:
            raise ValueError(f"row {row['task_id']!r} has no tests")
        return Task(
            id=row["task_id"],
            benchmark=self.name,
            prompt=asked,
            language="python",
            workspace={SOLUTION: start.encode()},
            visible=(),
            hidden=tuple(Test(name, "") for name in names),
            meta={
                "tests": _ABOVE + above + row["test"] + _BELOW.format(name=row["entry_point"]),
                "libs": tuple(ast.literal_eval(libs) if isinstance(libs, str) else libs),
                "fixed": {SOLUTION: (start + row["canonical_solution"]).encode()},
            },
            place=self._place,
        )

    def tasks(self, split: str) -> Sequence[Task]:
        """The tasks that are not excluded and whose libraries are here; what is left out is logged."""
        every = super().tasks(split)
        missing = self.missing({name for task in every for name in task.meta["libs"]})
        kept = [task for task in every if not missing & set(task.meta["libs"])]
        if len(kept) < len(every):
            _LOG.warning(
                "bigcodebench: %d of %d tasks need libraries that %s lacks: %s",
                *(len(every) - len(kept), len(every), self._python, ", ".join(sorted(missing))),
            )
        return kept

    def missing(self, names: Iterable[str]) -> set[str]:
        """Which of these modules the interpreter lacks."""
        return _missing(self._python, tuple(sorted(names)))

    def verdict(self, task: Task, tests: Sequence[Test], workspace: Workspace) -> Grade:
        """The verdict of the row's tests. What the machine lacks is an ``infra_error``."""
        from benchmarks.grading.caching import broken
        from benchmarks.swebench.benchmark import MACHINE, to_grade
        from benchmarks.swebench.running import run_tests

        if missing := self.missing(task.meta["libs"]):
            return broken(tests, f"{self._python} lacks {', '.join(sorted(missing))}: install them there")
        plan = _plan(task)
        try:
            run = run_tests(plan, self._environment(), workspace, timeout=TIMEOUT_S)
        except MACHINE as error:
            return broken(tests, str(error))
        return broken(tests, run.infra) if run.infra else to_grade(plan.row, run)

    def _environment(self) -> Environment:
        from benchmarks.swebench.environments import Environment

        prefix, base = _prefixes(self._python)
        there = os.path.realpath(sys.base_prefix)  # a sandbox shows the running interpreter anyway
        shown = tuple(dict.fromkeys(each for each in (prefix, base) if each != there and not each.startswith("/usr")))
        return Environment(folder=Path(prefix), python=self._python, version="", shown=shown, image=None, git=False)

    def _place(self) -> Place:
        environment = self._environment()
        return Place(
            read_only=environment.shown,
            env={**_ENV, "PATH": f"{Path(self._python).parent}:/usr/local/bin:/usr/bin:/bin"},
        )


def _plan(task: Task):  # type: ignore[no-untyped-def]  # its class is made late: loading a benchmark must stay cheap
    from benchmarks.swebench.recipes import Recipe
    from benchmarks.swebench.rows import Row as Instance
    from benchmarks.swebench.tree import Plan

    class OneFile(Plan):
        def directives(self) -> list[str]:
            return [TEST_FILE]

        def watched(self) -> list[str]:
            return [TEST_FILE]

    ids = tuple(test.id for test in task.hidden)
    row = Instance(
        instance_id=task.id,
        repo=task.benchmark,
        base_commit="",
        patch="",
        test_patch="",
        problem_statement="",
        version="",
        fail_to_pass=ids,
        pass_to_pass=(),
    )
    recipe = Recipe(task.benchmark, "unittest", "unittest", python=(), versions=("*",), env=_ENV)
    return OneFile(row, recipe, {**task.workspace, TEST_FILE: task.meta["tests"].encode()})


def _test_names(source: str) -> list[str]:
    """The tests as unittest names them."""
    return [
        f"{node.name} (test_solution.{kind.name})"
        for kind in ast.parse(source).body
        if isinstance(kind, ast.ClassDef)
        for node in kind.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]


@functools.cache
def _missing(python: str, names: tuple[str, ...]) -> set[str]:
    said = subprocess.run([python, "-c", _PROBE, *names], capture_output=True, text=True)
    try:
        return set(json.loads(said.stdout))
    except ValueError:
        raise ValueError(
            f"python={python!r} is no Python: {said.stderr.strip()[-200:] or said.stdout[:80]!r}"
        ) from None


@functools.cache
def _prefixes(python: str) -> tuple[str, str]:
    """The interpreter's environment, and the installation below it."""
    code = "import os, sys; print(os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix), sep='\\n')"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    return said[0], said[1]
