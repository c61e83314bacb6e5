"""Keeps answers that say themselves what they equal from being compared. For tests that share a process with the graded
code: an object that equals everything passes ``assertEqual(f(x), 3)``.

Source text, run beside the tests (:mod:`benchmarks.bigcodebench`): it imports nothing of this project::

    task_func = checked(solution.task_func, os.getcwd())

An answer is refused, as a failed assertion, when it, or what it holds, is of a class of the graded code that defines
how it is compared, or equals an object that nobody has seen before. Frames, arrays, mocks, and what else libraries
return define their own comparisons, too, and are let through; so are the graded code's classes that define none, its
dataclasses, named tuples and enumerations.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

#: What assertions ask of a value.
ASKED: tuple[str, ...] = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__contains__", "__class__")
ASKED += ("__sub__", "__rsub__", "__abs__", "__round__")
MOST = 20_000  # values that are looked at in one answer; some answers are whole data sets
_PLAIN = (int, str, float, bool, bytes, complex, type(None))


def checked(function: Callable[..., Any], folder: str) -> Callable[..., Any]:
    """The function; its answers, and its arguments after the call, are looked at. Graded code is below ``folder``."""

    def each(values: Iterator[Any]) -> Iterator[Any]:
        for value in values:
            refuse(value)
            yield value

    def refuse(*values: Any) -> None:
        if reason := strange(list(values), folder):
            raise AssertionError(reason)

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        answer = function(*args, **named)
        refuse(answer, args, named)
        return each(answer) if inspect.isgenerator(answer) else answer

    return call


def strange(value: Any, folder: str) -> str:
    """Why a value must not be compared; "" when it may."""
    todo, seen = [value], dict[int, Any]()
    while todo and len(seen) < MOST:
        each = todo.pop()
        kind = type(each)
        if kind in _PLAIN or id(each) in seen:
            continue
        seen[id(each)] = each
        for base in kind.__mro__[:-1]:
            if name := _defines(base, folder):
                return f"{base.__qualname__} of the solution defines {name}: it would be its own judge"
        todo += _inside(each, folder)
        if not _array(each) and _agrees(each):
            return f"the answer equals everything: {kind.__qualname__}"
    return ""


def _defines(kind: type, folder: str) -> str:
    """What a class of the graded code says of its own comparison."""
    found = [name for name in ASKED if name in vars(kind)]
    if not found or not _graded(kind, folder) or (found == ["__eq__"] and _generated(kind)):
        return ""
    return found[0]


def _graded(kind: type, folder: str) -> bool:
    """Whether a class is the graded code's: no module from elsewhere has it under its name."""
    if not kind.__flags__ & (1 << 9):  # made in C
        return False
    from unittest.mock import NonCallableMock

    if issubclass(kind, NonCallableMock):
        return False  # each has a class of its own
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None) or ""
    found: Any = module
    for part in kind.__qualname__.split("."):
        if part == "<locals>":  # of a function: where is it written?
            codes = [getattr(vars(kind)[name], "__code__", None) for name in ASKED if name in vars(kind)]
            files = [code.co_filename if code else "" for code in codes]
            return not all(os.path.isfile(each) and not _below(each, folder) for each in files)
        found = getattr(found, part, None)
    return found is not kind or _below(file, folder)


def _below(file: str, folder: str) -> bool:
    return os.path.abspath(file).startswith(os.path.join(folder, "")) if file else False


def _generated(kind: type) -> bool:
    """Whether the equality of a class is the one that ``dataclass`` writes."""
    if not dataclasses.is_dataclass(kind):
        return False
    made = dataclasses.make_dataclass("Made", [field.name for field in dataclasses.fields(kind) if field.compare])
    mine, plain = (getattr(each.__eq__, "__code__", None) for each in (kind, made))
    parts = ("co_code", "co_consts", "co_names")
    return mine is not None and all(getattr(mine, part) == getattr(plain, part) for part in parts)


def _inside(value: Any, folder: str) -> list[Any]:
    """The values that a container, an array of objects or an object of the graded code holds."""
    if isinstance(value, dict):
        return [*dict.keys(value), *dict.values(value)]
    kinds: tuple[Any, ...] = (list, tuple, set, frozenset)
    for kind in kinds:
        if isinstance(value, kind):
            return list(kind.__iter__(value))
    if _array(value):
        held = value if type(value).__name__ == "ndarray" else value.to_numpy()
        return held.ravel()[:MOST].tolist() if held.dtype == object else []
    return list(vars(value).values()) if _graded(type(value), folder) and hasattr(value, "__dict__") else []


def _array(value: Any) -> bool:
    kind = type(value)
    return (kind.__module__.partition(".")[0], kind.__name__) in (
        ("numpy", "ndarray"),
        *(("pandas", name) for name in ("DataFrame", "Series", "Index")),
    )


def _agrees(value: Any) -> bool:
    if type(value).__eq__ is object.__eq__:
        return False
    try:
        return (value == object()) is True
    except Exception:
        return False  # a comparison that fails is none
