"""Exercism's Python track, and the Python part of Aider's polyglot benchmark (a choice of hard exercises). MIT.

Their data are git repositories: https://github.com/exercism/python (``exercism``) and
https://github.com/Aider-AI/polyglot-benchmark (``aider-polyglot``); ``path`` is a clone. The workspace is the
exercise's stub, the prompt its instructions, each method of its unittest file a hidden test; there are no visible ones.
Tests that patch the solution's modules, share files with it, or expect exception classes of its own do not behave here;
``codegym check exercism`` leaves those exercises out::

    bench = benchmarks.load("exercism", path="exercism-python")
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.base import Task, register
from benchmarks.data import Row, clone, find
from benchmarks.functions import RUN, FunctionBenchmark, function_task, unittest_tests

_PAGES = ("introduction.md", "instructions.md", "instructions.append.md")


@register("exercism")
class Exercism(FunctionBenchmark):
    """The practice exercises of the Python track."""

    name = "exercism"
    _url, _folder = "https://github.com/exercism/python", "exercises/practice"

    def rows(self, split: str) -> Iterable[Row]:
        place = find(self.name, self.name, self.path, get=clone(self._url, self.name))
        for folder in sorted((place / self._folder).iterdir()):
            config = folder / ".meta" / "config.json"
            if config.exists():
                yield {"folder": folder, "files": json.loads(config.read_text())["files"]}

    def make(self, row: Row) -> Task:
        from benchmarks.grading.remote import Suite

        folder: Path = row["folder"]
        files: dict[str, list[str]] = row["files"]
        given = {path: (folder / path).read_bytes() for path in files.get("editor", ())}
        stubs = {path: (folder / path).read_bytes() for path in files["solution"]}
        examples = [(folder / path).read_bytes() for path in files["example"]]
        tree = ast.parse("\n".join((folder / path).read_text() for path in files["test"]))
        remote = _imported(tree, [Path(path).stem for path in files["solution"]])
        constants = [f"{name} = _value({name})" for name in remote if name.isupper()]
        kinds = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        pages = [folder / ".docs" / page for page in _PAGES]
        return function_task(
            self.name,
            f"{self.name}/{folder.name}",
            prompt="\n\n".join(page.read_text().strip() for page in pages if page.exists())
            + f"\n\nWrite your solution to {' and '.join(files['solution'])}.",
            files={**stubs, **given},
            fixed=dict(zip(files["solution"], examples, strict=False)),
            suite=Suite(remote, setup="\n".join([*constants, RUN, ast.unparse(tree)]), wall_s=60.0),
            hidden=unittest_tests(kinds),
            protected=tuple(given),
        )


@register("aider-polyglot")
class AiderPolyglot(Exercism):
    """The 34 Python exercises of the polyglot benchmark."""

    name = "aider-polyglot"
    _url, _folder = "https://github.com/Aider-AI/polyglot-benchmark", "python/exercises/practice"


def _imported(tree: ast.Module, modules: Sequence[str]) -> dict[str, str]:
    """Take the imports of the solution out of a test file; what they bind, as the ``remote`` of a Suite."""
    remote: dict[str, str] = {}

    class Imports(ast.NodeTransformer):
        def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.stmt:
            if node.module not in modules:
                return node
            remote.update({name.asname or name.name: f"{node.module}:{name.name}" for name in node.names})
            return ast.Pass()

        def visit_Import(self, node: ast.Import) -> ast.stmt:
            if node.names[0].name not in modules:
                return node
            remote.update({name.asname or name.name: f"{name.name}:" for name in node.names})
            return ast.Pass()

    Imports().visit(tree)
    return remote
