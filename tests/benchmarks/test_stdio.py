"""Programs of standard input and output, and the contests that are read into them."""

from __future__ import annotations

import base64
import json
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

import benchmarks
import codegym  # noqa: F401 - registers the environments
from benchmarks.base import Grade, Test
from benchmarks.contests import private_cases
from benchmarks.data import MissingData
from benchmarks.grading.stdio import StdioGrader, agree, case
from sandbox import Limits

CASES = (Test("1", case("3 4\n5\n", "7\n5\n")), Test("2", case("1 1\n0", "2\n0")))
READERS = {
    "buffer.readline": "import sys\nread = sys.stdin.buffer.readline\na, b = map(int, read().split())\n"
    "print(a + b)\nprint(int(read()))",
    "for line": "import sys\nfor line in sys.stdin: print(sum(map(int, line.split())))",
    "open(0)": "for line in open(0).read().splitlines(): print(sum(map(int, line.split())))",
    "os.read": "import os\nfor line in os.read(0, 1 << 16).decode().splitlines(): print(sum(map(int, line.split())))",
    "input": "print(sum(map(int, input().split())))\nprint(int(input()))",
    "fileinput": "import fileinput\nfor line in fileinput.input(): print(sum(map(int, line.split())))",
    "readlines": "import sys\nfor x in sys.stdin.readlines(): sys.stdout.write(f'{sum(map(int, x.split()))}\\r\\n')",
    "main guard": "def main():\n    print(sum(map(int, input().split())))\n    print(input())\n"
    "if __name__ == '__main__':\n    main()",
    "threads": "import threading, sys\ndef main():\n    for x in sys.stdin: print(sum(map(int, x.split())))\n"
    "t = threading.Thread(target=main)\nt.start()\nt.join()",
    "exit": "import sys\nfor x in sys.stdin: print(sum(map(int, x.split())))\nsys.exit(0)",
    "os._exit": "import os, sys\nfor x in sys.stdin: print(sum(map(int, x.split())), flush=True)\nos._exit(0)",
}


@pytest.fixture(scope="module")
def judge() -> StdioGrader:
    return StdioGrader(["python3", "main.py"], tolerance=1e-6)


def grade(judge: StdioGrader, source: str, *tests: Test, **files: str) -> Grade:
    more = {f"{name}.py": text.encode() for name, text in files.items()}
    return judge.grade(tests or CASES, {"main.py": source.encode(), **more})


@pytest.mark.parametrize("source", READERS.values(), ids=READERS)
def test_however_a_program_reads(judge: StdioGrader, source: str) -> None:
    assert grade(judge, source).resolved


ATTACKS = {
    "prints a verdict": "print('PASSED\\n>>>>> End\\nExit Code: 0')",
    "exits": "import os; os._exit(0)",
    "both cases at once": "print('7\\n5\\n2\\n0')",
    "no output": "",
    "echoes": "print(open(0).read())",
    "fails after the output": "print('7\\n5', flush=True)\nraise SystemExit(1)",
    "searches": "import os\nfor at, _, names in os.walk('/box'):\n for n in names: print(open(f'{at}/{n}').read())",
    "remembers": "import os\nprint('2\\n0' if os.path.exists('x') else 7)\nopen('x', 'w').close()",
    "changes itself": "print('7\\n5')\nopen('main.py', 'w').write('print(2)\\nprint(0)')",
    "floods": "while True: print('7\\n5')",
}


@pytest.mark.parametrize("source", ATTACKS.values(), ids=ATTACKS)
def test_what_resolves_nothing(source: str) -> None:
    quick = StdioGrader(["python3", "main.py"], limits=Limits(cpu_s=1))
    graded = grade(quick, source)
    assert not graded.resolved
    assert graded.infra_error is None


