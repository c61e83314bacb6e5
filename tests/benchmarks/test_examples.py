"""Doctest grading: as doctest judges, and believed only outside the graded process."""

from __future__ import annotations

import doctest
import json
from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.base import Grade, Test
from benchmarks.grading import caching, examples, verdicts
from benchmarks.grading.examples import ExampleGrader, Record, judge
from benchmarks.repair import program
from sandbox import SandboxError, SandboxUnavailable

ADD = Test("adds", ">>> from m import add\n>>> add(2, 3)\n5\n")
MORE = Test("more", ">>> from m import add\n>>> add(20, 22)\n42\n")
RIGHT, WRONG = "def add(a, b): return a + b\n", "def add(a, b): return a - b\n"


def verdict(grader: ExampleGrader, source: str, *tests: Test, **others: str) -> Grade:
    files = {"m.py": source.encode(), **{f"{name}.py": text.encode() for name, text in others.items()}}
    return grader.grade(tests or (ADD, MORE), files)


def test_right_and_wrong(grader: ExampleGrader) -> None:
    good, bad = verdict(grader, RIGHT), verdict(grader, WRONG)
    assert (good.resolved, good.score, good.details) == (True, 1.0, {})
    assert (bad.resolved, bad.score) == (False, 0.0)
    assert bad.tests == {"adds": "failed", "more": "failed"}
    assert bad.details == {"adds": "add(2, 3) gave -1, want 5", "more": "add(20, 22) gave -2, want 42"}


EMIT = """
import sys
def emit(*fields):
    frame = sys._getframe()
    while frame:
        for values in (frame.f_locals, frame.f_globals):
            if "emit" in values and values["emit"] is not emit:
                import json
                return values["emit"](json.dumps(fields).encode() + b"\\n")
        frame = frame.f_back
    raise RuntimeError("no channel found")
"""
# (name, what the module does first, statuses of the wrong twin that are right)
HARMLESS_WHEN_RIGHT = {
    "sys.stdout replaced": "import io, sys; sys.stdout = io.StringIO('5\\n')",
    "sys.stdout closed": "import sys; sys.stdout.close()",
    "displayhook replaced": "import sys; sys.displayhook = lambda value: print(41)",
    "atexit": "import atexit, os; atexit.register(os._exit, 0)",
    "patched time": "import time, signal; time.sleep = time.time = signal.alarm = lambda *a: 0",
    "patched timer": "import signal; signal.setitimer = lambda *a: (0, 0)",
    "alarm ignored": "import signal; signal.signal(signal.SIGPROF, signal.SIG_IGN)",
    "patched repr": "import builtins; builtins.AssertionError = builtins.ValueError = KeyError",
    "imitates records": """import os
os.write(1, b'["start"]\\n[0, 1, "gave", "5\\\\n"]\\nPASSED adds\\nExit Code: 0\\n')""",
    "imitates on stderr": """import os; os.write(2, b'[0, 1, "gave", "5\\\\n"]\\n')""",
    "thread left": "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()",
    "other directory": "import os, sys; os.chdir('/'); sys.path.clear()",
    "doctest patched": "import doctest; doctest.OutputChecker.check_output = lambda *a: True",
    "evil equality": "class Any:\n    __eq__ = lambda *a: True\n    __hash__ = None\n",
}


@pytest.mark.parametrize("first", HARMLESS_WHEN_RIGHT.values(), ids=HARMLESS_WHEN_RIGHT)
def test_tampering_changes_no_verdict(grader: ExampleGrader, first: str) -> None:
    assert set(verdict(grader, f"{first}\n{WRONG}").tests.values()) == {"failed"}
    twin = verdict(grader, f"{first}\n{RIGHT}")
    assert twin.resolved, twin


FATAL = {
    "os._exit": ("import os; os._exit(0)", "error"),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", "error"),
    "kill": ("import os; os.kill(os.getpid(), 9)", "error"),
    "sys.exit": ("import sys; sys.exit(0)", "failed"),
    "channel closed": ("import os; os.closerange(0, 4096)", "error"),
    "endless loop": ("while True: pass", "timeout"),
    "output flood": ("while True: print('5' * 1000)", "timeout"),
    "does not parse": ("def", "failed"),
    "every file gone": ("import pathlib\nfor p in pathlib.Path('.').iterdir(): p.unlink()\nraise KeyError", "failed"),
}


