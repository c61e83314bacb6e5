"""Verdicts on the fixture repository: the solution resolves, nothing does not, the machine's faults are named."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest

from benchmarks.base import reference
from benchmarks.swebench.benchmark import SWEBench
from tests.benchmarks.swebench.conftest import FIXED, World, changed, options

NAMES = ["fixture__calc-4", "fixture__calc-5", "fixture__calc-u"]


@pytest.mark.parametrize("name", NAMES)
def test_gold_resolves_and_empty_does_not(bench: SWEBench, name: str):
    task = bench.task(name)
    empty = bench.grade(task, task.workspace)
    assert not empty.resolved
    assert empty.infra_error is None
    kept = [test.id for test in task.hidden if test.body == "pass to pass"]
    assert [test for test, status in empty.tests.items() if status == "passed"] == kept
    assert dict(task.meta["fixed"]) == {path: text.encode() for path, text in FIXED.items()}  # changes, nothing else
    gold = bench.grade(task, reference(task) or {})
    assert gold.resolved, gold.details
    assert (gold.score, set(gold.tests.values())) == (1.0, {"passed"})
    assert bench.grade(task, changed(task, FIXED)).resolved


def test_a_task_without_ids_is_refused(bench: SWEBench):
    assert "fixture__calc-none" not in bench.rows("test")
    with pytest.raises(KeyError, match="nothing could be judged"):
        bench.task("fixture__calc-none")
    with pytest.raises(KeyError, match="ids look like fixture__calc-4"):
        bench.task("no-such")
    assert [task.id for task in bench.tasks("test")] == NAMES


def test_the_workspace_holds_nothing_of_later_commits(bench: SWEBench):
    files = bench.task(NAMES[0]).workspace
    assert "secret.txt" not in files
    assert not any(".git" in path.split("/") for path in files)


def test_partial_score(bench: SWEBench):
    task = bench.task(NAMES[0])
    half = changed(task, {"calc/core.py": "def add(a, b):\n    return 3\n\n\ndef mul(a, b):\n    return a * b\n"})
    grade = bench.grade(task, half)
    assert (grade.resolved, grade.score) == (False, 0.75)
    assert grade.details == {"tests/test_core.py::test_add": "tests/test_core.py::test_add: FAILED"}


def test_too_slow_is_a_time_out(bench: SWEBench):
    slow = SWEBench("swe-lite", **{**_options(bench), "timeout": 3.0})
    task = slow.task("fixture__calc-u")
    grade = slow.grade(task, changed(task, {"calc/core.py": "import time\ntime.sleep(60)\n"}))
    assert (grade.resolved, grade.infra_error) == (False, None)
    assert set(grade.tests.values()) == {"timeout"}


def _options(bench: SWEBench) -> dict[str, object]:
    return {
        "rows": bench.source,
        "repositories": str(bench.repositories._folder),
        "url": None,
        "cache": str(bench.cache),
        "recipes": bench.recipes,
    }


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"repositories": None, "cache": "EMPTY"}, "give repositories=FOLDER"),
        ({"recipes": None}, "no recipe to run fixture/calc"),
        ({"pip": "--no-index", "cache": "EMPTY"}, "could not be built"),
        ({"cache": "/tmp/codegym"}, "give cache=FOLDER"),
    ],
)
def test_what_the_machine_lacks_is_an_infra_error(world: World, wrong, message):
    with tempfile.TemporaryDirectory(prefix=".codegym-tests-", dir=Path.home()) as empty:
        wrong = {key: empty if value == "EMPTY" else value for key, value in wrong.items()}
        bench = SWEBench("swe-lite", **{**options(world), **wrong})
        grade = bench.grade(bench.task(NAMES[0]), {"a.py": b""})
    assert grade.infra_error is not None
    assert message in grade.infra_error
    assert set(grade.tests.values()) == {"error"}


def test_tests_that_run_nowhere_are_the_machines_fault(world: World, tmp_path):
    row = json.loads(world.rows.read_text().splitlines()[0])
    row |= {"FAIL_TO_PASS": ["tests/test_core.py::test_other"], "PASS_TO_PASS": []}
    (tmp_path / "rows.json").write_text(json.dumps([row]))
    bench = SWEBench("swe-lite", **{**options(world), "rows": str(tmp_path / "rows.json")})
    task = bench.task(NAMES[0])
    grade = bench.grade(task, task.workspace)
    assert grade.infra_error is not None
    assert "not even on its reference solution" in grade.infra_error


def test_a_missing_python_is_named(world: World, tmp_path, monkeypatch):
    recipe = (world.recipes / "fixture__calc.json").read_text().replace('"python": ["3', '"python": ["2.0", "1.')
    (tmp_path / "fixture__calc.json").write_text(recipe)
    bench = SWEBench("swe-lite", **{**options(world), "recipes": str(tmp_path)})
    task = bench.task(NAMES[0])
    error = bench.grade(task, task.workspace).infra_error
    assert error is not None
    assert "no Python 2.0 or 1." in error
    assert "pyenv install 2.0" in error


def test_an_agent_that_breaks_the_runner_it_works_on_fails(world: World, tmp_path: Path):
    recipe = json.loads((world.recipes / "fixture__calc.json").read_text())
    recipe["environments"][0]["graded_runner"] = True  # as in pytest's own repository
    (tmp_path / "fixture__calc.json").write_text(json.dumps(recipe))
    bench = SWEBench("swe-lite", **{**options(world), "recipes": str(tmp_path)})
    task = bench.task("fixture__calc-4")
    grade = bench.grade(task, changed(task, {**FIXED, "pytest.py": "raise ImportError('half an edit')\n"}))
    assert (grade.resolved, grade.infra_error) == (False, None)
    assert set(grade.tests.values()) == {"error"}
