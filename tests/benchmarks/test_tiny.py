"""Tiny tasks: what a task promises, checked by running its files again from their text."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.base import Task, Test
from benchmarks.repair.tiny import HIDDEN, VISIBLE, make_task, parse_id, split_of
from benchmarks.repair.tiny_rules import CALLS, RULES

BY_KIND = {rule.kind: rule for rule in RULES + CALLS}


def run(source: str, tests: tuple[Test, ...]) -> set[str]:
    """The ids of the tests that a file passes."""
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    passed = set()
    for test in tests:
        _, call, want = test.body.split("\n")
        try:
            got = repr(eval(call.removeprefix(">>> "), namespace))
        except Exception as error:
            got = f"!{type(error).__name__}"
        if got == want:
            passed.add(test.id)
    return passed


@cache
def many(split: str, count: int) -> tuple[Task, ...]:
    return tuple(make_task(split, i, n_bugs=3, functions=4) for i in range(count))


@pytest.mark.parametrize(("functions", "n_bugs"), [(1, 1), (2, 2), (4, 3), (5, 1)])
@pytest.mark.parametrize("split", ["train", "test"])
def test_proof_holds(split: str, functions: int, n_bugs: int) -> None:
    for index in range(25):
        task = make_task(split, index, n_bugs=n_bugs, functions=functions)
        fixed, broken = task.meta["fixed"]["m.py"].decode(), task.workspace["m.py"].decode()
        every = {test.id for test in task.visible + task.hidden}
        assert len(every) == functions * (VISIBLE + HIDDEN)
        assert run(fixed, task.visible + task.hidden) == every
        assert len(task.meta["bugs"]) == n_bugs
        assert len(run(broken, task.hidden)) < len(task.hidden)
        for bug in task.meta["bugs"]:
            assert broken.count(bug["broken"]) == 1, "a search finds the place alone"
            alone = fixed.replace(bug["fixed"], bug["broken"])
            assert alone != fixed
            for tests in (task.visible, task.hidden):
                failed = {test.id for test in tests} - run(alone, tests)
                assert any(name.startswith(bug["function"] + "_") for name in failed)


def test_editing_every_broken_line_gives_the_fixed_file() -> None:
    for task in many("train", 200):
        text = task.workspace["m.py"].decode()
        for bug in task.meta["bugs"]:
            text = text.replace(bug["broken"], bug["fixed"])
        assert text == task.meta["fixed"]["m.py"].decode()


def test_hidden_tests_tell_every_known_bug_from_the_right_function() -> None:
    for task in many("test", 60):
        fixed = task.meta["fixed"]["m.py"].decode()
        for function, kind in task.meta["rules"]:
            tests = tuple(test for test in task.hidden if test.id.startswith(function + "_"))
            body = fixed.split(f"def {function}(")[1].split("\n\n")[0]
            for bug in BY_KIND[kind].bugs:
                lines = body.split("\n")
                constants = _constants(kind, body)
                if constants is None:
                    continue
                indent = len(lines[bug.line + 2]) - len(lines[bug.line + 2].lstrip())
                lines[bug.line + 2] = " " * indent + bug.text.format_map(constants)
                assert len(run(fixed.replace(body, "\n".join(lines)), tests)) < len(tests)


def _constants(kind: str, body: str) -> dict[str, Any] | None:
    """The constants of a function whose comment has just ``{a}``; None for the others."""
    says = BY_KIND[kind].says
    if says.count("{") != 1 or "{a}" not in says:
        return None
    before, after = says.split("{a}")
    a = int(body.split("# " + before)[1].split("\n")[0].removesuffix(after))
    return {"a": a, "a1": a + 1}


def test_every_kind_of_function_and_bug_occurs() -> None:
    tasks = many("train", 2000)
    kinds = Counter(kind for task in tasks for _, kind in task.meta["rules"])
    bugs = {(bug["rule"], bug["kind"]) for task in tasks for bug in task.meta["bugs"]}
    assert set(kinds) == {rule.kind for rule in RULES + CALLS}
    assert len(kinds) >= 40
    assert bugs == {(rule.kind, bug.kind) for rule in RULES + CALLS for bug in rule.bugs}
    assert all(2 <= len(rule.bugs) <= 4 for rule in RULES + CALLS)
    dependent = sum(any(BY_KIND[kind].calls for _, kind in task.meta["rules"]) for task in tasks)
    assert 0.25 < dependent / len(tasks) < 0.42


def test_a_bug_can_fail_the_tests_of_a_caller() -> None:
    spread = 0
    for task in many("train", 200):
        buggy = {bug["function"] for bug in task.meta["bugs"]}
        failed = {test.id for test in task.hidden} - run(task.workspace["m.py"].decode(), task.hidden)
        spread += any(name.split("_")[0] not in buggy for name in failed)
    assert spread > 0


def test_splits_share_no_program() -> None:
    train = {task.meta["fixed"]["m.py"].decode() for task in many("train", 2000)}
    test = {task.meta["fixed"]["m.py"].decode() for task in many("test", 500)}
    assert not train & test
    assert {split_of(program) for program in train} == {"train"}
    assert {split_of(program) for program in test} == {"test"}
    assert len(train) > 1990, "and programs hardly repeat"


@given(st.sampled_from(["train", "test"]), st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_a_task_is_a_function_of_its_id(split: str, index: int, one: int, other: int) -> None:
    n_bugs, functions = sorted((one, other))
    task = make_task(split, index, n_bugs=n_bugs, functions=functions)
    read = parse_id(task.id)
    assert str(read) == task.id == f"tiny/{split}/f{functions}b{n_bugs}/{index}"
    assert make_task(read.split, read.index, n_bugs=read.n_bugs, functions=read.functions) == task


def test_known_task_stays_the_same() -> None:
    assert make_task("train", 0, n_bugs=1, functions=1).workspace["m.py"] == KNOWN


KNOWN = b"def f0(x, y):\n    # are x and y above 5\n    return x > 5 or y > 5\n"


def test_errors_name_the_remedy() -> None:
    with pytest.raises(KeyError, match="tiny/train/f4b3/7"):
        parse_id("tiny/train/f2b3/1")
    with pytest.raises(ValueError, match="train, test"):
        make_task("valid", 0, n_bugs=1, functions=1)
    with pytest.raises(ValueError, match="n_bugs <= functions"):
        make_task("train", 0, n_bugs=3, functions=2)
