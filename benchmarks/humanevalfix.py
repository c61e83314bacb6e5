"""HumanEvalFix: HumanEval's functions with one bug each, to be repaired (Muennighoff et al. 2023, "OctoPack",
https://arxiv.org/abs/2308.07124). 164 tasks in each of six languages, MIT.

``codegym fetch humanevalfix`` gets the rows of ``bigcode/humanevalpack`` from the hub; ``path`` may be a file of one
language or a folder of ``humanevalpack_<language>.jsonl``. The workspace is ``solution.py`` (``.js``, ``.java``, ...)
with the buggy function. ``spec="docs"`` leaves its docstring in (HumanEvalFixDocs), ``spec="tests"`` shows the tests
in the prompt instead (HumanEvalFix)::

    bench = benchmarks.load("humanevalfix", path="../shared/data/humanevalfix", language="javascript")

Python's tests never share a process with the solution; those of the other languages are built with it by the
language's tool chain (:mod:`benchmarks.toolchains`).
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from benchmarks.base import Task, Test, register
from benchmarks.data import Row, fetch, find, read_rows
from benchmarks.functions import SOLUTION, FunctionBenchmark, function_task, split_tests
from benchmarks.humaneval import humaneval_task
from sandbox.base import Limits

SPECS = ("docs", "tests")
#: language -> the data set's name for it, and the file of the workspace
LANGUAGES = {
    "python": ("python", SOLUTION),
    "javascript": ("js", "solution.js"),
    "java": ("java", "Solution.java"),
    "go": ("go", "solution.go"),
    "cpp": ("cpp", "solution.cpp"),
    "rust": ("rust", "solution.rs"),
}
# How a language declares the names that tests may use.
_DECLARED = {
    "javascript": r"^(?:const|let|var|function)\s+(\w+)",
    "java": r"\b(?:class|interface|enum|record)\s+(\w+)",
    "go": r"^(?:func|type|var|const)\s+(\w+)",
    "cpp": r"(?!)",  # functions are declared to the tests; macros are nobody's to declare
    "rust": r"\b(?:fn|struct|enum|trait|type)\s+(\w+)",
}
# The packages that solutions in Go use.
_GO = ("bytes", "crypto/md5", "fmt", "math", "math/rand", "regexp", "sort", "strconv", "strings", "time", "unicode")


@register("humanevalfix")
class HumanEvalFix(FunctionBenchmark):
    """The 164 repairs.

    Args:
        language: python, javascript, java, go, cpp or rust.
        spec: what says how the function should behave, ``docs`` or ``tests``.
        path, workers, limits: see :class:`FunctionBenchmark`.
    """

    name = "humanevalfix"

    def __init__(
        self,
        *,
        language: str = "python",
        spec: str = "docs",
        path: str | Path | None = None,
        workers: int = os.cpu_count() or 1,
        limits: Limits | None = None,
    ) -> None:
        for name, value, known in (("spec", spec, SPECS), ("language", language, LANGUAGES)):
            if value not in known:
                raise ValueError(f"{name}={value!r} is unknown; there are: {', '.join(known)}")
        super().__init__(path=path, workers=workers, limits=limits)
        self.spec, self.language = spec, language

    def rows(self, split: str) -> Iterable[Row]:
        place = find(self.name, self.name, self.path, get=fetch(self.name))
        if self.language != "python":
            from benchmarks.toolchains import toolchain

            toolchain(self.language).find("program")
        if place.is_dir():
            file = f"humanevalpack_{LANGUAGES[self.language][0]}.jsonl"
            place = find(self.name, "", place / file, get=fetch(self.name))
        return read_rows(place)

    def make(self, row: Row) -> Task:
        if row["task_id"].partition("/")[0].lower() != self.language:
            raise ValueError(f"{row['task_id']} is not in {self.language}: give language=... or another file")
        return self._of_python(row) if self.language == "python" else self._built(row)

    def _prompt(self, row: Row, file: str) -> str:
        text = f"There is a bug in the function `{row['entry_point']}` in {file}. Fix it."
        return text + (f" These tests must pass:\n{row['test'].strip()}" if self.spec == "tests" else "")

    def _of_python(self, row: Row) -> Task:
        before = row["prompt"] if self.spec == "docs" else row["declaration"]
        task = humaneval_task(self.name, row, canonical=before + row["canonical_solution"])
        return replace(
            task,
            prompt=self._prompt(row, SOLUTION),
            workspace={SOLUTION: (before + row["buggy_solution"]).encode()},
            visible=_visible(row["example_test"]),
            meta={**task.meta, "bug": row["bug_type"], "symptom": row["failure_symptoms"]},
        )

    def _built(self, row: Row) -> Task:
        from benchmarks.toolchains import Suite, toolchain

        file = LANGUAGES[self.language][1]
        docs = self.spec == "docs"
        buggy, fixed = (
            _file(self.language, row, row[body], docs=docs) for body in ("buggy_solution", "canonical_solution")
        )
        names = re.findall(_DECLARED[self.language], fixed, re.M)
        suite = Suite(
            "program",
            self.language,
            (file,),
            before=_above_tests(self.language, row),
            names=tuple(dict.fromkeys(names)),
        )
        shown = row["example_test"]
        # Rust's rows write None for no example, as a text.
        visible = [Test("examples", shown)] if shown and shown.strip() != "None" else []
        return function_task(
            self.name,
            row["task_id"],
            prompt=self._prompt(row, file),
            files={file: buggy.encode()},
            fixed={file: fixed.encode()},
            suite=suite,
            hidden=[Test("tests", row["test"])],
            visible=visible,
            language=self.language,
            place=toolchain(self.language).place,
            bug=row["bug_type"],
            symptom=row["failure_symptoms"],
        )


def _file(language: str, row: Row, body: str, *, docs: bool) -> str:
    """A function's file. With ``docs`` it starts with the row's prompt, which holds the description."""
    head: str = row["prompt"] if docs else row["declaration"]
    if language == "go":
        head = head.replace(row["import"], "")
        return _go_header(head + body, row) + head + body
    if language == "rust":
        head = head.replace("fn main(){}", "", 1)
    if language == "cpp" and docs:  # the prompt lacks headers that the declaration has
        more = [line for line in row["declaration"].splitlines() if line.startswith("#include") and line not in head]
        head = "\n".join([*more, head])
    elif language == "cpp":
        head = _up_to_signature(row) + "{\n"
    return head + body


def _up_to_signature(row: Row) -> str:
    """A C++ row's headers, helpers and signature: one declaration of the data goes on into the body."""
    declared, signature = row["declaration"], row["signature"]
    at = declared.rfind(signature)
    return declared[: at + len(signature)] if at >= 0 else declared.rstrip().removesuffix("{")


def _above_tests(language: str, row: Row) -> str:
    """What the tests' file starts with, so that it can be compiled apart from the solution."""
    declared: str = row["declaration"]
    if language == "java":
        return "\n".join(re.findall(r"^import .*;", declared, re.M))
    if language == "cpp":  # includes, helpers, and the function's prototype
        return _up_to_signature(row) + ";"
    return _go_header(row["test"], row) if language == "go" else ""


def _go_header(text: str, row: Row) -> str:
    """A file's package and imports. Rows lack some and have others that are not used, which Go does not take."""
    known = dict.fromkeys((*_GO, *re.findall(r'"([\w./-]+)"', row["test_setup"] + row["import"])))
    code = re.sub(r"//.*", "", text)
    used = [path for path in known if re.search(rf"\b{path.rpartition('/')[2]}\.[A-Z]", code)]
    return "package main\n\n" + "".join(f'import "{path}"\n' for path in used) + "\n"


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
