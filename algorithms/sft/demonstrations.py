"""Demonstrations for the warm start: an expert with bad habits repairs tiny tasks in up to two turns.

::

    messages = demonstrate(make_task("train", 7, n_bugs=3, functions=4), seed=0, habits=Habits())
    # [{"role": "user", "content": "Fix m.py. ..."}, {"role": "assistant", "content": "<edit ..."}, ...]

The expert goes over every function and writes well-formed replies. For some rules (a *habit*, the same in every task)
it prefers one wrong fix to the right one. A policy that imitates it starts low, sampled as well as greedy, and has the
right fix among its samples: what is left to learn is to choose, which is what RL with tests can teach.
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
        idle: of the right functions have a line written again as it is. It does no harm, and a policy that takes a
            right line for a wrong one has learned to find it.
    """

    share: float = 0.6
    right: float = 0.28
    favourite: float = 0.54
    right_else: float = 0.93
    right_second: float = 0.25
    wrong_second: float = 0.45
    idle: float = 0.06


def has_habit(rule: str, share: float) -> bool:
    """Whether the expert has a bad habit with this kind of function."""
    return int.from_bytes(hashlib.sha256(b"habit/" + rule.encode()).digest()[:8], "big") < share * 2**64


def demonstrate(task: Task, seed: int, habits: Habits) -> list[dict[str, str]]:
    """One conversation about a tiny task: a function of its arguments."""
    rng = random.Random(int.from_bytes(hashlib.sha256(f"{seed}/{task.id}".encode()).digest()[:8], "big"))
    text = task.workspace[PATH].decode()
    messages = [{"role": "user", "content": first_observation(task)}]
    bugs = {bug["function"]: bug for bug in task.meta["bugs"]}
    lines = {name: bug["broken"] for name, bug in bugs.items()}
    for second in (False, True):
        edits: dict[str, tuple[str, str] | None] = {}
        for function, _ in task.meta["rules"]:
            edits[function] = None
            bug, idle = bugs.get(function), rng.random() < habits.idle
            if bug is not None and lines[function] != bug["fixed"]:
                new = _fix(bug, lines[function], rng, habits, second)
                if new != lines[function] and text.count(lines[function]) == 1:
                    text = text.replace(lines[function], new)
                    edits[function] = lines[function], new
                    lines[function] = new
            elif idle and text.count(line := _last_line(text, function)) == 1:
                edits[function] = line, line
        messages.append({"role": "assistant", "content": reply(edits)})
        if second or all(edit is None or edit[0] == edit[1] for edit in edits.values()):
            break
        solved, feedback = _feedback(task, text)
        if solved:
            break
        messages.append({"role": "user", "content": feedback})
    return messages


def _last_line(text: str, function: str) -> str:
    return text.partition(f"def {function}(")[2].partition("\n\n")[0].rstrip().rpartition("\n")[2].lstrip()


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


def reply(edits: Mapping[str, tuple[str, str] | None]) -> str:
    """What the expert says of every function of the file: that it is ok, or the edit of one of its lines (old, new).

    The names are free text to the action format. They make every choice of the policy a token of its own: which
    function (``ok`` or an edit), then where, then what. A small model learns each sooner than all at once.
    """
    if all(edit is None for edit in edits.values()):
        return "<submit/>"
    written = '{}\n<edit path="{}">\n<search>{}</search>\n<replace>{}</replace>\n</edit>'
    return "\n".join(
        f"{function} ok" if edit is None else written.format(function, PATH, *edit) for function, edit in edits.items()
    )


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
