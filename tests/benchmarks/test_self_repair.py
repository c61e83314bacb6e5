"""Every environment in one mode: a wrong try, what the tests say of it, a repair that resolves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import codegym  # noqa: F401 - registers the environments
from benchmarks.base import Task
from codegym.actions import base
from codegym.env import CodeEnv
from sandbox.namespaces.bwrap import interpreter
from tests.benchmarks import test_bigcodebench, test_exercism, test_functions_data
from tests.benchmarks.swebench.conftest import World, options, world  # noqa: F401 - a fixture

FUNCTION = {
    "task_id": "HumanEval/900",
    "prompt": 'def half(x):\n    """Half of it.\n    >>> half(3)\n    1.5\n    """\n',
    "canonical_solution": "    return x / 2\n",
    "entry_point": "half",
    "test": "def check(candidate):\n    assert candidate(1) == 0.5\n    assert candidate(4) == 2\n",
}
LOOP = "import numpy as np\ndef assertion(out, exp, atol):\n    assert out == exp\n"
LOOP += "def check(candidate):\n    inputs = [[1], [4]]\n    results = [0.5, 2.0]\n"
LOOP += "    for i, (inp, exp) in enumerate(zip(inputs, results)):\n        assertion(candidate(*inp), exp, 0)\n"
FIX = {
    **FUNCTION,
    "task_id": "Python/900",
    "declaration": "def half(x):\n",
    "buggy_solution": "    return x // 2\n",
    "example_test": "def check(half):\n    assert half(3) == 1.5\ncheck(half)\n",
    "bug_type": "operator misuse",
    "failure_symptoms": "incorrect output",
}
PLUS = {
    "task_id": 2,
    "code": "def both(a, b):\n    return set(a) & set(b)",
    "prompt": "Write a function that finds what two lists share.",
    "test_imports": [],
    "test_list": ["assert both([1, 2], [2]) == {2}"],
    "test": "def assertion(out, exp, atol):\n    assert out == exp\n"
    "inputs = [[[1], [2]], [[1], [1]]]\nresults = [set(), {1}]\n"
    "for i, (inp, exp) in enumerate(zip(inputs, results)):\n    assertion(both(*inp), exp, 0)\n",
}
SUM = "print(sum(map(int, input().split())))"
PROGRAM = {
    "id": "sum",
    "statement": "Add.",
    "solution": SUM,
    "cases": [["5 5\n", "10\n"]],
    "public": [["1 2\n", "3\n"]],
}
APPS = {"problem_id": 7, "question": "Add.", "starter_code": "", "solutions": json.dumps([SUM])}
APPS["input_output"] = json.dumps({"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]})
CONTEST = {
    "name": "1_A. Sum",
    "description": "Add.",
    "public_tests": {"input": ["1 2"], "output": ["3"]},
    "private_tests": {"input": ["5 5"], "output": ["10"]},
    "generated_tests": {"input": [], "output": []},
    "solutions": {"language": [3], "solution": [SUM]},
    "time_limit": {"seconds": 1, "nanos": 0},
}
LIVE = {
    "question_id": "abc1",
    "question_title": "Sum",
    "question_content": "Add.",
    "contest_date": "2024-01-31T00:00:00",
    "public_test_cases": json.dumps([{"input": "1 2", "output": "3", "testtype": "stdin"}]),
    "private_test_cases": json.dumps([{"input": "5 5", "output": "10", "testtype": "stdin"}]),
}
QUIX = {
    "python_testcases/test_half.py": "from half import half\n\ndef test1():\n    assert half(3) == 1.5\n",
    "python_programs/half.py": 'def half(x):\n    return x // 2\n\n"""\nExample:\n    >>> half(5)\n    2.5\n"""\n',
    "correct_python_programs/half.py": "def half(x):\n    return x / 2\n",
}


def rows(*made: dict[str, Any]) -> Callable[[Path], dict[str, Any]]:
    """The options of an environment whose data are these rows."""

    def put(folder: Path) -> dict[str, Any]:
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
        return {"path": folder / "rows.jsonl"}

    return put


def files(texts: dict[str, str]) -> Callable[[Path], dict[str, Any]]:
    def put(folder: Path) -> dict[str, Any]:
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return {"path": folder}

    return put


def exercise(at: str) -> Callable[[Path], dict[str, Any]]:
    return files({f"{at}exercises/practice/bank/{path}": text for path, text in test_exercism.BANK_FILES.items()})


#: environment -> what puts its data into a folder and gives its options
DATA: dict[str, Callable[[Path], dict[str, Any]]] = {
    "Repair": lambda folder: {"level": "tiny", "split": "test"},
    "HumanEval": rows(FUNCTION),
    "HumanEvalPlus": rows({**FUNCTION, "test": LOOP}),
    "HumanEvalFix": rows(FIX),
    "MBPP": rows(test_functions_data.MBPP),
    "MBPPPlus": rows(PLUS),
    "ClassEval": rows(test_functions_data.CLASS),
    "BigCodeBench": rows(test_bigcodebench.ROW),
    "Exercism": exercise(""),
    "AiderPolyglot": exercise("python/"),
    "QuixBugs": files(QUIX),
    "Stdio": rows(PROGRAM),
    "APPS": rows(APPS),
    "CodeContests": rows(CONTEST),
    "LiveCodeBench": rows(LIVE),
}
#: They show no tests of their own.
SHOWS_NONE = {"BigCodeBench", "SWE-Lite", "SWE-Verified", "SWE-bench", "SWE-Multilingual"}
EVERY = sorted(
    name.removeprefix("codegym/").removesuffix("-v0") for name in gymnasium.registry if name.startswith("codegym/")
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path / "home"))


def made(name: str, folder: Path, **more: Any) -> CodeEnv:
    data = {} if name.startswith("SWE-") else DATA[name](folder)
    env = gymnasium.make(f"codegym/{name}-v0", feedback="tests", **data, **more).unwrapped
    assert isinstance(env, CodeEnv)
    return env


def write(files: dict[str, bytes]) -> str:
    """The reply that writes these files."""
    edits = tuple(base.Write(path, base.Text(data)) for path, data in files.items())
    return base.get("xml").render(base.Action("edit", edits))


def right(task: Task) -> dict[str, bytes]:
    fixed = task.meta.get("fixed", {"main.py": SUM.encode()})  # LiveCodeBench comes without solutions
    return {path: data for path, data in fixed.items() if path not in task.protected}


@pytest.mark.parametrize("name", EVERY)
def test_a_wrong_try_feedback_and_a_repair(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    more = {"feedback_tests": "hidden"} if name in SHOWS_NONE else {}
    if name == "BigCodeBench":
        more["python"] = interpreter()
    if name.startswith("SWE-"):
        more |= options(request.getfixturevalue("world"))
    env = made(name, tmp_path, **more)
    _, info = env.reset(options={"task_id": "fixture__calc-u"} if name.startswith("SWE-") else {"index": 0})
    task = env.task
    assert task is not None
    total = len(task.visible)
    assert total > 0
    solution = right(task)
    wrong = {path: task.workspace.get(path, b"") + b"\n# nothing yet\n" for path in solution}
    observation, _, terminated, truncated, info = env.step(write(wrong))
    said = observation.splitlines()
    assert (said[0], terminated, truncated) == ("applied", False, False), observation
    passing = info["tests"]["visible_passed"]
    assert 0 <= passing < total
    assert said[1] == f"tests: {passing} of {total} pass"
    assert len(said) > 2  # what a failing test says
    observation, reward, terminated, _, info = env.step(write(solution))
    assert observation == f"applied\ntests: {total} of {total} pass"
    assert (reward, terminated, info["stop_reason"], info["resolved"]) == (1.0, True, "solved", True)
    env.close()


def test_a_task_without_visible_tests_says_so(tmp_path: Path) -> None:
    env = made("HumanEval", tmp_path, step_reward=1.0)
    rows({**FUNCTION, "prompt": FUNCTION["prompt"].replace(">>>", "")})(tmp_path)
    env.reset(options={"index": 0})
    observation, reward, _, _, info = env.step(write({"solution.py": b"def half(x): return x / 2\n"}))
    assert observation == "applied\ntests: this task shows none"
    assert (reward, info["tests"]["visible_passed"], info["stop_reason"]) == (0.0, -1, None)
    *_, info = env.step("<submit/>")
    assert info["resolved"]
    env.close()


def test_feedback_of_the_hidden_tests_is_asked_for_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="feedback_tests='all' is unknown; there are: visible, hidden"):
        made("HumanEval", tmp_path, feedback_tests="all")
    env = made("HumanEval", tmp_path, feedback_tests="hidden", step_reward=0.5)
    env.reset(options={"index": 0})
    observation, reward, _, _, info = env.step(write({"solution.py": b"def half(x): return x // 2\n"}))
    assert observation == "applied\ntests: 1 of 2 pass\nhalf(1) gave 0, want 0.5"
    assert (reward, info["tests"]["visible_passed"]) == (0.25, 1)
    env.close()
