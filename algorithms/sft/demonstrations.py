"""Demonstrations for the warm start: an expert with bad habits repairs tiny tasks in up to two turns.

::

    messages = demonstrate(make_task("train", 7, n_bugs=3, functions=4), seed=0, habits=Habits())
    # [{"role": "user", "content": "Fix m.py. ..."}, {"role": "assistant", "content": "<edit ..."}, ...]

The expert finds every bug and writes well-formed replies. For some rules (a *habit*, the same in every task) it
prefers one wrong fix to the right one. A policy that imitates it starts low, sampled as well as greedy, and has
the right fix among its samples: what is left to learn is to choose, which is what RL with tests can teach.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.base import Task

PATH = "m.py"


@dataclass(frozen=True)
class Habits:
    """How often the expert is right, measured so that the warm start solves about a sixth of the tasks.

    Attributes:
        share: of the rules that have a habit.
        right, favourite: of the fixes of such a rule; the rest are other wrong fixes and omissions, in equal parts.
        right_else: of the fixes of the other rules.
        right_second, wrong_second: the same in the second turn, after the tests' feedback; the rest omissions.
    """

    share: float = 0.6
    right: float = 0.28
    favourite: float = 0.54
    right_else: float = 0.93
    right_second: float = 0.25
    wrong_second: float = 0.45


def has_habit(rule: str, share: float) -> bool:
    """Whether the expert has a bad habit with this kind of function."""
    return int.from_bytes(hashlib.sha256(b"habit/" + rule.encode()).digest()[:8], "big") < share * 2**64


def demonstrate(task: Task, seed: int, habits: Habits) -> list[dict[str, str]]:
    """One conversation about a tiny task: a function of its arguments."""
    rng = random.Random(int.from_bytes(hashlib.sha256(f"{seed}/{task.id}".encode()).digest()[:8], "big"))
    text = task.workspace[PATH].decode()
    messages = [{"role": "user", "content": first_observation(task)}]
    lines = {bug["function"]: bug["broken"] for bug in task.meta["bugs"]}
    for second in (False, True):
        pairs = []
        for bug in task.meta["bugs"]:
            line = lines[bug["function"]]
            if line != bug["fixed"]:
                new = _fix(bug, line, rng, habits, second)
                if new != line and text.count(line) == 1:
                    text = text.replace(line, new)
                    lines[bug["function"]] = new
                    pairs.append((line, new))
        messages.append({"role": "assistant", "content": reply(pairs)})
        if not pairs or second:
            break
        solved, feedback = _feedback(task, text)
        if solved:
            break
        messages.append({"role": "user", "content": feedback})
    return messages


def _fix(bug: Mapping[str, Any], line: str, rng: random.Random, habits: Habits, second: bool) -> str:
    """What the expert makes of a wrong line; the line itself when it passes it over."""
    wrong = [other for other in (*bug["others"], bug["broken"]) if other != line]
    habit = has_habit(bug["rule"], habits.share)
    draw, pick = rng.random(), rng.random()
    if second:
        right, favourite = habits.right_second if habit else 2 * habits.right_second, habits.wrong_second
        rest = 0.0
    elif habit:
        right, favourite = habits.right, habits.favourite
        rest = (1 - right - favourite) / 2
    else:
        right, favourite = habits.right_else, 0.0
        rest = (1 - right) / 2
    if draw < right:
        return bug["fixed"]
    if wrong and draw < right + favourite:
        return wrong[0]
    if wrong and draw < right + favourite + rest:
        return wrong[int(pick * len(wrong))]
    return line


def first_observation(task: Task) -> str:
    """What the environment shows first with ``instructions=False``."""
    return f'{task.prompt}\n<file path="{PATH}">\n{task.workspace[PATH].decode()}</file>'


def reply(pairs: list[tuple[str, str]]) -> str:
    """One edit with all search/replace pairs, or a submission if there are none."""
    if not pairs:
        return "<submit/>"
    body = "\n".join(f"<search>{old}</search>\n<replace>{new}</replace>" for old, new in pairs)
    return f'<edit path="{PATH}">\n{body}\n</edit>'


def _feedback(task: Task, text: str) -> tuple[bool, str]:
    """Whether all visible tests pass, and what the environment would say (``feedback="tests"``)."""
    namespace: dict[str, Any] = {}
    exec(text, namespace)  # our own functions and bugs, from the tiny rules
    failures = []
    for test in task.visible:
        _, call, want = test.body.split("\n")
        call = call.removeprefix(">>> ")
        try:
            got = repr(eval(call, namespace))
        except Exception as error:
            got = type(error).__name__
        if got != want:
            failures.append(f"{call} gave {got}, want {want}")
    passed = len(task.visible) - len(failures)
    head = ["applied", f"tests: {passed} of {len(task.visible)} pass"]
    return not failures, "\n".join(head + failures[:5])
