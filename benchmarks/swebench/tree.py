"""The files that are graded: what the agent left, with everything that says how it is tested put back.

::

    plan = Plan(row, recipe, base)                    # the task's side: applies the test patch
    files = plan.graded(workspace)                    # the agent's code under the task's tests

Taken from the task, whatever the agent did to them: the files of the test patch; test folders and test files; whatever
configures a test run (conftest.py, pytest.ini, setup.cfg, ...), starts with the interpreter (sitecustomize.py, *.pth),
registers a plugin (*.egg-info) or is compiled (*.pyc). Files of these kinds that only the agent has are left out. Where
the task's own solution changes such a file, configuration comes from the solution and a test file from the agent.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from benchmarks.base import Workspace
from benchmarks.swebench import patches
from benchmarks.swebench.recipes import Recipe
from benchmarks.swebench.rows import Row
from sandbox import SandboxError

CONFIGURATION = frozenset(
    {
        *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
        *("tox.ini", "setup.cfg", "pyproject.toml", "sitecustomize.py", "usercustomize.py"),
    }
)
TEST_FOLDERS = frozenset({"tests", "testing"})
# Not tests, by swebench's list: what a test patch brings besides.
_NO_TESTS = (".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")
_TEST_FILE = re.compile(r"(test_.*|.*_test|tests)\.py")
_CANARY = """\
import unittest


class Test{a}(unittest.TestCase):
    def test_{b}(self):
        self.assertEqual([{c}], [{c} + 1])

    def test_{c}(self):
        raise ValueError({c})
"""
_CANARY_FUNCTION = """

def test_{d}():
    assert ({c}, 2) == (2, {c})
