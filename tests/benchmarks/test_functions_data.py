"""MBPP, HumanEval+, MBPP+, ClassEval: rows in the formats of the public data sets become tasks that can be graded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import benchmarks
from benchmarks.base import Benchmark, Task
from benchmarks.data import MissingData, read_rows
from benchmarks.evalplus import loop_tests
from benchmarks.grading.nearly import np
from codegym.cli import main
from codegym.fetch import SOURCES, fetch


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path / "home"))
    return tmp_path


def lines(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def behaves(bench: Benchmark, task: Task, *wrong: str) -> None:
    """The reference resolves; the untouched version and the wrong ones do not."""
    assert bench.grade(task, task.meta["fixed"]).resolved, bench.grade(task, task.meta["fixed"])
    if task.visible:
        assert bench.check(task, task.meta["fixed"]).resolved
    assert not bench.grade(task, task.workspace).resolved
    for source in wrong:
        assert not bench.grade(task, {"solution.py": source.encode()}).resolved
    bench.close()


MBPP = {
    "text": "Write a function to order a list.",
    "code": "class Node:\r\n  def __init__(self, v): self.v = v\r\ndef order(a):\r\n  a.sort()\r\n  return a\r\n"
    "def value(n): return n.v",
    "task_id": 11,
    "test_setup_code": "root = Node(4)",
    "test_list": ["assert order([3, 1])==[1, 3] ", "assert value(root) == 4"],
    "challenge_test_list": ["assert order([]) == []"],
}


def test_mbpp(place: Path) -> None:
    bench = benchmarks.load("mbpp", path=lines(place / "mbpp.jsonl", MBPP, {**MBPP, "task_id": 601}))
    (task,) = bench.tasks("test")
    assert (task.id, len(task.hidden), len(task.visible)) == ("mbpp/11", 3, 1)
    assert "order([3, 1])" in task.prompt
    assert "value" not in task.prompt
    assert [other.id for other in bench.tasks("train")] == ["mbpp/601"]
    behaves(
        bench, task, "class Node:\n def __init__(self, v): pass\ndef order(a): return [1, 3]\ndef value(n): return 4"
    )


def test_sanitized_mbpp_is_a_json_list(place: Path) -> None:
    code = "import math\ndef say(n): return math.floor(n)"  # its imports are there for the tests, too
    row = {
        "task_id": 3,
        "prompt": "Say it.",
        "code": code,
        "test_imports": [],
        "test_list": ["assert say(math.pi) == 3"],
    }
    (place / "sanitized.json").write_text(json.dumps([row]))
    bench = benchmarks.load("mbpp", subset="sanitized", path=place / "sanitized.json")
    with pytest.raises(ValueError, match="no task of split 'test'"):
        bench.tasks("test")
    behaves(bench, bench.tasks("prompt")[0], "def say(n): return n")
    with pytest.raises(ValueError, match="full, sanitized"):
        benchmarks.load("mbpp", subset="half")


PLUS_TEST = """
import numpy as np
def is_floats(x) -> bool:
    return isinstance(x, float) or (isinstance(x, np.ndarray) and x.dtype == np.float64)
def assertion(out, exp, atol):
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    if out != exp and atol != 0:
        np.testing.assert_allclose(out, exp, atol=atol)
    else:
        assert out == exp
