"""Programs of standard input and output, and any file of problems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

import benchmarks
import codegym  # noqa: F401 - registers the environments
from benchmarks.base import Grade, Test
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


@pytest.fixture(autouse=True)
def no_exclusions(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path_factory.mktemp("home")))
