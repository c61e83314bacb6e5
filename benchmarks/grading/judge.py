"""The half of remote grading that knows the tests: runs them in a sandbox of its own, and asks the graded one.

Its source, after that of :mod:`benchmarks.grading.values`, is the program of a job, which appends
``main(data, emit, link)``. Graded code never runs here: to the tests a name of the solution is a :class:`Remote`, which
sends the arguments of a call over the link and gives back a plain value. ``data`` is JSON ``{"remote": {name:
"module:name"}, "setup": source, "tests": [source, ...], "timeouts": n, "in_place": bool}``; the messages are JSON:
``["start"]``, then ``[test, status, detail]`` as tests end. ``_value(name)`` gives the plain value of a constant.

What a Remote stands for (an instance of the solution's class, a generator) is not asked whether it equals, is less
than, or contains something: the answer would be the graded code's own verdict. It equals itself only, is searched by
iterating over it, has no arithmetic, and its ``__exit__`` swallows no exception.
"""

import ast
import builtins
import json
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

TYPE_CHECKING = False
if TYPE_CHECKING:  # inside the sandbox these stand above, in the same program
    from benchmarks.grading.values import MOST, decode, encode, receive, send

DETAIL = 160  # characters of a detail line
LATE, ENDED = "ran out of time", "ended the process"
# StopIteration from a call would end the loop of a test as if it had no more to test.
_NOT_RAISED = ("StopIteration", "StopAsyncIteration")


class SolutionError(Exception):
    """An exception of the graded code that is none of Python's own."""


class Unanswered(BaseException):
    """The graded code ran out of time or is gone."""


class Line:
    """The link, what went wrong with it, and the last call that went over it."""

    def __init__(self, link: int, in_place: bool) -> None:
        self.link, self.in_place = link, in_place
        self.gone = False
        self.fault = ""  # of the test that runs
        self.asked = 0  # operations of the test that runs
        self.call = ""

    def ask(self, operation: str, target: "Remote", args: Any = (), kwargs: Any = None) -> Any:
        """Have one operation done over there. Raises what it raised, or Unanswered."""
        if self.fault:
            raise Unanswered(self.fault)
        self.asked += 1
        given = encode([list(args), kwargs or {}], _reference)
        if operation == "call":
            name = str(target._reference).rpartition(":")[2]
            shown = [_shown(arg, 60) for arg in args] + [f"{k}={_shown(v, 60)}" for k, v in (kwargs or {}).items()]
            self.call = f"{'object' if name.isdigit() else name}({', '.join(shown)})"
        try:
            send(self.link, [operation, target._reference, given])
            answer = receive(self.link, MOST + 1000)
            kind = answer[0]
            if kind == "gave":
                value = decode(answer[1], self._made)
                if self.in_place and operation == "call":
                    _update([list(args), kwargs or {}], decode(answer[2], self._made))
            elif kind == "raised":
                error = _exception(answer[1], decode(answer[2], self._made), str(answer[3]))
            elif kind == "timeout":
                self._fail("timeout")
        except Unanswered:
            raise
        except BaseException:  # no answer, or none that can be read
            self.gone = True
            self._fail("error")
        if kind == "gave":
            return value
        if kind == "stop" and operation == "next":
            raise StopIteration
        raise error if kind == "raised" else SolutionError("no answer")

    def _fail(self, fault: str) -> NoReturn:
        self.fault = fault
        raise Unanswered(fault)

    def _made(self, name: str, content: Any) -> "Remote":
        if name != "object" or type(content) is not int:
            raise ValueError("no value")
        return Remote(self, content)


def _reference(value: Any) -> Any:
    if isinstance(value, Remote):
        return {"object": value._reference}
    raise TypeError(f"a test cannot give the solution a value of type {type(value).__name__}")


def _exception(names: list[str], args: list[Any], text: str) -> Exception:
    for name in names:
        kind = getattr(builtins, name, None)
        if isinstance(kind, type) and issubclass(kind, Exception) and kind is not Exception and name not in _NOT_RAISED:
            try:
                error = kind(*args)
            except (TypeError, ValueError):  # it needs other arguments, which a subclass of it has given; try its base
                continue
            error.add_note(text)
            return error
    error = SolutionError(*args)
    error.add_note(text)
    return error


def _update(before: Any, after: Any) -> None:
    """Make mutable arguments what the call made of them."""
    if type(before) is not type(after) or before == after:
        return
    if isinstance(before, list):
        if len(before) == len(after):
            for position, (old, new) in enumerate(zip(before, after, strict=True)):
                if isinstance(old, (list, dict, set, bytearray)) and type(old) is type(new):
                    _update(old, new)
                else:
                    before[position] = new
        else:
            before[:] = after
    elif isinstance(before, bytearray):
        before[:] = after
    elif isinstance(before, (dict, set)):
        before.clear()
        before.update(after)


