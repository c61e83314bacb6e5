"""``codegym check``: tasks that misbehave are found, written down, and left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import base, checking, exclusions
from benchmarks.base import Benchmark, Grade, Task, Test
from benchmarks.functions import FunctionBenchmark, function_task
from benchmarks.grading.remote import Suite
from codegym.cli import main

ROWS = {
    "good": ("def f(x): return x", "def f(x): return x + 1", "assert f(1) == 2"),
    "gold fails": ("def f(x): return x", "def f(x): return x + 2", "assert f(1) == 2"),
    "untouched passes": ("def f(x): return 2", "def f(x): return x + 1", "assert f(1) == 2"),
    "flakes": (
        "def f(x): return 0",
        "import os\ndef f(x): return os.urandom(1)[0] % 2",
        "assert f(1) == 1",
    ),
}


class Shaky(FunctionBenchmark):
    name = "shaky"

    def rows(self, split: str) -> Iterator[dict[str, Any]]:
        for name, row in ROWS.items():
            yield {"name": name, "row": row}

    def make(self, row: Any) -> Task:
        untouched, fixed, test = row["row"]
        return function_task(
            self.name,
            row["name"],
            prompt="",
            files={"solution.py": untouched.encode()},
            fixed={"solution.py": fixed.encode()},
            suite=Suite({"f": "solution:f"}),
            hidden=[Test("t", test)],
        )


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path))
    monkeypatch.setitem(base._REGISTRY, "shaky", Shaky)
    return tmp_path


def test_the_command_writes_what_the_loader_honours(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "shaky", "--runs", "20"]) == 0  # it goes one way 20 times in one of 500,000 tests
    out = capsys.readouterr().out
    assert "gold fails: the reference fails: t failed (f(1) gave 3, want 2)" in out
    assert "untouched passes: the untouched version resolves" in out
    assert "flakes: the reference flakes" in out
    assert "4 tasks checked: 1 behave, 3 do not, 0 could not be checked" in out
    written = json.loads((place / "exclude" / "shaky.json").read_text())
    assert sorted(written) == ["flakes", "gold fails", "untouched passes"]
    bench = Shaky()
    assert [task.id for task in bench.tasks("test")] == ["good"]
    assert bench.task("flakes").id == "flakes"
    assert len(bench.all_tasks("test")) == 4


def test_a_task_that_was_mended_comes_back(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "shaky", "--task-id", "gold fails", "--task-id", "good"]) == 0
    assert list(exclusions.read("shaky")) == ["gold fails"]
    monkeypatch.setitem(ROWS, "gold fails", ROWS["good"])
    assert main(["check", "shaky", "--tasks", "2"]) == 0
    assert exclusions.read("shaky") == {}
    assert not exclusions.place("shaky").exists()
    assert "no task is left out" in capsys.readouterr().out


def test_printing_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "shaky", "--task-id", "gold fails", "--no-write"]) == 0
    assert exclusions.read("shaky") == {}
    assert main(["check", "shaky", "--runs", "0"]) == 2
    assert main(["check", "none"]) == 2
    assert "no benchmark named 'none'" in capsys.readouterr().err


class Dead(Benchmark):
    name = "dead"

    def tasks(self, split: str) -> list[Task]:
        return []

    task = tasks  # type: ignore[assignment]

    def grade(self, task: Task, workspace: base.Workspace) -> Grade:
        return Grade(False, 0.0, {}, infra_error="no disk")

    check = grade


def test_a_broken_machine_says_nothing_of_a_task() -> None:
    task = Task("a", "dead", "", "python", {}, (), (), meta={"fixed": {}})
    assert checking.check_task(Dead(), task, 1) == checking.Checked("a", None, "no disk")
    bare = Task("a", "dead", "", "python", {}, (), ())
    assert checking.check_task(Dead(), bare, 1).problem == "it has no reference solution"


def test_a_reference_solution_is_changes_of_the_workspace() -> None:
    old = {"m.py": b"", "n.py": b"2", "gone.py": b""}
    new = {"m.py": b"1", "n.py": b"2", "more.py": b""}
    changes = base.changes(old, new)
    assert changes == {"m.py": b"1", "more.py": b"", "gone.py": None}
    task = Task("a", "dead", "", "python", old, (), (), meta={"fixed": changes})
    assert base.reference(task) == new
    assert base.reference(Task("a", "dead", "", "python", old, (), ())) is None


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_spoilt_list_says_so(place: Path, content: str) -> None:
    (place / "exclude").mkdir()
    (place / "exclude" / "shaky.json").write_text(content)
    with pytest.raises(ValueError, match=r"shaky\.json .*mend or remove"):
        Shaky().tasks("test")
