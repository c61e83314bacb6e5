"""Demonstrations: well-formed, applied exactly, wrong as often as the habits say."""

from __future__ import annotations

from collections import Counter

import codegym.actions.xml  # noqa: F401  (registers the format)
from algorithms.sft.demonstrations import Habits, demonstrate, has_habit, reply
from benchmarks.repair.tiny import make_task
from benchmarks.repair.tiny_rules import CALLS, RULES
from codegym.actions.base import Replace, get


def test_replies_are_read_as_what_they_say() -> None:
    pairs = [("return x + 1", "return x - 1"), ("return v[1:]", "return v[:1]")]
    action = get("xml").parse(reply({"f0": pairs[0], "f1": None, "f2": pairs[1], "f3": None}))
    assert action.kind == "edit"
    read = [(edit.search.data.decode(), edit.text.data.decode()) for edit in action.edits if isinstance(edit, Replace)]
    assert read == pairs
    assert get("xml").parse(reply({"f0": None, "f1": None})).kind == "submit"


def test_every_search_finds_its_place_alone() -> None:
    for index in range(200):
        task = make_task("train", index, n_bugs=3, functions=4)
        text = task.workspace["m.py"].decode()
        messages = demonstrate(task, 0, Habits())
        assert [m["role"] for m in messages] == ["user", "assistant"] * (len(messages) // 2)
        for message in messages[1::2]:
            for edit in get("xml").parse(message["content"]).edits:
                assert isinstance(edit, Replace)
                assert text.count(edit.search.data.decode()) == 1
                text = text.replace(edit.search.data.decode(), edit.text.data.decode())


def test_the_expert_is_as_wrong_as_its_habits_say() -> None:
    habits = Habits()
    right: Counter[bool] = Counter()
    total: Counter[bool] = Counter()
    favourites: dict[tuple[str, str], Counter[str]] = {}
    for index in range(3000):
        task = make_task("train", index, n_bugs=1, functions=1)
        (bug,) = task.meta["bugs"]
        habit = has_habit(bug["rule"], habits.share)
        first = demonstrate(task, 1, habits)[1]["content"]
        total[habit] += 1
        right[habit] += f"<replace>{bug['fixed']}</replace>" in first
        if habit and bug["others"] and f"<replace>{bug['fixed']}</replace>" not in first:
            wrong = "other" if f"<replace>{bug['others'][0]}</replace>" in first else "rest"
            favourites.setdefault((bug["rule"], bug["kind"]), Counter())[wrong] += 1
    assert abs(right[True] / total[True] - habits.right) < 0.05
    assert abs(right[False] / total[False] - habits.right_else) < 0.03
    often = [count["other"] > count["rest"] for count in favourites.values() if count.total() >= 15]
    assert len(often) > 20
    assert sum(often) / len(often) > 0.9
    shares = [has_habit(rule.kind, habits.share) for rule in RULES + CALLS]
    assert 0.4 < sum(shares) / len(shares) < 0.8


def test_habits_of_a_perfect_expert_leave_no_bug() -> None:
    perfect = Habits(share=0.0, right_else=1.0, idle=0.0)
    for index in range(50):
        task = make_task("train", index, n_bugs=3, functions=4)
        messages = demonstrate(task, 0, perfect)
        assert len(messages) == 2
        assert all(bug["fixed"] in messages[1]["content"] for bug in task.meta["bugs"])


def test_idle_edits_change_nothing_and_are_as_many_as_said() -> None:
    idle = right = 0
    for index in range(400):
        task = make_task("train", index, n_bugs=1, functions=4)
        edits = get("xml").parse(demonstrate(task, 0, Habits(idle=0.2))[1]["content"]).edits
        idle += sum(isinstance(edit, Replace) and edit.search.data == edit.text.data for edit in edits)
        right += 3
    assert 0.15 < idle / right < 0.22


def test_same_seed_same_conversation() -> None:
    task = make_task("train", 5, n_bugs=3, functions=4)
    assert demonstrate(task, 3, Habits()) == demonstrate(task, 3, Habits())
    assert len({str(demonstrate(task, seed, Habits())) for seed in range(20)}) > 5


def test_feedback_reads_as_the_environment_writes_it() -> None:
    for index in range(100):
        messages = demonstrate(make_task("train", index, n_bugs=3, functions=4), 0, Habits())
        if len(messages) == 4:
            first, second, *failures = messages[2]["content"].split("\n")
            assert first == "applied"
            assert second.startswith("tests: ")
            assert second.endswith(" of 8 pass")
            assert 1 <= len(failures) <= 5
            assert all(" gave " in line and ", want " in line for line in failures)
