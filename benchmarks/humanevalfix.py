"""HumanEvalFix: HumanEval's functions with one bug each, to be repaired (Muennighoff et al. 2023, "OctoPack",
https://arxiv.org/abs/2308.07124). 164 tasks, MIT.

``codegym fetch humanevalfix`` gets the rows of ``bigcode/humanevalpack`` from the hub; ``path`` may be a file of one
language or a folder of ``humanevalpack_<language>.jsonl``. The workspace is ``solution.py`` with the buggy function.
``spec="docs"`` leaves its docstring in (HumanEvalFixDocs), ``spec="tests"`` shows the tests in the prompt instead
(HumanEvalFix)::

    bench = benchmarks.load("humanevalfix", path="../shared/data/humanevalfix")
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from benchmarks.base import Task, Test, register
from benchmarks.data import Row, fetch, find, read_rows
from benchmarks.functions import SOLUTION, FunctionBenchmark, split_tests
from benchmarks.humaneval import humaneval_task
from sandbox.base import Limits

SPECS = ("docs", "tests")


@register("humanevalfix")
class HumanEvalFix(FunctionBenchmark):
    """The 164 repairs in Python.

    Args:
        spec: what says how the function should behave, ``docs`` or ``tests``.
        path, workers, limits: see :class:`FunctionBenchmark`.
    """

    name = "humanevalfix"

    def __init__(
        self,
        *,
        spec: str = "docs",
        path: str | Path | None = None,
        workers: int = os.cpu_count() or 1,
        limits: Limits | None = None,
    ) -> None:
        if spec not in SPECS:
            raise ValueError(f"spec={spec!r} is unknown; there are: {', '.join(SPECS)}")
        super().__init__(path=path, workers=workers, limits=limits)
        self.spec = spec

    def rows(self, split: str) -> Iterable[Row]:
        place = find(self.name, self.name, self.path, get=fetch(self.name))
        return read_rows(place / "humanevalpack_python.jsonl" if place.is_dir() else place)

    def make(self, row: Row) -> Task:
        entry = row["entry_point"]
        before = row["prompt"] if self.spec == "docs" else row["declaration"]
        task = humaneval_task(self.name, row, canonical=before + row["canonical_solution"])
        prompt = f"There is a bug in the function `{entry}` in {SOLUTION}. Fix it."
        if self.spec == "tests":
            prompt += f" These tests must pass:\n{row['test'].strip()}"
        return replace(
            task,
            prompt=prompt,
            workspace={SOLUTION: (before + row["buggy_solution"]).encode()},
            visible=_visible(row["example_test"]),
            meta={**task.meta, "bug": row["bug_type"], "symptom": row["failure_symptoms"]},
        )


def _visible(source: str) -> tuple[Test, ...]:
    """The row's own example tests; seven rows have none that can be read."""
    try:
        checks = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return ()
    return tuple(
        test
        for check in checks
        for test in split_tests("\n".join(map(ast.unparse, check.body)), check.args.args[0].arg, "example ")
    )