def test_statuses(judge: StdioGrader) -> None:
    source = "n = int(input())\nwhile n == 2: pass\nprint(1 / n)"
    graded = grade(judge, source, *(Test(str(n), case(f"{n}", f"{1 / (n or 1)}", 1.0)) for n in (1, 2, 0, 3, 4)))
    assert graded.tests == {"1": "passed", "2": "timeout", "0": "error", "3": "passed", "4": "passed"}
    assert graded.details["0"] == "exit code 1: ZeroDivisionError: division by zero"
    assert graded.details["2"].startswith("ran out of time")
    wrong = grade(judge, "print(5)", Test("a", case("", "6\n")))
    assert wrong.details == {"a": "printed '5', want '6'"}
    with pytest.raises(ValueError, match="no tests"):
        judge.grade((), {})


def test_workspace_modules_come_along_and_shadow(judge: StdioGrader) -> None:
    assert grade(judge, "from helper import add\nadd()", helper=READERS["input"].replace("print", "print", 1)).tests
    assert not grade(judge, "import json\nprint(json.mine)", json="mine = 7").resolved


@pytest.mark.parametrize(
    ("got", "want", "same"),
    [
        ("1\n", "1", True),
        ("1 \r\n2\n\n\n", "1\n2\n", True),
        ("1\n\n2", "1\n2", False),
        (" 1", "1", True),
        ("1\n2", "1 2", False),
        ("0.3333333", "0.33333331", True),
        ("0.3334", "0.33333331", False),
        ("1", "1.0", True),
        ("1.0", "1", True),
        ("1.0000000001", "1", False),
        ("9007199254740993.0", "9007199254740993", False),
        ("1.0", "9" * 5000, False),
        ("1e999999", "1", False),
        ("yes", "YES", False),
        ("nan", "nan", True),
        ("inf", "1.0", False),
        ("1.0 2.0", "1.0", False),
        ("1e3", "1000.0", True),
        ("", "", True),
    ],
)
def test_outputs_that_agree(got: str, want: str, same: bool) -> None:
    assert agree(got, want, 1e-6) is same


def test_loose_outputs_agree_by_words() -> None:
    assert agree("Yes\n1 2", "YES\n1\n2\n", loose=True)
    assert not agree("Yes\n1 2", "YES\n1\n2\n", 1e-6)
    assert not agree("Yes 12", "YES 1 2", 1e-6, loose=True)


@given(st.text(), st.text())
def test_without_tolerance_text_is_compared(got: str, want: str) -> None:
    assert agree(got, got)
    if agree(got, want):
        assert got.split() == want.split()


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


ROW = {
    "id": "sum",
    "statement": "Add two numbers.",
    "cases": [["1 2\n", "3\n"], ["5 5\n", "10\n"]],
    "public": [["1 2\n", "3\n"]],
    "solution": "print(sum(map(int, input().split())))\n",
}


def test_any_file_of_problems_is_an_environment(tmp_path: Path) -> None:
    path = lines(tmp_path / "mine.jsonl", ROW)
    with gymnasium.make("codegym/Stdio-v0", path=str(path)) as env:
        observation, info = env.reset(seed=0)
        assert "Add two numbers." in observation
        assert "10" not in observation
        *_, info = env.step("<submit/>")
        assert (info["resolved"], info["tests"]["hidden"]) == (False, {"case 1": "failed", "case 2": "failed"})
    bench = benchmarks.load("stdio", path=path)
    task = bench.task("sum")
    assert bench.grade(task, task.meta["fixed"]).resolved
    constant = bench.check(task, {"main.py": b"print(3)"}), bench.grade(task, {"main.py": b"print(3)"})
    assert [each.score for each in constant] == [1.0, 0.5]
    with pytest.raises(ValueError, match="no cases"):
        benchmarks.load("stdio", path=lines(tmp_path / "none.jsonl", {**ROW, "cases": [], "public": []})).tasks("test")


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
        "solutions": {"language": [2, 3], "solution": ["int main() {}", ROW["solution"]]},
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


@pytest.fixture(autouse=True)
def no_exclusions(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path_factory.mktemp("home")))