"""


class RowPatchError(SandboxError):
    """A patch of the row itself does not fit its base."""


@dataclass(frozen=True)
class Canary:
    """Tests that must fail, under names no one knows: a run in which one passes, or is missing, was tampered with."""

    path: str
    text: str
    names: tuple[str, ...]


class Plan:
    """How one row's workspaces are made ready for its tests.

    Args:
        base: the files at the base commit, of which ``executable`` may be run by name. Of a row whose patch makes the
            bug they may be the healthy ones, as SWE-smith's images have them, or those with the bug; ``self.base`` has
            the bug, and lacks the test files of the fail-to-pass tests, which SWE-smith takes away too.
        tests: hidden tests beside those of the row's patch (R2E-Gym's, of its image): these are run.

    Raises RowPatchError when the row's own patches do not apply to its base.
    """

    def __init__(
        self,
        row: Row,
        recipe: Recipe,
        base: Workspace,
        executable: tuple[str, ...] = (),
        *,
        tests: Workspace | None = None,
    ) -> None:
        self.row, self.recipe, self.base, self.executable = row, recipe, base, executable
        self._tests = {} if tests is None else tests
        self.hidden: Workspace = base
        with _of(row):
            self._of_tests = _names(row.test_patch)
            self._of_gold = _names(row.patch)
            if row.test_patch:
                self.hidden = patches.apply(base, row.test_patch, strict=True).files
            if row.reversed_patch:
                self.hidden, self._healthy = _with_and_without(base, row.patch)
                stale = _compiled(self.hidden, self._of_gold)
                self.hidden, self._healthy = _less(self.hidden, stale), _less(self._healthy, stale)
                self._of_tests = {path for path in _named(row) if path in self.hidden and _tests(path)}
                self.base = _less(self.hidden, self._of_tests)
            self.hidden = {**self.hidden, **self._tests}
            self._of_tests |= set(self._tests)

    @cached_property
    def gold(self) -> Workspace:
        """The files of the reference solution, without the hidden tests."""
        if self.row.reversed_patch:
            return _less(self._healthy, self._of_tests)
        with _of(self.row):
            return patches.apply(self.base, self.row.patch, strict=True).files

    def graded(self, workspace: Workspace) -> dict[str, bytes]:
        """The files to run the tests on."""
        own = {path: data for path, data in self.hidden.items() if self._is_tasks(path)}
        for path in self._of_gold - self._of_tests:
            if _configures(path):
                own.pop(path, None)
                if path in self.gold:
                    own[path] = self.gold[path]
        files = {
            path: data
            for path, data in workspace.items()
            if not self._is_tasks(path) and not (path in self._of_gold and _configures(path))
        }
        return {**_without(files, own), **own, **{path: text.encode() for path, text in self.recipe.files.items()}}

    def directives(self) -> list[str]:
        """The test files to run, as the runner wants them: those of the test patch, else those that ids name."""
        files = [path for path in sorted(self._tests) if _TEST_FILE.fullmatch(PurePosixPath(path).name)] or [
            each.path
            for each in patches.touched(self.row.test_patch)
            if not each.path.endswith(_NO_TESTS) and each.path in self.hidden
        ]
        if not files:
            files = list(dict.fromkeys(name.split("::")[0] for name in self.row.ids if "::" in name))
        return [self._directive(path) for path in files]

    def watched(self) -> list[str]:
        """Files of the task that must stay as they are while the tests are collected."""
        return [
            path
            for path in self.hidden
            if (path in self._of_tests and path.endswith(".py")) or PurePosixPath(path).name == "conftest.py"
        ]

    def canary(self) -> Canary:
        """A test file beside the last hidden one."""
        a, b, d = (secrets.token_hex(4) for _ in range(3))
        c = secrets.randbelow(1 << 30)
        places = [each for each in self._tests or self._of_tests if each.endswith(".py") and each in self.hidden]
        places = sorted(places, key=lambda path: (_TEST_FILE.fullmatch(PurePosixPath(path).name) is None, path))
        folder = PurePosixPath(places[0]).parent if places else PurePosixPath(self._first_file()).parent
        text = _CANARY + ("" if self.recipe.runner != "pytest" else _CANARY_FUNCTION)
        names = (f"test_{b}", f"test_{c}") + (() if self.recipe.runner != "pytest" else (f"test_{d}",))
        return Canary(str(folder / f"test_{a}.py"), text.format(a=a, b=b, c=c, d=d), names)

    def canary_directive(self, canary: Canary) -> str:
        return self._directive(canary.path)

    def _first_file(self) -> str:
        return next((name.split("::")[0] for name in self.row.ids if "::" in name), "test_nothing.py")

    def _directive(self, path: str) -> str:
        if self.recipe.runner != "django":
            return path
        return path.removesuffix(".py").removeprefix("tests/").replace("/", ".")

    def _is_tasks(self, path: str) -> bool:
        if path in self._of_tests:
            return True
        if path in self._of_gold:
            return False  # the solution changes it, so the agent may
        return _configures(path) or _tests(path) or any(_below(path, each) for each in self.recipe.tests)


def _names(patch: str) -> set[str]:
    return {name for each in patches.touched(patch) for name in (each.path, each.old_path) if name}


def _with_and_without(files: Workspace, patch: str) -> tuple[Workspace, Workspace]:
    """The files with a patch and without it; it may be in them or not. Raises PatchError."""
    try:
        return patches.apply(files, patch, strict=True).files, files
    except patches.PatchError:
        return files, patches.reverse(patch, files)


def kept_back(row: Row) -> tuple[str, ...]:
    """Files of an image that would tell the solution of a row whose patch makes the bug, and its tests."""
    return tuple(sorted(_names(row.patch) | _named(row))) if row.reversed_patch else ()


def _named(row: Row) -> set[str]:
    """The files of the fail-to-pass tests."""
    return {name.split("::")[0] for name in row.fail_to_pass if "::" in name}


def _compiled(files: Collection[str], sources: Collection[str]) -> set[str]:
    """The compiled forms of Python sources: they would tell what stands in them."""
    stems = {(str(path.parent / "__pycache__"), path.stem) for path in map(PurePosixPath, sources)}
    found = ((path, PurePosixPath(path)) for path in files if path.endswith((".pyc", ".pyo")))
    return {path for path, each in found if (str(each.parent), each.name.split(".")[0]) in stems}


def _less(files: Workspace, paths: Collection[str]) -> Workspace:
    return {path: data for path, data in files.items() if path not in paths}


@contextmanager
def _of(row: Row) -> Iterator[None]:
    try:
        yield
    except patches.PatchError as error:
        raise RowPatchError(f"{row.instance_id}: a patch of its own does not apply: {error}") from error


def _configures(path: str) -> bool:
    parts = path.split("/")
    return (
        parts[-1] in CONFIGURATION
        or path.endswith((".pth", ".pyc", ".pyo"))  # compiled code may be told not to look at its source
        or any(part.endswith((".egg-info", ".dist-info")) for part in parts)
    )


def _tests(path: str) -> bool:
    *folders, name = path.split("/")
    return bool(TEST_FOLDERS & set(folders)) or _TEST_FILE.fullmatch(name) is not None


def _below(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


def _without(files: dict[str, bytes], own: Collection[str]) -> dict[str, bytes]:
    """The files less those that stand in the way of the task's own: a file where a folder must be, or the reverse."""
    folders = {str(folder) for path in own for folder in PurePosixPath(path).parents}
    names = set(own)
    return {
        path: data
        for path, data in files.items()
        if path not in folders and not any(str(folder) in names for folder in PurePosixPath(path).parents)
    }
