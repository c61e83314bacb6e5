"""The half of remote grading that runs beside the graded code: does what the judge asks, and answers with values.

Its source, after that of :mod:`benchmarks.grading.values`, is the program of a job, which appends
``main(data, emit, link)``. It is never given a test or an expected value. ``data`` is JSON ``{"modules": [top-level
names], "cpu_s": s, "in_place": bool}``; what the judge sends over the link is a list:

    ["test"]                         a test begins: its CPU time starts anew (no answer)
    [operation, reference, args]     answered by ["gave", value] (or ["gave", value, args afterwards] with in_place),
                                     ["raised", [class names], [args], text], ["stop"] or ["timeout"]

A reference is ``"module:name"``, ``"module:"`` or the number of an object that an earlier answer named.
"""

import builtins
import importlib
import operator
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:  # inside the sandbox these stand above, in the same program
    from benchmarks.grading.values import MOST, decode, encode, receive, send


class OutOfTime(BaseException):
    """The test used its CPU time."""


def main(data: bytes, emit: Callable[[bytes], object], link: int) -> None:
    """Serve the judge until it closes the link."""
    import json

    sys.dont_write_bytecode = True
    job = json.loads(data)
    modules: list[str] = job["modules"]
    for name in modules:  # a workspace's own queue.py comes before the standard library's
        sys.modules.pop(name, None)
    sys.path.insert(0, os.getcwd())
    objects: dict[int, Any] = {}
    numbers: dict[int, int] = {}
    leave, left, get_timer, set_timer = os._exit, job["cpu_s"], signal.getitimer, signal.setitimer

    def out_of_time(*_: object) -> None:
        raise OutOfTime

    def named(value: Any) -> Any:
        number = numbers.setdefault(id(value), len(numbers))
        objects[number] = value  # kept, so that its id stays its own
        return {"object": number}

    def resolved(reference: Any) -> Any:
        if isinstance(reference, int):
            return objects[reference]
        module, _, name = reference.partition(":")
        found: Any = importlib.import_module(module)
        for part in name.split(".") if name else ():
            found = getattr(found, part)
        return found

    def other(name: str, content: Any) -> Any:
        if name == "object":
            return resolved(content)
        raise ValueError(f"no value: {name}")

    def perform(operation: str, reference: Any, given: Any) -> list[Any]:
        args, kwargs = decode(given, other)
        target = resolved(reference)
        if operation == "call":
            value = target(*args, **kwargs)
        elif operation == "next":
            try:
                value = next(target)
            except StopIteration:
                return ["stop"]
        else:
            value = _OPERATIONS[operation](target, *args)
        answer = ["gave", encode(value, named)]
        if job["in_place"] and operation == "call":
            answer.append(encode([list(args), kwargs], named))
        return answer

    def described(error: BaseException) -> list[Any]:
        names = [kind.__name__ for kind in type(error).__mro__ if getattr(builtins, kind.__name__, None) is kind]
        try:
            args = encode(list(error.args), lambda value: repr(value))
        except BaseException:
            args = []
        try:
            text = f"{type(error).__name__}: {error}"
        except BaseException:
            text = type(error).__name__
        return ["raised", names, args, text[:1000]]

    emit(b"start")
    signal.signal(signal.SIGPROF, out_of_time)
    while True:
        try:
            asked = receive(link)
        except (EOFError, OSError):
            leave(0)
        if asked == ["test"]:
            left = job["cpu_s"]
            continue
        try:
            # The interval repeats: code that swallows the first exception meets the next.
            set_timer(signal.ITIMER_PROF, max(left, 0.001), 0.1)
            try:
                answer = perform(*asked)
            except OutOfTime:
                raise
            except BaseException as error:
                answer = described(error)
            left = get_timer(signal.ITIMER_PROF)[0]
            set_timer(signal.ITIMER_PROF, 0)
        except OutOfTime:
            set_timer(signal.ITIMER_PROF, 0)
            answer = ["timeout"]
            for name in [name for name in sys.modules if name.partition(".")[0] in modules]:
                del sys.modules[name]  # what was interrupted may be half done
        try:
            send(link, answer, MOST)
        except ValueError as error:
            send(link, ["raised", ["ValueError"], [str(error)], f"ValueError: {error}"])


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "value": lambda target: target,
    "getattr": getattr,
    "setattr": setattr,
    "delattr": delattr,
    "iter": iter,
    "len": len,
    "bool": bool,
    "str": str,
    "repr": repr,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "isinstance": lambda kind, value: isinstance(value, kind),
    "enter": lambda manager: manager.__enter__(),
    "exit": lambda manager: manager.__exit__(None, None, None),
}
