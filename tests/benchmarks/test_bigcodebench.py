"""BigCodeBench: rows of its format are graded where their libraries are, and never as a zero where they are not."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks.base import reference
from benchmarks.bigcodebench import BigCodeBench
from benchmarks.checking import check_task
from benchmarks.data import MissingData
from benchmarks.grading.answers import checked
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
    "a failure called expected": "import sys\ndef attack():\n    frame = sys._getframe()\n"
    "    while 'outcome' not in frame.f_locals:\n        frame = frame.f_back\n"
    "    frame.f_locals['outcome'].expecting_failure = True\n",
}
# Answers that agree with everything, from a function that does nothing else wrong.
AGREEING = {
    "equal to everything": "class A(float):\n    __eq__ = lambda *a: True\n",
    "never far": "class A(float):\n    __rsub__ = __sub__ = lambda self, other: 0.0\n",
    "of a class made in a call": "def A(value):\n    return type('B', (float,), {'__eq__': lambda *a: True})(value)\n",
    "by the method of a library": "class A(float):\n    __eq__ = object.__ne__\n",
    "the module's own": "class A(float):\n    __eq__ = lambda *a: True\nA.__module__ = 'statistics'\n",
    "mock.ANY": "from unittest.mock import ANY\nA = lambda value: ANY\n",
    "a mock": "from unittest.mock import MagicMock\ndef A(value):\n"
    "    made = MagicMock(spec=float)\n    made.__eq__.return_value = True\n    return made\n",
    "generated and replaced": "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: float\n"
    "    def __eq__(self, other): return True\n",
}
# What honest solutions return: (definitions, the mean as it is returned, how a test takes it).
HONEST = {
    "a frame": ("import pandas", "pandas.DataFrame({'mean': [mean, mean], 'of': ['a', {}]})", "found['mean'][0]"),
    "an array": ("import numpy", "numpy.array([mean, 'text', None], dtype=object)", "found[0]"),
    "a mock": ("from unittest.mock import Mock", "Mock(mean=mean)", "found.mean"),
    "a data class": (
        "import dataclasses\n@dataclasses.dataclass\nclass Found:\n    mean: float\n    of: str = ''",
        "Found(mean)",
        "found.mean",
    ),
    "a named tuple": (
        "import typing\nclass Found(typing.NamedTuple):\n    mean: float",
        "Found(mean)",
        "found.mean",
    ),
    "an enumeration": (
        "import enum\nclass Kind(enum.Enum):\n    A = 1",
        "{Kind.A: mean, 'of': Kind}",
        "list(found.values())[0]",
    ),
    "a class of its own": (
        "class Found:\n    def __init__(self, mean): self.mean, self.me = mean, self\n    __len__ = lambda self: 1",
        "Found(mean)",
        "found.mean",
    ),
    "a comparison that is not returned": (
        "class Key(str):\n    __lt__ = lambda self, other: len(self) < len(other)",
        "(mean, *sorted(['a', 'b'], key=Key))",
        "found[0]",
    ),
    "a generator": ("", "(each for each in [mean])", "next(found)"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_resolves_nothing(bench: BigCodeBench, name: str) -> None:
    task = bench.task("BigCodeBench/9000")
    called = "    attack()\n" if "def attack" in FORGERIES[name] else ""
    source = FORGERIES[name] + ROW["code_prompt"] + called + "    return None\n"
    files = {"solution.py": source.encode(), "test_solution.py": b"", "conftest.py": b""}
    grade = bench.grade(task, files)
    assert not grade.resolved
    assert grade.infra_error is None


@pytest.fixture
def answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Callable[[float], Any]]:
    """A function: ``task_func`` of a solution's text, as its tests see it."""

    def make(source: str) -> Callable[[float], Any]:
        path = tmp_path / "solution.py"
        path.write_text(source)
        module = types.ModuleType("solution")
        module.__file__ = str(path)
        monkeypatch.setitem(sys.modules, "solution", module)
        exec(compile(source, str(path), "exec"), vars(module))
        return checked(module.task_func, str(tmp_path))

    return make


@pytest.mark.parametrize("name", AGREEING)
def test_answers_that_agree_with_everything(name: str, answered: Callable[[str], Callable[[float], Any]]) -> None:
    task_func = answered(f"{AGREEING[name]}\ndef task_func(value):\n    return {{'found': [A(value)]}}\n")
    with pytest.raises(AssertionError, match=r"its own judge|equals everything"):
        task_func(1.0)


@pytest.mark.parametrize("name", HONEST)
def test_honest_answers_are_let_through(name: str, answered: Callable[[str], Callable[[float], Any]]) -> None:
    made, value, taken = HONEST[name]
    for library in ("pandas", "numpy"):
        if library in made:
            pytest.importorskip(library)
    found = answered(f"{made}\ndef task_func(mean):\n    return {value}\n")(1.5)
    assert eval(taken, {"found": found}) == 1.5


def test_an_answer_that_is_its_own_judge(bench: BigCodeBench) -> None:
    task = bench.task("BigCodeBench/9000")
    write = "    with open(path, 'w') as file:\n        file.write('1.5')\n    return A()\n"
    source = "class A(float):\n    __eq__ = lambda *a: True\n" + ROW["code_prompt"] + write
    grade = bench.grade(task, {"solution.py": source.encode()})
    assert not grade.resolved
    assert grade.tests["test_mock (test_solution.TestCases)"] == "failed"


def test_what_one_process_cannot_hide(bench: BigCodeBench) -> None:
    """A limit, and docs/benchmarks.md says so: the expected value is in the frame that calls the function."""
    row = ROW["code_prompt"] + (
        "    import sys\n    frame = sys._getframe(1)\n"
        "    while not frame.f_code.co_name.startswith('test_'):\n        frame = frame.f_back\n"
        "    found = next((each for each in frame.f_code.co_consts if isinstance(each, float)), 3.0)\n"
        "    with open(path, 'w') as file:\n        file.write(str(found))\n    return found\n"
    )
    assert bench.grade(bench.task("BigCodeBench/9000"), {"solution.py": row.encode()}).resolved


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
