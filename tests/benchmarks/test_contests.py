"""APPS, CodeContests and LiveCodeBench, read into the rows of programs and of functions."""

from __future__ import annotations

import base64
import json
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks.contests import private_cases
from benchmarks.data import MissingData


@pytest.fixture(autouse=True)
def no_exclusions(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path_factory.mktemp("home")))


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_apps(tmp_path: Path) -> None:
    cases = {"inputs": ["1 2\n", ["3", "4"]], "outputs": ["3\n", ["7"]]}
    row = {"problem_id": 7, "question": "Add.", "input_output": json.dumps(cases), "starter_code": ""}
    row["solutions"] = json.dumps(["print(sum(map(int, open(0).read().split())))"])
    calls = {"fn_name": "add", "inputs": [[1, [2.5]], [0, []]], "outputs": [[[1, 2.5]], [0]]}
    solution = (
        "class Solution:\n    def add(self, a: int, b: List[float]) -> Any:\n        return (a, *b) if b else a\n"
    )
    called = {**row, "problem_id": 8, "input_output": json.dumps(calls), "solutions": json.dumps([solution])}
    called["starter_code"] = "class Solution:\n    def add(self, a: int, b: List[float]) -> Any:\n"
    none = {**row, "problem_id": 9, "input_output": ""}
    huge = {
        **called,
        "problem_id": 10,
        "input_output": f'{{"fn_name": "add", "inputs": [[1]], "outputs": [{"9" * 5000}]}}',
    }
    lines(tmp_path / "test.jsonl", row, called, none, huge)
    bench = benchmarks.load("apps", path=tmp_path)
    task, other = bench.tasks("test")
    assert (task.id, len(task.visible), len(task.hidden)) == ("apps/7", 1, 2)
    assert bench.grade(task, task.meta["fixed"]).resolved
    assert (other.id, len(other.visible), len(other.hidden)) == ("apps/8", 1, 2)
    assert b"from typing import *" in other.workspace["main.py"]
    assert "`add`" in other.prompt
    assert bench.grade(other, other.meta["fixed"]).resolved, bench.grade(other, other.meta["fixed"])
    assert bench.check(other, other.meta["fixed"]).resolved
    assert not bench.grade(other, other.workspace).resolved
    plain = b"def add(a, b): return [[a, *b]] if b else [a]"  # a function will do; no result is unwrapped twice
    assert bench.grade(other, {"main.py": plain}).tests == {"case 1": "passed", "case 2": "passed"}
    bench.close()
    with pytest.raises(MissingData, match="codegym fetch apps"):
        bench.tasks("train")


def test_code_contests(tmp_path: Path) -> None:
    row = {
        "name": "1_A. Sum",
        "description": "Add.",
        "public_tests": {"input": ["1 2"], "output": ["3"]},
        "private_tests": {"input": ["5 5"], "output": ["10"]},
        "generated_tests": {"input": ["1 2", "0 0"], "output": ["3", "0"]},
        "solutions": {"language": [2, 3], "solution": ["int main() {}", "print(sum(map(int, input().split())))"]},
        "time_limit": {"seconds": 1, "nanos": 500_000_000},
    }
    bench = benchmarks.load("code-contests", path=lines(tmp_path / "rows.jsonl", row))
    (task,) = bench.tasks("test")
    assert len(task.hidden) == 3  # a case that is there twice counts once
    assert json.loads(task.hidden[0].body)[2] == 4.5
    assert bench.grade(task, task.meta["fixed"]).resolved


def lcb(number: int, date: str, private: str, public: list[dict[str, str]] | None = None) -> dict[str, Any]:
    public = public or [{"input": "1 2", "output": "3", "testtype": "stdin"}]
    return {
        "question_id": f"abc{number}",
        "question_title": "Sum",
        "question_content": "Add.",
        "contest_date": date,
        "public_test_cases": json.dumps(public),
        "private_test_cases": private,
    }


