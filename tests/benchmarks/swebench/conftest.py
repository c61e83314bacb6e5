"""A small repository, rows of both generations about it, and environments built from this machine's own packages."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.base import Task
from benchmarks.swebench import pythons
from benchmarks.swebench.benchmark import SWEBench
from benchmarks.swebench.environments import RECORD
from sandbox import SandboxUnavailable

VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
BASE = {
    "calc/__init__.py": "from calc.core import add, mul\n",
    "calc/core.py": "def add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n",
    "tests/__init__.py": "",
    "tests/test_core.py": "from calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n",
    "unit/__init__.py": "",
    "unit/checks.py": "import unittest\n",
    "setup.cfg": "[metadata]\nname = calc\n",
    "README.md": "calc\n",
}
FIXED = {"calc/core.py": BASE["calc/core.py"].replace("a - b", "a + b")}
TESTS = {
    "tests/test_core.py": """\
import pytest

from calc import add, mul


def test_mul():
    assert mul(2, 3) == 6


@pytest.mark.parametrize("pair", ["1 2 3", "[a b]"], ids=["one two", "[x] y"])
def test_pairs(pair):
    assert add(1, 2) == 3


def test_add():
    assert add(2, 2) == 4
"""
}
UNIT_TESTS = {
    "unit/checks.py": '''\
import unittest

from calc import add, mul


class Checks(unittest.TestCase):
    def test_mul(self):
        self.assertEqual(mul(2, 3), 6)

    def test_add(self):
        self.assertEqual(add(2, 2), 4)

    def test_words(self):
        """Adding is commutative."""
        self.assertEqual(add(1, 2), 3)
'''
}


class World(NamedTuple):
    """Where the repository, its rows and its recipes are."""

    folder: Path
    clones: Path
    rows: Path
    recipes: Path
    wheels: Path
    cache: Path


def git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{w}_{x}": "a@b" for w in ("AUTHOR", "COMMITTER") for x in ("NAME", "EMAIL")}
    command = ["git", "-c", "init.defaultBranch=main", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **who}).stdout


def put(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def wheel(name: str, folder: Path) -> None:
    """A wheel of an installed pure Python distribution."""
    found = importlib.metadata.distribution(name)
    info = f"{found.metadata['Name'].replace('-', '_')}-{found.version}"
    with zipfile.ZipFile(folder / f"{info}-py3-none-any.whl", "w") as archive:
        record = []
        for file in found.files or ():
            path = str(file)
            if path.startswith("..") or path.endswith((".pyc", "RECORD", "INSTALLER", "direct_url.json", "REQUESTED")):
                continue
            if ".dist-info/" in path:
                path = f"{info}.dist-info/" + path.split(".dist-info/")[1]
            data = file.read_binary()
            archive.writestr(path, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
        archive.writestr(f"{info}.dist-info/RECORD", "\n".join([*record, f"{info}.dist-info/RECORD,,"]) + "\n")


def rows(clone: Path) -> list[dict[str, Any]]:
    """One 4.x and one 5.x row for pytest, one row for unittest."""
    base = git(clone, "rev-parse", "HEAD").strip()
    put(clone, FIXED)
    patch = git(clone, "diff")
    git(clone, "checkout", "-q", ".")
    patches = {}
    for name, files in (("pytest", TESTS), ("unit", UNIT_TESTS)):
        put(clone, files)
        git(clone, "add", "-N", ".")
        patches[name] = git(clone, "diff")
        git(clone, "reset", "-q", "--hard")
    common = {"repo": "fixture/calc", "base_commit": base, "patch": patch, "problem_statement": "add() subtracts."}
    # as stored: cut at the first space
    to_pass = [f"tests/test_core.py::{name}" for name in ("test_add", "test_pairs[one", "test_pairs[[x]")]
    to_keep = ["tests/test_core.py::test_mul"]
    four = {
        **common,
        "instance_id": "fixture__calc-4",
        "version": "1.0",
        "test_patch": patches["pytest"],
        "FAIL_TO_PASS": json.dumps(to_pass),
        "PASS_TO_PASS": json.dumps([*to_keep, "[100%]"]),
    }
    five = {
        **four,
        "instance_id": "fixture__calc-5",
        "FAIL_TO_PASS": to_pass,
        "PASS_TO_PASS": to_keep,
        "image": "fixture/calc:latest",
        "log_parser": "parse_log_pytest",
        "eval_type": "pass_and_fail",
        "eval_script": "#!/bin/bash\nset -uxo pipefail\ncd /testbed\n: '>>>>> Start Test Output'\n"
        "pytest -rA tests/test_core.py\n: '>>>>> End Test Output'\n",
    }
    unit = {
        **common,
        "instance_id": "fixture__calc-u",
        "version": "unit",
        "test_patch": patches["unit"],
        "FAIL_TO_PASS": ["test_add (unit.checks.Checks.test_add)", "Adding is commutative."],
        "PASS_TO_PASS": ["test_mul (unit.checks.Checks)"],
    }
    none = {**four, "instance_id": "fixture__calc-none", "FAIL_TO_PASS": "[]"}
    return [four, five, unit, none]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("swebench")
    clone = folder / "clones" / "fixture__calc"
    clone.mkdir(parents=True)
    git(clone, "init", "-q")
    put(clone, BASE)
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "base")
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(clone)))
    put(clone, {**FIXED, "secret.txt": "what came later\n"})
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "the fix")
    git(clone, "tag", "later")
    recipe = {
        "repo": "fixture/calc",
        "python": [VERSION],
        "environments": [
            {"versions": ["1.0"], "runner": "pytest", "names": "pytest", "packages": ["pytest"]},
            {"versions": ["unit"], "runner": "unittest", "names": "unittest", "tests": ["unit/"]},
        ],
    }
    put(folder / "recipes", {"fixture__calc.json": json.dumps(recipe)})
    (folder / "wheels").mkdir()
    wheel("iniconfig", folder / "wheels")
    # not below /tmp, which is a sandbox's own
    with tempfile.TemporaryDirectory(prefix=".codegym-tests-", dir=Path.home()) as cache:
        places = [folder / name for name in ("clones", "rows.jsonl", "recipes", "wheels")]
        made = World(folder, *places, Path(cache))
        put_environment(made)
        yield made


def put_environment(world: World) -> None:
    """The environment of the rows with pytest, copied from this machine's packages: pip would take 10 s."""
    bench = SWEBench("swe-lite", **options(world))
    recipe = bench.recipe(bench.row("fixture__calc-4"))
    folder = bench.environments.place(recipe, pythons.find(recipe.python))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for file in importlib.metadata.distribution(name).files or ():
            if ".." not in file.parts:  # its commands
                target = folder / "lib" / f"python{VERSION}" / "site-packages" / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(str(file.locate()), target)  # with its time, so that its compiled form counts
    (folder / RECORD).write_text("{}\n")


