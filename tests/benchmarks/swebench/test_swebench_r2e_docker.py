"""Rows of R2E-Gym in images of their form that the test makes: one whose command is pytest's, one whose log is read."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import codegym  # noqa: F401 - registers the environments
from benchmarks.base import reference
from benchmarks.swebench import images, r2e
from benchmarks.swebench.benchmark import SWEBench
from codegym.cli import main
from codegym.workspace import EpisodeFiles
from tests.benchmarks.swebench.conftest import BASE, VERSION, changed
from tests.benchmarks.swebench.r2e_rows import ID, PRINTED, RECORDED, TESTS, raw

IMAGES = {"recorded": ("r2e/calc:1", RECORDED), "printed": ("r2e/calc:2", PRINTED)}
CONFTEST = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""
ATTACK = {
    "r2e_tests/__init__.py": "",
    "r2e_tests/test_1.py": "def test_mul():\n    pass\n",
    "r2e_tests/conftest.py": CONFTEST,
    "run_tests.sh": "echo PASSED r2e_tests/test_1.py::test_mul\n",
    "conftest.py": CONFTEST,
    "tests/helper.py": "TWO = type('Two', (int,), {'__eq__': lambda self, other: True})(2)\n",
    ".venv/bin/python": "#!/bin/sh\necho PASSED r2e_tests/test_1.py::test_mul\n",
    ".venv/pyvenv.cfg": "",
}


def image_tar(command: str) -> bytes:
    """/testbed with its environment and history, /r2e_tests, and a /root that is root's alone, as Ubuntu's is."""
    python = Path(os.path.realpath(sys.executable))
    files = {f"testbed/{path}": text for path, text in {**BASE, "calc/old.py": "OLD = 1\n"}.items()}
    files |= {f"r2e_tests/{path}": text for path, text in TESTS.items()}
    files |= {"testbed/run_tests.sh": command, "testbed/.git/HEAD": "later\n", "testbed/parsed_commit.json": "{}"}
    files |= {"testbed/.venv/pyvenv.cfg": f"home = {python.parent}\ninclude-system-site-packages = false\n"}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        root = tarfile.TarInfo("root")
        root.type, root.mode = tarfile.DIRTYPE, 0o700
        tar.addfile(root)
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
        for link, target in {"python": "/root/python", "python3": "python"}.items():
            entry = tarfile.TarInfo(f"testbed/.venv/bin/{link}")
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
        entry = tarfile.TarInfo("root/python")
        entry.type, entry.linkname = tarfile.SYMTYPE, str(python)
        tar.addfile(entry)
        for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
            for file in importlib.metadata.distribution(name).files or ():
                if not str(file).startswith("..") and not str(file).endswith(".pyc"):
                    tar.add(str(file.locate()), f"testbed/.venv/lib/python{VERSION}/site-packages/{file}")
    return buffer.getvalue()


@pytest.fixture(scope="module")
def rows(docker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """A file of one row for each image."""
    from sandbox.docker import daemon, image

    found = {}
    for name, (tag, command) in IMAGES.items():
        container = docker.containers.create(image.find(docker, None), ["-"], entrypoint=["-"], network_mode="none")
        try:
            container.put_archive("/", image_tar(command))
            path = "/testbed/.venv/bin:/usr/local/bin:/usr/bin:/bin"
            container.commit(*tag.split(":"), changes=[f"ENV PATH={path}"])
        finally:
            daemon.remove(container)
        found[name] = tmp_path_factory.mktemp("r2e") / f"{name}.jsonl"
        found[name].write_text(json.dumps(raw(tag)) + "\n")
    yield found
    made = [images.prepared(tag, hidden) for tag, _ in IMAGES.values() for hidden in ((), r2e.HIDDEN)]
    images.prepared.cache_clear()
    for each in (*made, *(tag for tag, _ in IMAGES.values())):
        docker.images.remove(each, force=True)


@pytest.fixture(params=IMAGES)
def bench(request: pytest.FixtureRequest, rows: dict[str, Path]) -> SWEBench:
    return SWEBench("swe-lite", rows=str(rows[request.param]), mode="docker", timeout=60.0)


def test_gold_resolves_and_nothing_else_does(bench: SWEBench) -> None:
    task = bench.task(ID)
    right = {"test_mul": "passed", "TestAdd.test_wrong": "passed"}
    untouched = bench.grade(task, task.workspace)
    assert (untouched.resolved, untouched.score, untouched.infra_error) == (False, 0.4, None)
    assert right.items() <= untouched.tests.items()
    assert bench.grade(task, changed(task, dict(ATTACK))) == untouched
    gold = bench.grade(task, reference(task) or {})
    assert (gold.resolved, gold.score) == (True, 1.0), (gold.details, gold.infra_error)


def test_the_agent_sees_neither_tests_nor_command(bench: SWEBench) -> None:
    task = bench.task(ID)
    assert sorted(task.workspace) == sorted({**BASE, "calc/old.py": ""})
    with contextlib.closing(EpisodeFiles(task)) as files:
        names = files.shell("find / -name proc -prune -o -print 2>/dev/null | grep -E 'r2e_tests|run_tests.sh|parsed_'")
        where = files.shell("python -c 'import sys, calc, pytest; print(sys.prefix, calc.__file__)'; ls -a /testbed")
    assert names.stdout == b""
    prefix, imported, *listed = where.stdout.decode().split()
    assert (prefix, imported) == ("/testbed/.venv", "/box/work/calc/__init__.py"), where
    assert {"calc", ".venv"} <= set(listed)
    assert ".git" not in listed


def test_from_the_command_line(rows: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    given = ["SWE-Lite", "--docker", "--rows", str(rows["recorded"])]
    assert main(["prepare", *given]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"1/1 {ID}  r2e/calc:1: here, ")
    assert last.startswith("1 of 1 ready, 1 images, ")
    assert main(["verify", "--timeout", "60", *given]) == 0
    line = capsys.readouterr().out.splitlines()[-2].split()
    assert (line[:3], line[-1]) == ([ID, "0/0", "5/5"], "behaves")


def test_as_an_environment(rows: dict[str, Path]) -> None:
    with contextlib.closing(gymnasium.make("codegym/SWE-Lite-v0", rows=str(rows["recorded"]), mode="docker")) as env:
        observation, _ = env.reset(seed=1, options={"task_id": ID})
        assert "**add() subtracts**" in observation