def packed(value: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


def test_livecodebench_and_its_window(tmp_path: Path) -> None:
    hidden = json.dumps([{"input": "5 5", "output": "10", "testtype": "stdin"}])
    path = lines(
        tmp_path / "rows.jsonl",
        lcb(1, "2024-01-31T00:00:00", hidden),
        lcb(2, "2025-02-01T00:00:00", packed(hidden)),
    )

    def ids(**window: str) -> list[str]:
        return [task.id for task in benchmarks.load("livecodebench", path=path, **window).tasks("test")]

    assert ids() == ["livecodebench/abc1", "livecodebench/abc2"]
    assert ids(since="2025-01-01") == ["livecodebench/abc2"]
    assert ids(until="2024-01-31") == ["livecodebench/abc1"]
    with pytest.raises(ValueError, match="no task of split 'test'"):
        ids(since="2024-02-01", until="2025-01-31")
    bench = benchmarks.load("livecodebench", path=path)
    task = bench.task("livecodebench/abc2")
    assert (task.meta["date"], len(task.visible), len(task.hidden)) == ("2025-02-01", 1, 2)
    assert bench.grade(task, {"main.py": b"print(sum(map(int, input().split())))"}).resolved
    with pytest.raises(ValueError, match="after"):
        benchmarks.load("livecodebench", since="2025-01-01", until="2024-01-01")


FORGERIES = {
    "equals everything": "class Any_:\n    __eq__ = lambda *_: True\ndef twice(a, b): return Any_()",
    "ends the process": "import os\nos._exit(0)",
    "patches comparison": "import builtins\nbuiltins.isinstance = lambda *_: True\ndef twice(a, b): return []",
    "a list that is always right": "class L(list):\n    __eq__ = lambda *_: True\ndef twice(a, b): return L([0])",
    "searches for the results": "import gc\ndef twice(a, b):\n"
    "    return next((x for x in gc.get_objects() if isinstance(x, list) and x == [8, 8]), None)",
}


def test_functions_of_livecodebench(tmp_path: Path) -> None:
    public = [{"input": "[1]\n3", "output": "[2, 3]", "testtype": "functional"}]
    hidden = json.dumps([{"input": "[4, 4]\n0", "output": "[8, 8]", "testtype": "functional"}])
    row = lcb(3, "2025-03-01T00:00:00", hidden, public)
    row["metadata"] = json.dumps({"func_name": "twice"})
    row["starter_code"] = "class Solution:\n    def twice(self, a: List[int], b: int) -> List[int]:\n        "
    bench = benchmarks.load("livecodebench", path=lines(tmp_path / "rows.jsonl", row))
    (task,) = bench.tasks("test")
    assert task.workspace["main.py"].startswith(b"from typing import *")
    right = task.workspace["main.py"] + b"return [2 * x for x in a] + ([b] if b else [])\n"
    assert bench.grade(task, {"main.py": right}).tests == {"case 1": "passed", "case 2": "passed"}
    assert bench.check(task, {"main.py": right}).tests == {"public 1": "passed"}
    short = bench.check(task, {"main.py": b"def twice(a, b): return [2]"})
    assert short.details["public 1"].endswith("([1], 3) gave [2], want [2, 3]")
    for name, source in FORGERIES.items():
        grade = bench.grade(task, {"main.py": source.encode()})
        assert not grade.resolved, name
        assert grade.tests["case 2"] != "passed", name
    bench.close()


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("/nowhere/evil",)


def test_a_data_file_runs_no_code() -> None:
    with pytest.raises(ValueError, match=r"mkdir instead of text"):
        private_cases(packed(Evil()))


@pytest.mark.parametrize("name", ["stdio", "apps", "code-contests", "livecodebench"])
def test_missing_data_is_said_with_its_remedy(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path))
    with pytest.raises(MissingData, match=r"codegym fetch|put your own"):
        benchmarks.load(name).tasks("test")
