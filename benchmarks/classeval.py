"""ClassEval: 100 Python classes to write from a skeleton with docstrings (Du et al. 2023, "ClassEval",
https://arxiv.org/abs/2308.01861). MIT.

Its data is the git repository https://github.com/FudanSELab/ClassEval; ``path`` may be a clone or its
``ClassEval_data.json``. Each method of the row's unittest classes is a hidden test; the visible ones are those that the
row gives for each method of the class, without those of the class as a whole (12 rows have none of these). Tests and
class run in two sandboxes without third-party packages, so tasks that share files or need packages do not behave:
``codegym check classeval`` leaves them out::

    bench = benchmarks.load("classeval", path="ClassEval")
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable

from benchmarks.base import Task, register
from benchmarks.data import Row, clone, find, read_rows
from benchmarks.functions import RUN, SOLUTION, FunctionBenchmark, function_task, unittest_tests
from benchmarks.mbpp import used


@register("classeval")
class ClassEval(FunctionBenchmark):
    """The 100 classes."""

    name = "classeval"

    def rows(self, split: str) -> Iterable[Row]:
        get = clone("https://github.com/FudanSELab/ClassEval", self.name)
        place = find(self.name, self.name, self.path, get=get)
        if place.is_dir():
            place = find(self.name, "", place / "data" / "ClassEval_data.json", get=get)
        return read_rows(place)

    def make(self, row: Row) -> Task:
        from benchmarks.grading.remote import Suite

        kinds = [
            node
            for node in ast.parse(row["test"]).body
            if isinstance(node, ast.ClassDef) and node.name in row["test_classes"]
        ]
        imports = [
            line for line in row["import_statement"] if line.split()[1].partition(".")[0] in sys.stdlib_module_names
        ]
        shown = {method["test_class"] for method in row["methods_info"]}
        return function_task(
            self.name,
            row["task_id"],
            prompt=f"Complete the class `{row['class_name']}` in {SOLUTION} so that it does what its docstrings say.",
            files={SOLUTION: row["skeleton"].encode()},
            fixed={SOLUTION: row["solution_code"].encode()},
            suite=Suite(
                used(row["solution_code"], row["test"]), setup="\n".join([*imports, RUN, row["test"]]), in_place=True
            ),
            hidden=unittest_tests(kinds),
            visible=unittest_tests(kind for kind in kinds if kind.name in shown),
        )
