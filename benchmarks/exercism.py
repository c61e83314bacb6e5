"""Exercism's tracks, and Aider's polyglot benchmark (a choice of their hard exercises), in six languages. MIT.

Their data are git repositories: https://github.com/exercism/python (or ``javascript``, ...) for ``exercism``, and
https://github.com/Aider-AI/polyglot-benchmark for ``aider-polyglot``; ``path`` is a clone. The workspace is the
exercise's stub, the prompt its instructions, each test of its test files a hidden one, those that the track marks as
skipped too. Whoever solves an exercise has its test files, and Aider's benchmark shows what they say after the first
try, so the same tests are the visible ones, by their verdicts::

    bench = benchmarks.load("exercism", path="exercism-go", language="go")

Python's tests never share a process with the solution, so tests that patch its modules, share files with it, or expect
exception classes of its own do not behave. The other languages are built and run by their tool chains
(:mod:`benchmarks.toolchains`). ``codegym check exercism`` leaves out what does not behave on this machine.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from benchmarks.base import Task, Test, register
from benchmarks.data import PlacedRow, Row, clone, find
from benchmarks.functions import RUN, FunctionBenchmark, function_task, unittest_tests
from sandbox.base import Limits

LANGUAGES = ("python", "javascript", "java", "go", "cpp", "rust")
_PAGES = ("introduction.md", "instructions.md", "instructions.append.md")
# Files of an exercise that are its tests', although its configuration does not always say so.
_OF_TESTS = ("_test.go", ".spec.js", "_test.cpp", "go.mod")
# For the learner's tools; what else lies in an exercise's folder belongs to its program.
_TOOLS = re.compile(r"\.|LICENSE|README|package(-lock)?\.json|babel\.config|build\.gradle|gradle|CMakeLists|benches/")


@register("exercism")
class Exercism(FunctionBenchmark):
    """The practice exercises of a track.

    Args:
        language: python, javascript, java, go, cpp or rust.
        path, workers, limits: see :class:`FunctionBenchmark`.
    """

    name = "exercism"

    def __init__(
        self,
        *,
        language: str = "python",
        path: str | Path | None = None,
        workers: int = os.cpu_count() or 1,
        limits: Limits | None = None,
    ) -> None:
        if language not in LANGUAGES:
            raise ValueError(f"language={language!r} is unknown; there are: {', '.join(LANGUAGES)}")
        super().__init__(path=path, workers=workers, limits=limits)
        self.language = language

    def rows(self, split: str) -> Iterable[Row]:
        chain = None
        if self.language != "python":
            from benchmarks.toolchains import toolchain

            chain = toolchain(self.language)
            chain.find()
        for folder in sorted(self.folder().iterdir()):
            config = folder / ".meta" / "config.json"
            if not config.exists():
                continue
            row = PlacedRow(json.loads(config.read_text()), str(config))
            files = row["files"]
            # In one exercise tests are the solution.
            if chain is None or chain.tests(_read(folder, _test_files(files))):
                yield PlacedRow({"folder": folder, "files": files}, str(folder))

    def folder(self) -> Path:
        """Where the exercises of the language are. Raises MissingData."""
        kept = self.name if self.language == "python" else f"{self.name}-{self.language}"
        url = f"https://github.com/exercism/{self.language}"
        return _practice(self.name, find(self.name, kept, self.path, get=clone(url, kept)), clone(url, kept))

    def make(self, row: Row) -> Task:
        folder: Path = row["folder"]
        files: dict[str, list[str]] = row["files"]
        pages = [folder / ".docs" / page for page in _PAGES]
        prompt = "\n\n".join(page.read_text().strip() for page in pages if page.exists())
        given = [path for path in (*files.get("editor", ()), *_unlisted(folder, files)) if not _of_tests(path)]
        made: dict[str, Any] = {
            "prompt": f"{prompt}\n\nWrite your solution to {' and '.join(files['solution'])}.",
            "files": _read(folder, [*files["solution"], *given]),
            "fixed": {
                path: (folder / example).read_bytes()
                for path, example in _examples(files["solution"], files["example"]).items()
            },
            "protected": given,
        }
        return (self._of_python if self.language == "python" else self._built)(folder, files, made)

    def _of_python(self, folder: Path, files: Mapping[str, Sequence[str]], made: Mapping[str, Any]) -> Task:
        from benchmarks.grading.remote import Suite

        tree = ast.parse("\n".join((folder / path).read_text() for path in files["test"]))
        tests = unittest_tests([node for node in tree.body if isinstance(node, ast.ClassDef)])
        remote = _imported(tree, [Path(path).stem for path in files["solution"]])
        constants = [f"{name} = _value({name})" for name in remote if name.isupper()]
        return function_task(
            self.name,
            f"{self.name}/{folder.name}",
            suite=Suite(remote, setup="\n".join([*constants, RUN, ast.unparse(tree)]), wall_s=60.0),
            hidden=tests,
            visible=tests,
            **made,
        )

    def _built(self, folder: Path, files: Mapping[str, Sequence[str]], made: Mapping[str, Any]) -> Task:
        from benchmarks.toolchains import Suite, toolchain
        from benchmarks.toolchains.names import declared

        chain = toolchain(self.language)
        listed = _test_files(files)
        extra = _read(folder, [path for path in _unlisted(folder, files) if _of_tests(path)])
        helpers = {path: text for path, text in extra.items() if not chain.tests({path: text})}  # no further tests
        tests = {**_read(folder, [*listed, *files.get("invalidator", ())]), **helpers}
        reference = {**made["files"], **made["fixed"]}
        names = {
            name
            for path, text in reference.items()
            if self.language != "javascript"
            for name in declared(self.language, text)
        }
        suite = Suite(
            "exercise", self.language, tuple(files["solution"]), tests, names=tuple(sorted(names)), run_s=60.0
        )
        cases = [Test(name, "") for name in chain.tests(_read(folder, listed))]
        return function_task(
            self.name,
            f"{self.name}/{self.language}/{folder.name}",
            suite=suite,
            hidden=cases,
            visible=cases,
            language=self.language,
            place=chain.place,
            **made,
        )


@register("aider-polyglot")
class AiderPolyglot(Exercism):
    """The exercises of the polyglot benchmark: 34 in Python, 49 in JavaScript, 47 in Java, 39 in Go, 26 in C++, 30 in
    Rust."""

    name = "aider-polyglot"

    def folder(self) -> Path:
        url = "https://github.com/Aider-AI/polyglot-benchmark"
        place = find(self.name, self.name, self.path, get=clone(url, self.name))
        return _practice(self.name, place / self.language, clone(url, self.name))


def _practice(name: str, track: Path, get: str) -> Path:
    return find(name, "", track / "exercises" / "practice", get=get)


def _read(folder: Path, paths: Iterable[str]) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in paths}


def _test_files(files: Mapping[str, Sequence[str]]) -> list[str]:
    return [*files["test"], *(path for path in files.get("editor", ()) if _of_tests(path))]


def _unlisted(folder: Path, files: Mapping[str, Sequence[str]]) -> list[str]:
    known = {path for paths in files.values() for path in paths}
    found = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in found if path not in known and not _TOOLS.match(path)]


def _of_tests(path: str) -> bool:
    return path.endswith(_OF_TESTS) or path.startswith(("src/test/", "tests/", "test/"))


def _examples(solution: Sequence[str], examples: Sequence[str]) -> dict[str, str]:
    """Path of the workspace -> the file of the reference solution that goes there.

    It is the stub of the same name, else the first of the same ending that is left; more files go beside the stubs.
    """
    names = {PurePosixPath(path).name: path for path in solution}
    found = {names[name.name]: str(name) for name in map(PurePosixPath, examples) if name.name in names}
    waiting = [path for path in solution if path not in found]
    for example in (each for each in examples if each not in found.values()):
        name = PurePosixPath(example)
        alike = [path for path in waiting if PurePosixPath(path).suffix == name.suffix]
        if alike:
            waiting.remove(alike[0])
        found[alike[0] if alike else str(PurePosixPath(solution[0]).parent / name.name)] = example
    return found


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
