"""Every program of the repair benchmark passes its own tests, is of the promised size, and says what it must do."""

from __future__ import annotations

import ast
import contextlib
import doctest
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.repair.program import PROGRAMS

FOLDERS = sorted(path.parent for path in PROGRAMS.glob("*/hidden.txt"))
NAMES = [folder.name for folder in FOLDERS]
# A program is Python's standard library without the world outside: no files, no clock, no chance.
ALLOWED_IMPORTS = {"collections", "fractions", "heapq"}
FORBIDDEN_CALLS = {"input", "open", "print", "eval", "exec"}
TOP_LEVEL = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.ClassDef)


def modules(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.py"))}


def blocks(path: Path) -> list[tuple[str, str]]:
    """The (name, examples) of a test file."""
    pairs = [block.partition("\n")[::2] for block in re.split(r"\n\n+", path.read_text("utf-8").strip("\n"))]
    return [(head.removesuffix(":"), body + "\n") for head, body in pairs]


def documented(tree: ast.Module) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef]:
    """The nodes that can have a docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield node


def code_lines(source: str) -> tuple[int, int]:
    """Lines that are neither blank nor comments, with and without docstrings."""
    lines = {n for n, line in enumerate(source.split("\n"), 1) if line.strip() and not line.strip().startswith("#")}
    prose: set[int] = set()
    for node in documented(ast.parse(source)):
        if ast.get_docstring(node) is not None:
            prose.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines), len(lines - prose)


@contextlib.contextmanager
def fresh(folder: Path) -> Iterator[None]:
    """The folder is on the path and none of its modules is loaded, before and after."""
    names = modules(folder)
    hidden = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)


def test_there_are_enough() -> None:
    assert len(FOLDERS) >= 44
    assert sum(len(modules(folder)) > 1 for folder in FOLDERS) >= 8


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_holds_data_only(folder: Path) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", folder.name)
    files = {path.name for path in folder.iterdir() if path.name != "__pycache__"}
    assert files == {f"{name}.py" for name in modules(folder)} | {"visible.txt", "hidden.txt"}
    assert "__init__" not in modules(folder)
    assert not set(modules(folder)) & set(sys.stdlib_module_names)


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_size(folder: Path) -> None:
    counts = [code_lines(source) for source in modules(folder).values()]
    assert sum(code for _, code in counts) >= 20
    assert sum(whole for whole, _ in counts) <= (80 if len(counts) == 1 else 120)
    assert all(len(line) <= 120 for source in modules(folder).values() for line in source.split("\n"))


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_is_pure_and_documented(folder: Path) -> None:
    sources = modules(folder)
    for name, source in sources.items():
        tree = ast.parse(source, name)
        assert ast.get_docstring(tree)
        assert all(isinstance(node, TOP_LEVEL) for node in tree.body[1:])
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert {alias.name for alias in node.names} <= ALLOWED_IMPORTS
            elif isinstance(node, ast.ImportFrom):
                assert node.module in ALLOWED_IMPORTS | set(sources)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in FORBIDDEN_CALLS
        for scope in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
            for node in scope.body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                    assert ast.get_docstring(node), f"{name}.{node.name} says nothing"


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_counts_and_names_of_tests(folder: Path) -> None:
    visible, hidden = (blocks(folder / name) for name in ("visible.txt", "hidden.txt"))
    assert 4 <= len(visible) <= 8
    assert 12 <= len(hidden) <= 25
    for tests in (visible, hidden):
        names = [name for name, _ in tests]
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)
    assert {body for _, body in visible} != {body for _, body in hidden}


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
@pytest.mark.parametrize("file", ["visible.txt", "hidden.txt"])
def test_passes_its_own_tests(folder: Path, file: str) -> None:
    for name, body in blocks(folder / file):
        examples = doctest.DocTestParser().get_examples(body, name)
        assert any(example.want for example in examples), f"{name} wants nothing"
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.DONT_ACCEPT_TRUE_FOR_1)
        with fresh(folder):
            runner.run(doctest.DocTest(examples, {}, name, file, 0, body), out=report.append)
        assert not report, "".join(report)
        assert runner.tries == len(examples)


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_parts_of_a_program_need_each_other(folder: Path) -> None:
    """Each module of several is imported by another or imports one."""
    sources = modules(folder)
    edges = {
        (name, node.module)
        for name, source in sources.items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module in sources
    }
    assert len(sources) == 1 or {name for edge in edges for name in edge} == set(sources)