@pytest.mark.parametrize(("first", "status"), FATAL.values(), ids=FATAL)
def test_what_ends_the_run_passes_nothing(grader: ExampleGrader, first: str, status: str) -> None:
    grade = verdict(grader, f"{first}\n{RIGHT}")
    assert not grade.resolved
    assert grade.infra_error is None
    assert grade.tests["adds"] == status


@pytest.mark.parametrize(
    "body",
    ["import time\nwhile True: time.sleep(9)", "while True:\n try:\n  while True: pass\n except BaseException: pass"],
)
def test_time_limit_of_the_whole(grader: ExampleGrader, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setattr(examples, "WALL_S", 1.5)
    grade = verdict(grader, body + "\n" + RIGHT)
    assert grade.tests == {"adds": "timeout", "more": "timeout"}
    assert grade.details["adds"] == "from m import add ran out of time"


def test_one_slow_test_leaves_the_others(grader: ExampleGrader) -> None:
    grade = verdict(grader, "def add(a, b):\n    while a == 2: pass\n    return a + b\n")
    assert grade.tests == {"adds": "timeout", "more": "passed"}
    assert grade.details == {"adds": "add(2, 3) ran out of time, want 5"}


def test_records_written_by_the_graded_code(grader: ExampleGrader) -> None:
    """It reaches the channel, and gains nothing: it must know the answer, and the true record makes two."""
    guess = EMIT + "emit(0, 1, 'gave', '4\\n'); import os; os._exit(0)\n"
    assert verdict(grader, guess).tests == {"adds": "error", "more": "error"}
    for value in "45":
        twice = verdict(grader, EMIT + f"emit(0, 1, 'gave', '{value}\\n')\n" + WRONG)
        assert not twice.resolved
        assert twice.tests["adds"] == "error"
    nonsense = EMIT + "emit(0, 1, 'passed', 'x'); emit('start'); emit(9, 9, 'gave', '5'); emit(0, 1, 'gave', 5)\n"
    assert set(verdict(grader, nonsense + WRONG).tests.values()) == {"failed"}
    assert verdict(grader, nonsense + RIGHT).resolved


SEARCH = """
import gc, os, re, sys
def secret():
    seen = [repr(value) for value in gc.get_objects() if isinstance(value, (str, bytes, list, tuple, dict))]
    frame = sys._getframe()
    while frame:
        seen += [repr(frame.f_locals), repr(frame.f_globals)]
        frame = frame.f_back
    for folder, _, files in os.walk("."):
        for name in files:
            seen.append(repr(open(os.path.join(folder, name), "rb").read()))
    for name in ("environ", "cmdline"):
        seen.append(repr(open("/proc/self/" + name, "rb").read()))
    found = [m for text in seen for m in re.findall("cat-[0-9]{4}", text)]
    return found[0] if found else "nothing"
"""


def test_expected_values_are_not_in_the_process(grader: ExampleGrader) -> None:
    test = Test("secret", ">>> from m import secret\n>>> print(secret())\ncat-4711\n")
    assert verdict(grader, "def secret(): return 'cat-%d' % 4711\n", test).resolved
    grade = verdict(grader, SEARCH, test)
    assert grade.tests == {"secret": "failed"}
    assert grade.details["secret"] == "print(secret()) gave nothing, want cat-4711"


def test_equal_to_everything_is_not_right(grader: ExampleGrader) -> None:
    evil = "class E(int):\n    __eq__ = lambda *a: True\n    __repr__ = lambda s: 'E'\ndef add(a, b): return E()\n"
    assert set(verdict(grader, evil).tests.values()) == {"failed"}


def test_modules_are_fresh_in_every_test(grader: ExampleGrader) -> None:
    count = ">>> import m, pkg.inner\n>>> m.up(), pkg.inner.up()\n(1, 1)\n"
    up = "n = 0\ndef up():\n    global n\n    n += 1\n    return n\n"
    files = {"m.py": up.encode(), "pkg/__init__.py": b"", "pkg/inner.py": up.encode()}
    assert grader.grade([Test(f"t{i}", count) for i in range(3)], files).resolved


def test_a_module_is_compiled_once_for_all_tests(grader: ExampleGrader) -> None:
    watch = """import sys
if not hasattr(sys, "seen"):
    sys.seen = []
    sys.addaudithook(lambda event, args: event == "compile" and sys.seen.append(str(args[1])))
def compiled(): return sum(name.endswith("m.py") for name in sys.seen)
"""
    tests = [Test(name, ">>> from m import compiled\n>>> compiled()\n0\n") for name in ("first", "second", "third")]
    assert verdict(grader, watch, *tests).resolved


def test_a_module_that_changed_on_disk_is_read_again(grader: ExampleGrader) -> None:
    rewrites = "def add(a, b):\n    open('m.py', 'w').write('def add(a, b): return 42')\n    return a + b\n"
    assert verdict(grader, rewrites).resolved
    assert verdict(grader, rewrites, ADD, Test("again", ADD.body)).tests == {"adds": "passed", "again": "failed"}


def test_workspace_module_named_like_the_standard_library(grader: ExampleGrader) -> None:
    tests = [Test(name, f">>> import {name}\n>>> {name}.mine()\n1\n") for name in ("queue", "json", "heapq")]
    files = {f"{test.id}.py": b"def mine(): return 1\n" for test in tests}
    assert grader.grade(tests, files).resolved


BODIES = {
    "plain": ">>> 1 + 1\n2\n",
    "wrong": ">>> 1 + 1\n3\n",
    "print": ">>> print('a'); print('b')\na\nb\n",
    "none": ">>> None\n>>> 1\n1\n",
    "unwanted output": ">>> print('x')\n>>> 1\n1\n",
    "missing output": ">>> x = 1\n1\n",
    "loop": ">>> for i in range(2):\n...     print(i)\n0\n1\n",
    "blank line": ">>> print('a\\n\\nb')\na\n<BLANKLINE>\nb\n",
    "raises": ">>> 1 / 0\nTraceback (most recent call last):\nZeroDivisionError: division by zero\n",
    "raises with stack": ">>> {}['a']\nTraceback (most recent call last):\n  File x\nKeyError: 'a'\n",
    "other message": ">>> {}['a']\nTraceback (most recent call last):\nKeyError: 'b'\n",
    "other exception": ">>> {}['a']\nTraceback (most recent call last):\nValueError: 'a'\n",
    "no exception": ">>> 1\nTraceback (most recent call last):\nValueError: 'a'\n",
    "unexpected exception": ">>> 1 / 0\n1\n",
    "detail ignored": ">>> {}['a'] # doctest: +IGNORE_EXCEPTION_DETAIL\n"
    "Traceback (most recent call last):\nKeyError: x\n",
    "ellipsis": ">>> list(range(99)) # doctest: +ELLIPSIS\n[0, ..., 98]\n",
    "ellipsis is off": ">>> list(range(99))\n[0, ..., 98]\n",
    "spaces": ">>> [1,  2] # doctest: +NORMALIZE_WHITESPACE\n[1,\n 2]\n",
    "no newline at the end": ">>> print('a', end='')\na\n",
    "syntax error": ">>> 1 +\nTraceback (most recent call last):\nSyntaxError: invalid syntax\n",
    "system exit": ">>> raise SystemExit(3)\nTraceback (most recent call last):\nSystemExit: 3\n",
    "names persist": ">>> a = 4\n>>> a * 2\n8\n",
    "not ASCII": ">>> print('\\u20ac'), '\\udcff'\n€\n(None, '\\udcff')\n",
}


def test_judges_as_doctest_does(grader: ExampleGrader) -> None:
    tests = [Test(name, body) for name, body in BODIES.items()]
    got = grader.grade(tests, {"m.py": b""}).tests
    parser = doctest.DocTestParser()
    for test in tests:
        runner = doctest.DocTestRunner(verbose=False)
        found = parser.get_doctest(test.body, {}, test.id, None, 0)
        failed = runner.run(found, out=lambda _: None).failed
        assert (test.id, got[test.id]) == (test.id, "failed" if failed else "passed")


def test_true_is_not_one(grader: ExampleGrader) -> None:
    assert verdict(grader, "", Test("t", ">>> 2 > 1\n1\n")).tests == {"t": "failed"}


DETAILS = {
    "add(1, 2)\n7\n": "add(1, 2) gave 3, want 7",
    "add(1, 'a')\n7\n": "add(1, 'a') raised TypeError: unsupported ... and 'str', want 7",
    "add(1, 2)\nTraceback (most recent call last):\nValueError: no\n": "add(1, 2) gave 3, want ValueError: no",
    "x = 1\n7\n": "x = 1 gave nothing, want 7",
    "print('a')\n>>> 7\n7\n": "print('a') gave a",
    "print('a\\nb')\n7\n": "print('a\\nb') gave a\\nb, want 7",
}


@pytest.mark.parametrize(("example", "line"), DETAILS.items())
def test_detail_lines(grader: ExampleGrader, example: str, line: str) -> None:
    grade = verdict(grader, RIGHT, Test("t", f">>> from m import add\n>>> {example}"))
    assert grade.details == {"t": line}


def test_detail_lines_are_short(grader: ExampleGrader) -> None:
    test = Test("t", f">>> 'x' * 900, {'9' * 300}\n{'y' * 900}\n")
    (line,) = verdict(grader, "", test).details.values()
    assert len(line) <= caching.DETAIL
    assert "\n" not in line


@pytest.mark.parametrize(
    ("body", "says"),
    [("", "no example"), (">>> assert f(1) == 2\n", "no example"), (">>> 1\n" + "1" * 5000 + "\n", "more than")],
)
def test_a_test_that_cannot_be_judged_is_refused(grader: ExampleGrader, body: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        verdict(grader, RIGHT, Test("t", body))


def test_no_tests_is_refused(grader: ExampleGrader) -> None:
    with pytest.raises(ValueError, match="no tests"):
        grader.grade((), {"m.py": b""})


def test_verdicts_are_kept_by_content(grader: ExampleGrader) -> None:
    source = f"# {test_verdicts_are_kept_by_content.__name__}\n" + WRONG
    before, first = grader.jobs, verdict(grader, source)
    first.details.clear()  # type: ignore[attr-defined]  # a caller's own copy
    again = grader.grade((ADD, MORE), {"notes.txt": b"not a module", "m.py": source.encode()})
    assert grader.jobs == before + 1
    assert again.details["adds"] == "add(2, 3) gave -1, want 5"
    assert verdict(grader, source + RIGHT).resolved  # other content
    assert verdict(grader, source, MORE).tests == {"more": "failed"}  # other tests
    assert verdict(grader, source, Test("adds", MORE.body)).tests == {"adds": "failed"}
    assert grader.jobs == before + 4


class Scripted:
    """A runner that gives what it is told, and counts."""

    def __init__(self, answers: list[Any]) -> None:
        self.answers, self.closed = answers, 0

    def open(self, **_: Any) -> Scripted:
        return self

    def run(self, program: str, *, files: Mapping[str, bytes], data: bytes, timeout: float) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self.closed += 1


def output(*records: Any, stderr: bytes = b"", exit_code: int = 0) -> Any:
    class Exec:
        timed_out = False

    class Result:
        exec: Any = Exec()
        messages = tuple(json.dumps(record).encode() for record in records)

    Result.exec.stderr, Result.exec.exit_code = stderr, exit_code
    return Result()


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "SIZE", 2)
    runner = Scripted([output(["start"], [0, 0, "gave", ""], [0, 1, "gave", "5\n"])] * 6)
    with ExampleGrader(open_runner=runner.open) as grader:
        for name in "aababc":  # c drops b, then a is asked for last before b
            grader.grade((ADD,), {f"{name}.py": b""})
        assert grader.jobs == 3
        grader.grade((ADD,), {"b.py": b""})
        assert grader.jobs == 3
        grader.grade((ADD,), {"a.py": b""})
        assert grader.jobs == 4
    assert runner.closed == 1


def test_a_broken_machine_is_no_verdict_and_is_not_kept() -> None:
    good = output(["start"], [0, 0, "gave", ""], [0, 1, "gave", "5\n"])
    runner = Scripted([SandboxError("backend died"), output(stderr=b"no\npython missing", exit_code=127), good])
    with ExampleGrader(open_runner=runner.open) as grader:
        first, second, third = (grader.grade((ADD,), {"m.py": b""}) for _ in range(3))
    assert (first.resolved, first.infra_error) == (False, "backend died")
    assert second.infra_error is not None
    assert "127" in second.infra_error
    assert "python missing" in second.infra_error
    assert third.resolved


def test_a_runner_that_cannot_open_is_infra_error() -> None:
    def refuse(**_: Any) -> Any:
        raise SandboxError("no namespaces")

    assert ExampleGrader(open_runner=refuse).grade((ADD,), {}).infra_error == "no namespaces"


def test_a_machine_without_a_sandbox_is_told_at_once() -> None:
    def refuse(**_: Any) -> Any:
        raise SandboxUnavailable("install bubblewrap")

    with pytest.raises(SandboxUnavailable, match="install bubblewrap"):
        ExampleGrader(open_runner=refuse).grade((ADD,), {})


@pytest.mark.parametrize("path", ["../m.py", "/tmp/m.py", "a/../../m.py"])
def test_files_that_fit_in_no_workspace_are_the_agents_doing(grader: ExampleGrader, path: str) -> None:
    grade = grader.grade((ADD,), {path: RIGHT.encode(), "m.py": RIGHT.encode()})
    assert (grade.resolved, grade.infra_error, grade.tests) == (False, None, {"adds": "error"})
    assert grade.details["adds"].startswith("cannot be graded: ")


def test_a_worker_that_is_killed_leaves_the_next_grade_right(grader: ExampleGrader) -> None:
    bomb = "import os\nwhile True: os.fork()\n"
    hog = "x = bytearray(1 << 20)\nwhile True: x += x\n"
    for number, source in enumerate((bomb, hog)):
        grade = verdict(grader, source + RIGHT)
        assert not grade.resolved
        assert grade.infra_error is None, grade
        assert verdict(grader, f"# {number}\n{RIGHT}").resolved


def test_the_tests_of_the_corpus_cannot_be_read(grader: ExampleGrader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: here they can. Inside, neither the files nor the folder that holds them is there."""
    folder = program.PROGRAMS
    assert (folder / "trie" / "hidden.txt").is_file()
    source = (
        "import os\ndef look():\n"
        f"    found = [p for p in ({str(folder)!r}, {str(folder.parents[2])!r}) if os.path.exists(p)]\n"
        "    for top, folders, names in os.walk('/'):\n"
        "        folders[:] = [f for f in folders if os.path.join(top, f) not in ('/proc', '/sys')]\n"
        "        found += [os.path.join(top, n) for n in names if n in ('hidden.txt', 'visible.txt', 'tests.txt')]\n"
        "    return found\n"
    )
    monkeypatch.setattr(examples, "CPU_S", 60.0)  # the walk is as long as the machine's file system is large
    monkeypatch.setattr(examples, "WALL_S", 120.0)
    grade = verdict(grader, source, Test("look", ">>> from m import look\n>>> look()\n[]\n"))
    assert grade.resolved, grade


def test_close_is_for_good() -> None:
    grader = ExampleGrader()
    assert verdict(grader, RIGHT).resolved
    grader.close()
    grader.close()
    assert grader.grade((ADD,), {"m.py": b"x = 1"}).infra_error == "this grader is closed: make another"


def test_time_outs_are_not_kept() -> None:
    late = output(["start"], [0, 0, "timeout", ""])
    good = output(["start"], [0, 0, "gave", ""], [0, 1, "gave", "5\n"])
    with ExampleGrader(open_runner=Scripted([late, good]).open) as grader:
        assert grader.grade((ADD,), {"m.py": b""}).tests == {"adds": "timeout"}
        assert grader.grade((ADD,), {"m.py": b""}).resolved


def test_records_of_other_tests_do_not_count() -> None:
    gave = Record("gave", "5\n")
    rows = {(0, 0): [Record("gave", "")], (0, 1): [gave], (1, 1): [gave, gave]}
    grade = judge((ADD, MORE), rows, out_of_time=False)
    assert grade.tests == {"adds": "passed", "more": "error"}
    assert judge((ADD, MORE), rows, out_of_time=True).tests["more"] == "timeout"
