"""QuixBugs: 40 small Python programs with a bug in one line (Lin et al. 2017, "QuixBugs: A Multi-Lingual Program
Repair Benchmark Set Based on the Quixey Challenge"). MIT.

Its data is the git repository https://github.com/jkoppel/QuixBugs: ``path``, else ``~/.cache/codegym/quixbugs``.
The workspace is the program (with its description) and ``node.py`` where it works on graphs; hidden tests are the
repository's own pytest files and JSON cases, one test per case, visible ones the examples in the description::

    bench = benchmarks.load("quixbugs", path="../shared/data/quixbugs")
    task = bench.task("quixbugs/gcd")
"""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Iterable
from pathlib import Path

from benchmarks.base import Task, Test, register
from benchmarks.data import PlacedRow, Row, clone, find
from benchmarks.functions import FunctionBenchmark, examples, function_task

_CPU_S = {"levenshtein": 8.0}  # the corrected program takes 0.8 s for one case; all others take less than 0.2 s
# pytest.approx of a number, as far as these files use it.
_SETUP = """
class pytest:
    def approx(expected, abs):
        class Near:
            __eq__ = lambda self, found: expected - abs <= found <= expected + abs
            __repr__ = lambda self: f"{expected} ± {abs}"
        return Near()
"""


@register("quixbugs")
class QuixBugs(FunctionBenchmark):
    """The 40 programs."""

    name = "quixbugs"

    def rows(self, split: str) -> Iterable[Row]:
        url = "https://github.com/jkoppel/QuixBugs"
        get = clone(url, self.name)
        root = find(self.name, self.name, self.path, get=get)
        tests = find(self.name, "", root / "python_testcases", get=get)
        for test_file in sorted(tests.glob("test_*.py")):
            name = test_file.stem.removeprefix("test_")
            yield PlacedRow({"root": root, "name": name, "tests": test_file.read_text()}, str(test_file))

    def make(self, row: Row) -> Task:
        from benchmarks.grading.remote import Suite

        root, name = row["root"], row["name"]
        tree = ast.parse(row["tests"])
        with_nodes = any(isinstance(node, ast.ImportFrom) and node.module == "node" for node in tree.body)
        nodes = {"node.py": (root / "python_testcases" / "node.py").read_bytes()} if with_nodes else {}
        program = f"{name}.py"
        buggy = (root / "python_programs" / program).read_bytes()
        setup, hidden = _tests(tree, root / "json_testcases" / f"{name}.json")
        return function_task(
            self.name,
            f"quixbugs/{name}",
            prompt=f"The program {program} has a bug in one line. Find and fix it.",
            files={**nodes, program: buggy},
            fixed={**nodes, program: (root / "correct_python_programs" / program).read_bytes()},
            suite=Suite(
                {name: f"{name}:{name}", "Node": "node:Node"},
                setup=f"{_SETUP}\n{setup}",
                cpu_s=_CPU_S.get(name, Suite.cpu_s),
                wall_s=60.0,
            ),
            hidden=hidden,
            visible=examples(_last_text(buggy.decode()), name, name),
            protected=tuple(nodes),
        )


def _tests(tree: ast.Module, cases: Path) -> tuple[str, tuple[Test, ...]]:
    """What a pytest file runs first, and its tests, one for each case."""
    setup: list[str] = []
    tests: list[Test] = []
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.If)):  # the solution's names are given instead
            continue
        if not isinstance(node, ast.FunctionDef):
            setup.append(ast.unparse(node))
        elif not node.decorator_list:
            tests.append(Test(node.name, "\n".join(map(ast.unparse, node.body))))
        else:
            tests += _cases(node, cases)
    return "\n".join(line for line in setup if "testdata" not in line), tuple(tests)


def _cases(test: ast.FunctionDef, path: Path) -> Iterable[Test]:
    """The JSON cases, without those that the file skips (the corrected program would take minutes)."""
    body = "\n".join(ast.unparse(node) for node in test.body if not isinstance(node, ast.If))
    skipped = [
        ast.literal_eval(node.comparators[0])
        for condition in test.body
        if isinstance(condition, ast.If)
        for node in ast.walk(condition.test)
        if isinstance(node, ast.Compare)
    ]
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        given, wanted = json.loads(line)
        if path.stem == "hanoi":  # its test file wants tuples
            wanted = [tuple(move) for move in wanted]
        if given not in skipped:
            yield Test(f"case {number}", f"input_data, expected = {given!r}, {wanted!r}\n{body}")


def _last_text(source: str) -> str:
    """The description that stands below a program, as a string."""
    texts = [node.value for node in ast.parse(source).body if isinstance(node, ast.Expr)]
    found = [text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str)]
    return textwrap.dedent(found[-1]) if found else ""