def options(world: World) -> dict[str, Any]:
    """The options of the benchmark on this machine: nothing from outside."""
    return {
        "rows": str(world.rows),
        "repositories": str(world.clones),
        "url": None,
        "cache": str(world.cache),
        "recipes": str(world.recipes),
        "pip": f"--no-index --find-links {world.wheels}",
        "timeout": 60.0,
    }


@pytest.fixture(scope="session")
def bench(world: World) -> Iterator[SWEBench]:
    made = SWEBench("swe-lite", **options(world))
    yield made
    made.close()


@pytest.fixture(scope="session")
def docker() -> Iterator[Any]:
    """The daemon's client. Skips where there is none; fails where .ci/run started one."""
    from sandbox.docker import daemon, image

    try:
        api = daemon.client()
        image.find(api, None)
    except SandboxUnavailable as error:
        if os.environ.get("CODEGYM_TEST_DOCKER"):
            pytest.fail(f"Docker was started, but: {error}")
        pytest.skip(str(error))
    with contextlib.closing(api):
        yield api


def changed(task: Task, files: Mapping[str, str | None]) -> dict[str, bytes]:
    """The task's workspace with these files written, or removed where None."""
    made = {**task.workspace, **{path: text.encode() for path, text in files.items() if text is not None}}
    return {path: data for path, data in made.items() if path not in files or files[path] is not None}
