"""The tiny level of the repair benchmark: endless short files of small functions, some with a bug.

Each function has a one-line comment that says exactly what it must do. A task is a pure function of its id::

    task = make_task("train", 7, n_bugs=3, functions=4)      # tiny/train/f4b3/7
    task.workspace["m.py"], task.meta["fixed"], task.meta["bugs"]

and is proved when it is made, by running it: the fixed file passes all tests; each bug alone fails a visible and
a hidden test of its function; the broken file fails. A file that is not so is drawn again. The hidden tests also
tell the right function from every bug its rule knows. Splits are disjoint by a hash of the fixed file.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple

from benchmarks.base import Task, Test
from benchmarks.repair.tiny_rules import CALLEES, CALLS, RULES, Bug, Rule

SPLITS = ("train", "test")
TEST_SHARE = 0.25  # of all programs; more would cost redraws of training tasks, less of test tasks
DEPENDENT_SHARE = 1 / 3  # of the files have functions that call another
POOL = 20  # calls drawn per function to choose its tests from; enough to meet the boundary cases
VISIBLE, HIDDEN = 2, 4  # tests per function; two examples pin most rules, four tell all known bugs apart
PROMPT = "Fix m.py."
_ID = re.compile(r"tiny/(train|test)/f(\d+)b(\d+)/(\d+)")
_NAMES = {name: name for name in ("a", "b", "c", "k", "a1", "b1", "k1", "q", "r", "g")}


@dataclass(frozen=True)
class TaskId:
    """What a task id says. ``str`` gives the id back."""

    split: str
    index: int
    n_bugs: int
    functions: int

    def __str__(self) -> str:
        return f"tiny/{self.split}/f{self.functions}b{self.n_bugs}/{self.index}"


def parse_id(task_id: str) -> TaskId:
    """Read a task id. Raises KeyError with a message that says what ids look like."""
    match = _ID.fullmatch(task_id)
    if match is None or not 1 <= int(match[3]) <= int(match[2]):
        raise KeyError(f"{task_id!r} is no tiny task; ids look like tiny/train/f4b3/7 (4 functions, 3 bugs, index 7)")
    return TaskId(split=match[1], index=int(match[4]), n_bugs=int(match[3]), functions=int(match[2]))


def make_task(split: str, index: int, *, n_bugs: int, functions: int) -> Task:
    """Task ``index`` of a split: ``functions`` functions, ``n_bugs`` of them with one bug each."""
    if split not in SPLITS:
        raise ValueError(f"split={split!r} is unknown; there are: {', '.join(SPLITS)}")
    if not 1 <= n_bugs <= functions <= len(RULES) // 2:
        raise ValueError(f"n_bugs={n_bugs}, functions={functions}: needs 1 <= n_bugs <= functions <= {len(RULES) // 2}")
    name = str(TaskId(split, index, n_bugs, functions))
    attempt = 0
    while True:
        rng = random.Random(int.from_bytes(hashlib.sha256(f"{name}/{attempt}".encode()).digest()[:8], "big"))
        drawn = _compose(rng, functions)
        if split_of(_file(drawn)) == split and (task := _finish(name, rng, drawn, n_bugs)) is not None:
            return task
        attempt += 1


def split_of(fixed: str) -> str:
    """The split a program belongs to, by a hash of its fixed file."""
    value = int.from_bytes(hashlib.sha256(fixed.encode()).digest()[:8], "big")
    return "test" if value < TEST_SHARE * 2**64 else "train"


class Call(NamedTuple):
    """Arguments for a function, and what it must give, as doctest prints it."""

    args: tuple[Any, ...]
    want: str


@dataclass(frozen=True)
class Function:
    """A rule with its constants under a name."""

    name: str
    rule: Rule
    constants: Mapping[str, Any]

    def line(self, template: str) -> str:
        """A line of the rule with the constants written in."""
        shown = {
            key: value if key == "g" or isinstance(value, int) else repr(value) for key, value in self.constants.items()
        }
        return template.format_map(shown)

    def text(self, bug: Bug | None = None) -> str:
        """The source of the function, with the bug if one is given."""
        body = [self.line(line) for line in self.rule.body]
        if bug is not None:
            body[bug.line] = " " * _indent(self.rule.body[bug.line]) + self.line(bug.text)
        head = [f"def {self.name}({self.rule.params}):", f"    # {self.line(self.rule.says)}"]
        return "\n".join(head + ["    " + line for line in body]) + "\n"


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _file(functions: list[Function], bugs: Mapping[int, Bug] | None = None) -> str:
    return "\n".join(function.text((bugs or {}).get(i)) for i, function in enumerate(functions))


def _below(rng: random.Random, n: int) -> int:
    # Random.random is the one method whose values Python promises to keep between versions.
    return int(rng.random() * n)


def _choose(rng: random.Random, items: Any, count: int) -> list[Any]:
    left = list(items)
    return [left.pop(_below(rng, len(left))) for _ in range(count)]


def _compose(rng: random.Random, n: int) -> list[Function]:
    """Draw rules, constants and who calls whom. All rules of a file differ."""
    rules = _choose(rng, RULES, n)
    callee = {}
    if n > 1 and rng.random() < DEPENDENT_SHARE:
        base = _below(rng, n - 1)
        rules[base] = _choose(rng, [rule for rule in CALLEES if rule not in rules[:base] + rules[base + 1 :]], 1)[0]
        callers = _choose(rng, range(base + 1, n), 2 if n - base > 2 and rng.random() < 0.5 else 1)
        for i, rule in zip(callers, _choose(rng, CALLS, len(callers)), strict=True):
            rules[i], callee[i] = rule, f"f{base}"
    return [Function(f"f{i}", rule, _constants(rng, callee.get(i, ""))) for i, rule in enumerate(rules)]


def _constants(rng: random.Random, g: str) -> dict[str, Any]:
    a, b = _choose(rng, range(2, 10), 2)
    q, r = _choose(rng, "abcd", 2)
    k = 2 + _below(rng, 2)
    return {"a": a, "b": b, "c": a + b, "k": k, "a1": a + 1, "b1": b + 1, "k1": k + 1, "q": q, "r": r, "g": g}


def _finish(name: str, rng: random.Random, functions: list[Function], n_bugs: int) -> Task | None:
    """Put bugs in, draw tests, prove. None if the file cannot be proved."""
    where = sorted(_choose(rng, range(len(functions)), n_bugs))
    bugs = {i: functions[i].rule.bugs[_below(rng, len(functions[i].rule.bugs))] for i in where}
    fixed, broken = _file(functions), _file(functions, bugs)
    if not _places_are_unique(functions, bugs, fixed, broken):
        return None
    good: dict[str, Any] = {}
    bad: dict[str, Any] = {}
    exec(fixed, good)  # our own code, made above from our own rules
    exec(broken, bad)
    visible: list[Test] = []
    hidden: list[Test] = []
    for i, function in enumerate(functions):
        alone = FunctionType(bad[function.name].__code__, good) if i in bugs else None
        calls = _calls(rng, function, good, alone)
        if calls is None:
            return None
        tests = [Test(f"{function.name}_{j}", _doctest(function.name, call)) for j, call in enumerate(calls)]
        visible += tests[:VISIBLE]
        hidden += tests[VISIBLE:]
    meta = {
        "level": "tiny",
        "fixed": {"m.py": fixed.encode()},
        "rules": tuple((function.name, function.rule.kind) for function in functions),
        "bugs": tuple(_describe(functions[i], bug) for i, bug in bugs.items()),
    }
    return Task(name, "repair", PROMPT, "python", {"m.py": broken.encode()}, tuple(visible), tuple(hidden), meta=meta)


def _describe(function: Function, bug: Bug) -> dict[str, Any]:
    """A bug for ``Task.meta``: its line right and wrong, and the other wrong ways its rule knows to write that line."""
    others = [function.line(other.text) for other in function.rule.bugs if other.line == bug.line and other != bug]
    return {
        "function": function.name,
        "rule": function.rule.kind,
        "kind": bug.kind,
        "fixed": function.line(function.rule.body[bug.line]).lstrip(),
        "broken": function.line(bug.text),
        "others": tuple(others),
    }


def _places_are_unique(functions: list[Function], bugs: Mapping[int, Bug], fixed: str, broken: str) -> bool:
    """Every line that is or could be wrong reads like no other text of the file, so that a search finds it alone.

    A wrong line is not in the fixed file either: it stays unique while the other bugs are being fixed.
    """
    for i, function in enumerate(functions):
        for line in {bug.line for bug in function.rule.bugs}:
            bug = bugs.get(i)
            wrong = bug is not None and bug.line == line
            text = function.line(bug.text if bug is not None and wrong else function.rule.body[line].lstrip())
            if broken.count(text) != 1 or fixed.count(text) != (not wrong):
                return False
    return True


def _doctest(name: str, call: Call) -> str:
    return f">>> from m import {name}\n>>> {name}({', '.join(map(repr, call.args))})\n{call.want}"


def _calls(
    rng: random.Random, function: Function, good: dict[str, Any], alone: Callable[..., Any] | None
) -> list[Call] | None:
    """Calls, visible ones first: both sorts kill ``alone``, the hidden ones kill every bug of the rule.

    All differ, but that a bug that shows in a single call (a boundary of one integer) has it in both sorts.
    """
    names = function.rule.params.split(", ")
    extra = {**function.constants, "g": good.get(function.constants["g"])}
    pool: dict[str, Call] = {}
    for _ in range(POOL):
        args = tuple(_argument(rng, name, function.constants) for name in names)
        call = Call(args, _outcome(good[function.name], args))
        if call.want[0] != "!":
            pool[repr(args)] = call
    left = list(pool.values())
    visible: list[Call] = []
    hidden: list[Call] = []
    if alone is not None and not _kill(alone, {}, visible, left):
        return None
    if not all(_kill(bug, extra, hidden, left + visible) for bug in _wrong(function.rule)):
        return None
    if alone is not None and not _kill(alone, {}, hidden, left + visible):
        return None
    left = [call for call in left if call not in visible and call not in hidden]
    if len(left) < VISIBLE - len(visible) + HIDDEN - len(hidden):
        return None
    while len(visible) < VISIBLE:
        visible.append(left.pop())
    while len(hidden) < HIDDEN:
        hidden.append(left.pop())
    return visible + hidden


def _kill(bug: Callable[..., Any], constants: Mapping[str, Any], chosen: list[Call], calls: list[Call]) -> bool:
    """See to it that a chosen call tells the bug from the right function, adding the first that can. False if none."""
    for call in (*chosen, *calls):
        if _outcome(bug, call.args, constants) != call.want:
            if call not in chosen:
                chosen.append(call)
            return True
    return False


def _argument(rng: random.Random, name: str, constants: Mapping[str, Any]) -> Any:
    """A value for the parameter, often near a constant, where bugs of comparison show."""
    if name in "xy":
        if rng.random() < 0.5:
            return constants["c" if rng.random() < 0.35 else "a"] + _below(rng, 3) - 1
        return _below(rng, 19) - 4
    if name == "v":
        return [_argument(rng, "x", constants) for _ in range(4 + _below(rng, 2))]
    letters = constants["q"] + constants["r"] + "abcd"
    return "".join(letters[_below(rng, 6)] for _ in range(2 + _below(rng, 5)))


def _outcome(function: Callable[..., Any], args: tuple[Any, ...], constants: Mapping[str, Any] | None = None) -> str:
    """What doctest would print, or ``!`` and the exception."""
    try:
        return repr(function(*args, **(constants or {})))
    except Exception as error:
        return f"!{type(error).__name__}"


@cache
def _wrong(rule: Rule) -> tuple[Callable[..., Any], ...]:
    """The rule's bugs as functions that take the constants as keywords: compiled once, whatever the constants."""
    made = []
    for bug in rule.bugs:
        namespace: dict[str, Any] = {}
        body = [line.format_map(_NAMES) for line in rule.body]
        body[bug.line] = " " * _indent(rule.body[bug.line]) + bug.text.format_map(_NAMES)
        source = f"def f({rule.params}, {', '.join(_NAMES)}):\n" + "".join(f"    {line}\n" for line in body)
        exec(source, namespace)
        made.append(namespace["f"])
    return tuple(made)


def calls_another(task: Task) -> bool:
    """Whether a function of a task calls another one."""
    kinds = {rule.kind for rule in CALLS}
    return any(kind in kinds for _, kind in task.meta["rules"])