"""
LOOP = "for i, (inp, exp) in enumerate(zip(inputs, results)):\n    assertion({}(*inp), exp, 0)\n"


def test_humaneval_plus(place: Path) -> None:
    row = {
        "task_id": "HumanEval/900",
        "prompt": 'def half(x):\n    """Half of it.\n    >>> half(3)\n    1.5\n    """\n',
        "canonical_solution": "    return x / 2\n",
        "entry_point": "half",
        "test": PLUS_TEST
        + "def check(candidate):\n    inputs = [[1], [3], [1e-9], [4]]\n"
        + "    results = [0.50000000001, 1.5, 0.0, 2.0]\n    "
        + LOOP.format("candidate").replace("\n", "\n    ").rstrip(" ")
        + "\ncheck(half)\n",
    }
    bench = benchmarks.load("humaneval-plus", path=lines(place / "rows.jsonl", row))
    task = bench.task("HumanEval/900")
    assert [test.id for test in task.hidden] == ["input 1", "input 2", "input 3", "input 4"]
    behaves(bench, task, "def half(x): return x / 2 if x < 4 else 3.0", "def half(x): return 'a'")
    assert bench.grade(task, {"solution.py": b"def half(x): return x / 2 if x < 4 else 3.0"}).score == 0.75


def test_mbpp_plus(place: Path) -> None:
    row = {
        "task_id": 2,
        "code": "def both(a, b):\n    return set(a) & set(b)",
        "prompt": "Write a function that finds what two lists share.",
        "test_imports": ["import math"],
        "test_list": ["assert both([1, 2], [2]) == {2}"],
        "test": PLUS_TEST + "inputs = [[[1], [2]], [[1], [1]]]\nresults = [set(), {1}]\n" + LOOP.format("both"),
    }
    bench = benchmarks.load("mbpp-plus", path=lines(place / "rows.jsonl", row))
    (task,) = bench.tasks("test")
    assert len(task.hidden) == 2
    behaves(bench, task, "def both(a, b): return {2}")


def test_loops_that_are_none_are_statements() -> None:
    setup, tests = loop_tests("x = 3\nassert f(x) == 4\nfor y in range(2): assert f(y)\n", ("f",))
    assert "x = 3" in setup
    assert [test.id for test in tests] == ["statement 1", "statement 2"]


@pytest.mark.parametrize(
    ("a", "b", "near"),
    [
        (1.0, 1.0 + 1e-9, True),
        (1.0, 1.1, False),
        ([1, 2.0], (1, 2.0), True),
        ([1], [1, 1], False),
        ([1, 1], 1, True),
        (float("inf"), float("inf"), True),
        (1.0, float("inf"), False),
        (float("nan"), float("nan"), False),
        (1j, 1j + 1e-12, True),
    ],
)
def test_closeness(a: Any, b: Any, near: bool) -> None:
    assert np.allclose(a, b) is near
    with pytest.raises(TypeError):
        np.allclose("a", a)


CLASS = {
    "task_id": "ClassEval_900",
    "skeleton": 'class Account:\n    """An account."""\n    def pay(self, n):\n        """Pay in."""\n',
    "solution_code": "import datetime\nclass Account:\n    def __init__(self): self.sum = 0\n    def pay(self, n):\n"
    "        if n < 0: raise ValueError('less')\n        self.sum += n\n        return self\n",
    "import_statement": ["import datetime", "import numpy as np"],
    "class_name": "Account",
    "test_classes": ["AccountTest", "AccountTestMain"],
    "methods_info": [{"method_name": "pay", "test_class": "AccountTest"}],
    "test": "import unittest\nclass AccountTest(unittest.TestCase):\n    def setUp(self):\n        self.a = Account()\n"
    "    def test_pay(self):\n        self.assertEqual(self.a.pay(3).pay(4).sum, 7)\n"
    "    def test_less(self):\n        with self.assertRaises(ValueError):\n            self.a.pay(-1)\n"
    "class AccountTestMain(unittest.TestCase):\n    def test_main(self):\n        self.assertEqual(Account().sum, 0)\n",
}


def test_classeval(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "ClassEval_data.json").write_text(json.dumps([CLASS]))
    bench = benchmarks.load("classeval", path=place)
    task = bench.task("ClassEval_900")
    shown = ["AccountTest.test_pay", "AccountTest.test_less"]
    assert [test.id for test in task.visible] == shown
    assert [test.id for test in task.hidden] == [*shown, "AccountTestMain.test_main"]
    skips = "import unittest\nclass Account:\n    def __init__(self): raise unittest.SkipTest\n"
    behaves(
        bench,
        task,
        skips,
        "class Account:\n    __getattr__ = lambda s, n: lambda *a: s\n    __eq__ = lambda *a: True\n",
    )
    half = CLASS["solution_code"].replace("raise ValueError('less')", "pass")
    assert bench.grade(task, {"solution.py": half.encode()}).tests["AccountTest.test_less"] == "failed"


NAMES = {"mbpp": "mbpp", "humaneval-plus": "humaneval-plus", "mbpp-plus": "mbpp-plus", "classeval": "git clone"}


@pytest.mark.parametrize("name", NAMES)
def test_missing_data_says_the_command(name: str) -> None:
    with pytest.raises(MissingData, match=NAMES[name]):
        benchmarks.load(name).tasks("test")


def test_every_id_can_be_made_without_its_data() -> None:
    for name in ("HumanEval", "HumanEvalFix", "HumanEvalPlus", "MBPP", "MBPPPlus", "ClassEval", "QuixBugs"):
        gymnasium.make(f"codegym/{name}-v0", feedback="blind").close()


def test_fetch_writes_what_the_benchmark_reads(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def load(hub: str, **options: Any) -> Sequence[Mapping[str, Any]]:
        asked.append((hub, options))
        return [{**MBPP, "task_id": 11 if options["split"] == "test" else 601}] if options["split"] != "prompt" else []

    (path,) = fetch("mbpp", load)
    assert path == place / "home" / "mbpp.jsonl"
    assert [row["task_id"] for row in read_rows(path)] == [11, 601, 601]
    assert asked[1] == ("google-research-datasets/mbpp", {"split": "test", "name": "full"})
    assert len(benchmarks.load("mbpp").tasks("test")) == 1
    fetch("apps", load := lambda *a, **k: [asked.append((a[0], k)) or {"a": 1}])
    assert asked[-1] == ("json", {"data_files": "hf://datasets/codeparrot/apps/test.jsonl", "split": "train"})
    with pytest.raises(KeyError, match="there are"):
        fetch("none", load)
    with pytest.raises(SystemExit):
        main(["fetch", "none"])
    assert "invalid choice: 'none'" in capsys.readouterr().err
    assert set(SOURCES) >= {"mbpp", "humanevalfix", "livecodebench"}


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [("a.jsonl", '{"a": 1}\n{', "line 2"), ("a.jsonl", "[1]", "line 1: a row"), ("a.csv", "", "ends in")],
)
def test_files_that_cannot_be_read(place: Path, name: str, content: str, error: str) -> None:
    (place / name).write_text(content)
    with pytest.raises(ValueError, match=error):
        list(read_rows(place / name))