class Remote:
    """Something of the graded code's: a function, a class, an instance, a generator."""

    __slots__ = ("_line", "_reference")
    _line: Line
    _reference: Any

    def __init__(self, line: Line, reference: Any) -> None:
        object.__setattr__(self, "_line", line)
        object.__setattr__(self, "_reference", reference)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._line.ask("call", self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name not in ("__name__", "__doc__", "__dict__"):
            raise AttributeError(name)
        return self._line.ask("getattr", self, (name,))

    def __setattr__(self, name: str, value: Any) -> None:
        self._line.ask("setattr", self, (name, value))

    def __delattr__(self, name: str) -> None:
        self._line.ask("delattr", self, (name,))

    def __iter__(self) -> Iterator[Any]:
        there = self._line.ask("iter", self)
        if not isinstance(there, Remote):
            raise TypeError("the solution's __iter__ gave no iterator")
        return _items(there)

    def __next__(self) -> Any:
        return self._line.ask("next", self)

    def __len__(self) -> int:
        return int(self._line.ask("len", self))

    def __bool__(self) -> bool:
        return self._line.ask("bool", self) is True

    def __str__(self) -> str:
        return str(self._line.ask("str", self))

    def __repr__(self) -> str:
        return str(self._line.ask("repr", self))

    def __getitem__(self, key: Any) -> Any:
        return self._line.ask("getitem", self, (key,))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._line.ask("setitem", self, (key, value))

    def __delitem__(self, key: Any) -> None:
        self._line.ask("delitem", self, (key,))

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, Remote) and self._line.ask("isinstance", self, (value,)) is True

    def __enter__(self) -> Any:
        return self._line.ask("enter", self)

    def __exit__(self, *error: object) -> None:
        self._line.ask("exit", self)

    def __eq__(self, value: object) -> bool:
        return isinstance(value, Remote) and value._reference == self._reference

    def __hash__(self) -> int:
        return hash(self._reference)


def _items(there: Remote) -> Iterator[Any]:
    while True:
        try:
            item = next(there)
        except StopIteration:
            return
        yield item


class _Compared(ast.NodeTransformer):
    """``assert a == b`` shows both sides when it fails."""

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        match node.test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                call = ast.Call(ast.Name("_equal", ast.Load()), [left, right], [])
                return ast.copy_location(ast.Assert(call, node.msg), node)
        return node


def main(data: bytes, emit: Callable[[bytes], object], link: int) -> None:
    """Run all tests in order. Stops early after ``timeouts`` tests that ran out of time, or when nobody answers."""
    job = json.loads(data)
    line = Line(link, job["in_place"])
    compared: list[Any] = []

    def equal(left: Any, right: Any) -> Any:
        compared[:] = [left, right]
        return left == right

    def run(source: str) -> None:
        tree = ast.fix_missing_locations(_Compared().visit(ast.parse(source)))
        exec(compile(tree, "<test>", "exec"), module.__dict__)

    def detail(error: BaseException) -> str:
        call = _short(line.call, 90)
        if isinstance(error, AssertionError) and compared:
            return f"{call} gave {_shown(compared[0], 36)}, want {_shown(compared[1], 36)}"
        if isinstance(error, AssertionError):
            return f"{call}: {_short(str(error), 70) or 'not as wanted'}"
        said = error.__notes__[0] if hasattr(error, "__notes__") else f"{type(error).__name__}: {error}"
        return f"{call} raised {_short(said, 60)}".lstrip()

    emit(json.dumps(["start"]).encode())
    module = types.ModuleType("tests")
    module.__dict__.update({name: Remote(line, at) for name, at in job["remote"].items()}, _equal=equal)
    module.__dict__["_value"] = lambda remote: line.ask("value", remote)
    broken = ""  # why the setup failed
    timeouts = 0
    for number, source in enumerate([job["setup"], *job["tests"]], start=-1):
        line.fault, line.asked, line.call = "", 0, ""
        compared.clear()
        status, text = "passed", ""
        try:
            send(link, ["test"])
            if broken:
                raise RuntimeError(f"before the test: {broken}")
            run(source)
        except BaseException as error:
            status = "failed"
            try:
                text = detail(error)
            except BaseException:
                text = type(error).__name__
        if number < 0 and status != "passed":
            broken = text
        if line.fault or line.gone:
            status = line.fault or "error"
            text = f"{_short(line.call, 90)} {LATE if status == 'timeout' else ENDED}"
        elif status == "passed" and not line.asked:
            status, text = "error", "the test does not use the solution"
        if number >= 0:
            emit(json.dumps([number, status, text[:DETAIL]]).encode())
            timeouts += status == "timeout"
        if line.gone or timeouts == job["timeouts"]:
            break


def _shown(value: Any, room: int) -> str:
    try:
        return _short(repr(value), room)
    except ValueError:  # an integer of more digits than Python prints
        return type(value).__name__


def _short(text: str, room: int) -> str:
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text[: 4 * room])
    return text if len(text) <= room else f"{text[: room - 13]}...{text[-10:]}"
