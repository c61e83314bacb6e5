"""MBPP: 974 short Python functions to write from one sentence (Austin et al. 2021, "Program Synthesis with Large
Language Models", https://arxiv.org/abs/2108.07732). CC-BY-4.0.

``codegym fetch mbpp`` (or ``mbpp-sanitized``) gets ``google-research-datasets/mbpp`` from the hub; the project's own
``mbpp.jsonl`` and ``sanitized-mbpp.json`` are read too. The prompt shows the first test, which names the function and
is the visible one; all tests, challenge tests included, are hidden ones::

    bench = benchmarks.load("mbpp", subset="sanitized", path="sanitized-mbpp.json")
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.base import Task, Test, register
from benchmarks.data import Row, fetch, find, read_rows
from benchmarks.functions import SOLUTION, FunctionBenchmark, function_task
from sandbox.base import Limits

SUBSETS = ("full", "sanitized")
CPU_S = 5.0  # some reference solutions take more than a second
# The paper's splits, by task id; the first ten are for few-shot prompts.
_SPLITS = {"prompt": range(1, 11), "test": range(11, 511), "validation": range(511, 601), "train": range(601, 975)}


@register("mbpp")
class MBPP(FunctionBenchmark):
    """MBPP.

    Args:
        subset: ``full`` (974 tasks) or ``sanitized`` (427 with checked statements).
        path, workers, limits: see :class:`FunctionBenchmark`.
    """

    name = "mbpp"
    splits = tuple(_SPLITS)

    def __init__(
        self,
        *,
        subset: str = "full",
        path: str | Path | None = None,
        workers: int = os.cpu_count() or 1,
        limits: Limits | None = None,
    ) -> None:
        if subset not in SUBSETS:
            raise ValueError(f"subset={subset!r} is unknown; there are: {', '.join(SUBSETS)}")
        super().__init__(path=path, workers=workers, limits=limits)
        self._file = "mbpp" if subset == "full" else "mbpp-sanitized"

    def rows(self, split: str) -> Iterable[Row]:
        place = find(self.name, f"{self._file}.jsonl", self.path, get=fetch(self._file))
        return (row for row in read_rows(place) if row["task_id"] in _SPLITS[split])

    def make(self, row: Row) -> Task:
        from benchmarks.grading.remote import Suite

        code = row["code"].replace("\r\n", "\n")
        given = [*row.get("test_imports", ()), row.get("test_setup_code") or ""]
        setup = "\n".join([*imports(code), *given])
        tests = [*row["test_list"], *row.get("challenge_test_list", ())]
        hidden = [Test(f"test {number}", body) for number, body in enumerate(tests, start=1)]
        return function_task(
            self.name,
            f"mbpp/{row['task_id']}",
            prompt=f"{row.get('text') or row['prompt']} Write it to {SOLUTION}. It must pass:\n{tests[0]}",
            files={SOLUTION: b""},
            fixed={SOLUTION: code.encode()},
            suite=Suite(used(code, "\n".join([setup, *tests])), setup=setup, cpu_s=CPU_S),
            hidden=hidden,
            visible=hidden[:1],
        )


def imports(code: str) -> list[str]:
    """The imports of a reference solution from the standard library: tests were written to run below it."""
    found = []
    for node in ast.parse(code).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
            if (module or "").partition(".")[0] in sys.stdlib_module_names:
                found.append(ast.unparse(node))
    return found


def used(code: str, tests: str) -> dict[str, str]:
    """What tests name of a reference solution, as the ``remote`` of a Suite. Raises ValueError if nothing."""
    defined = {node.name for node in ast.parse(code).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    named = {node.id for node in ast.walk(ast.parse(tests)) if isinstance(node, ast.Name)}
    if not defined & named:
        raise ValueError("the tests use nothing of the solution")
    return {name: f"solution:{name}" for name in sorted(defined & named)}
