"""BigCodeBench: rows of its format are graded where their libraries are, and never as a zero where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import benchmarks
from benchmarks.base import reference
from benchmarks.bigcodebench import BigCodeBench
from benchmarks.checking import check_task
from benchmarks.data import MissingData
from sandbox.namespaces.bwrap import interpreter

ROW = {
    "task_id": "BigCodeBench/9000",
    "complete_prompt": "import os\nimport statistics\n\ndef task_func(path, values):\n"
    '    """Write the mean of values to a file and give it."""\n',
    "instruct_prompt": "Write the mean of values to a file and give it. Start with: def task_func(path, values):",
    "code_prompt": "import os\nimport statistics\ndef task_func(path, values):\n",
    "canonical_solution": "    mean = float(statistics.mean(values))\n    with open(path, 'w') as file:\n"
    "        file.write(str(mean))\n    return mean\n",
    "test": "import unittest\nimport tempfile\nfrom unittest.mock import patch, mock_open\n"
    "class TestCases(unittest.TestCase):\n"
    "    def setUp(self):\n        self.path = os.path.join(tempfile.gettempdir(), 'mean')\n"
    "    def test_mean(self):\n        self.assertAlmostEqual(task_func(self.path, [1, 2]), 1.5)\n"
    "        self.assertEqual(open(self.path).read(), '1.5')\n"
    "    def test_mock(self):\n        with patch('builtins.open', mock_open()) as opened:\n"
    "            task_func('x', [4])\n        opened.assert_called_once_with('x', 'w')\n"
    "    def test_array(self):\n        self.assertTrue(isinstance(task_func(self.path, (3,)), float))\n",
    "entry_point": "task_func",
    "doc_struct": "{}",
    "libs": "['os', 'statistics']",
}
OTHER = {**ROW, "task_id": "BigCodeBench/9001", "libs": "['statistics', 'a_library_that_no_one_has']"}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BigCodeBench:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path / "home"))
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (ROW, OTHER)))
    made = benchmarks.load("bigcodebench", path=path, python=interpreter())
    assert isinstance(made, BigCodeBench)
    return made


def test_a_task_and_its_prompts(bench: BigCodeBench) -> None:
    (task,) = bench.tasks("test")
    assert [test.id for test in task.hidden] == [
        "test_mean (test_solution.TestCases)",
        "test_mock (test_solution.TestCases)",
        "test_array (test_solution.TestCases)",
    ]
    right = reference(task)
    assert right is not None
    assert bench.grade(task, right).resolved, bench.grade(task, right)
    borrowed = right["solution.py"].replace(b"float(", b"tempfile and float(")  # an import of the tests
    assert bench.grade(task, {"solution.py": borrowed}).resolved
    shadowed = b"import os as tempfile\n" + borrowed.replace(b"tempfile and", b"tempfile.gettempdir() and")
    assert bench.grade(task, {"solution.py": shadowed}).resolved
    half = right["solution.py"].replace(b"str(mean)", b"'0'")
    assert bench.grade(task, {"solution.py": half}).score == pytest.approx(2 / 3)
    asked = benchmarks.load("bigcodebench", path=bench.path, prompt="instruct").task("BigCodeBench/9000")
    assert asked.workspace["solution.py"] == ROW["code_prompt"].encode()
    assert "Write the mean" in asked.prompt
    with pytest.raises(ValueError, match="complete, instruct"):
        benchmarks.load("bigcodebench", prompt="both")


FORGERIES = {
    "ends the process": "import os\nos._exit(0)\n",
    "a test class of its own": "import unittest\nclass TestCases(unittest.TestCase):\n    test_mean = print\n",
    "replaces the assertions": "import unittest\nfor n in dir(unittest.TestCase):\n"
    "    if n.startswith('assert'): setattr(unittest.TestCase, n, lambda *a, **k: None)\n",
    "replaces the runner": "import unittest\nunittest.TestCase.run = lambda self, result: result.addSuccess(self)\n",
    "a file of tests": "",
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_resolves_nothing(bench: BigCodeBench, name: str) -> None:
    task = bench.task("BigCodeBench/9000")
    source = FORGERIES[name] + ROW["code_prompt"] + "    return None\n"
    files = {"solution.py": source.encode(), "test_solution.py": b"", "conftest.py": b""}
    grade = bench.grade(task, files)
    assert not grade.resolved
    assert grade.infra_error is None


def test_a_solution_that_is_not_imported_says_why(bench: BigCodeBench) -> None:
    grade = bench.grade(bench.task("BigCodeBench/9000"), {"solution.py": b"1 / 0\n"})
    assert not grade.resolved
    assert "ZeroDivisionError" in next(iter(grade.details.values()))


def test_missing_libraries_are_no_zero(bench: BigCodeBench, caplog: pytest.LogCaptureFixture) -> None:
    assert [task.id for task in bench.all_tasks("test")] == ["BigCodeBench/9000", "BigCodeBench/9001"]
    assert [task.id for task in bench.tasks("test")] == ["BigCodeBench/9000"]
    assert "1 of 2 tasks need libraries" in caplog.text
    found = check_task(bench, bench.task("BigCodeBench/9001"), 1)
    assert found.problem is None
    assert found.infra_error is not None
    assert "lacks a_library_that_no_one_has" in found.infra_error


def test_missing_data_and_python_are_said(bench: BigCodeBench) -> None:
    with pytest.raises(MissingData, match="codegym fetch bigcodebench-hard"):
        benchmarks.load("bigcodebench", subset="hard").tasks("test")
    with pytest.raises(ValueError, match="path of an interpreter"):
        benchmarks.load("bigcodebench", python="/no/python")
