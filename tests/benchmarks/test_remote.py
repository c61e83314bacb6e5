"""Tests around a solution that runs elsewhere: what they see, what they report, and how the machine's faults show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.base import Grade, Test
from benchmarks.grading.remote import RemoteGrader, Suite
from sandbox import Runner, SandboxError

SUITE = Suite({"candidate": "solution:f", "Stack": "solution:Stack"}, cpu_s=0.3)
STACK = """
class Stack:
    def __init__(self, *items): self.items = list(items)
    def push(self, item): self.items.append(item); return self
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __getitem__(self, key): return self.items[key]
    def __setitem__(self, key, value): self.items[key] = value
    def __str__(self): return f"Stack of {len(self)}"
    def __enter__(self): return self
    def __exit__(self, *error): self.items.clear(); return True
    def __eq__(self, other): return True
"""


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteGrader]:
    with RemoteGrader() as made:
        yield made


def grade(remote: RemoteGrader, source: str, *bodies: str, suite: Suite = SUITE) -> Grade:
    tests = [Test(str(number), body) for number, body in enumerate(bodies)]
    return remote.grade(suite, tests, {"solution.py": source.encode()})


OBJECTS = {
    "methods": "s = Stack(1)\ns.push(2)\nassert s.pop() == 2",
    "attributes": "s = Stack(1, 2)\nassert s.items == [1, 2]\ns.items = [7]\nassert s.pop() == 7\ndel s.items",
    "length": "assert len(Stack(1, 2)) == 2 and not Stack()",
    "iteration": "assert [x for x in Stack(1, 2)] == [1, 2] and 2 in Stack(1, 2) and 3 not in Stack(1)",
    "items": "s = Stack(1, 2)\ns[0] = 5\nassert s[0] == 5 and s[-1] == 2",
    "identity": "s = Stack()\nassert s.push(1) == s and {s: 1}[s.push(2)] == 1",
    "kind": "assert isinstance(Stack(), Stack) and not isinstance(3, Stack)",
    "text": "assert str(Stack(1)) == f'{Stack(2)}' == 'Stack of 1'",
    "context": "with Stack(1) as s:\n    assert len(s) == 1\nassert len(s) == 0",
    "given back": "assert candidate(Stack(1, 2)) == 2",
    "exceptions": "try:\n    Stack().pop()\nexcept IndexError as e:\n    assert str(e) == 'pop from empty list'\n"
    "else:\n    assert False",
    "unittest": "import unittest\ncase = unittest.TestCase()\nwith case.assertRaises(LookupError):\n    Stack()[0]\n"
    "case.assertEqual(Stack(1).pop(), 1)",
}


def test_objects_of_the_solution(remote: RemoteGrader) -> None:
    graded = grade(remote, STACK + "f = len", *OBJECTS.values())
    assert graded.resolved, graded


UNTRUSTED = {
    "its equality": "assert Stack(1) == 5",
    "its equality, reflected": "assert 5 == Stack(1)",
    "its equality, with another": "assert Stack(1) == Stack(1)",
    "its equality, in a list": "assert [Stack(1)] == [5]",
    "what it swallows": "with Stack(1) as s:\n    assert s.pop() == 2",
    "its order": "assert Stack(1) < 5",
    "its arithmetic": "assert abs(Stack(1) - 5) < 1",
    "StopIteration": "assert all(candidate(n) for n in [1])\nassert list(map(candidate, [0])) == [None]",
}


def test_what_the_solution_says_of_itself_is_no_verdict(remote: RemoteGrader) -> None:
    sly = STACK + "    __lt__ = __eq__\n    __sub__ = __abs__ = lambda s, *_: s\ndef f(n): raise StopIteration\n"
    graded = grade(remote, sly, *UNTRUSTED.values())
    assert set(graded.tests.values()) == {"failed"}, graded


def test_details_say_what_was_asked_and_what_came(remote: RemoteGrader) -> None:
    bodies = {
        "assert candidate(2) == 5": "f(2) gave 4, want 5",
        "assert candidate(2) > 5": "f(2): not as wanted",
        "assert candidate(2) > 5, 'too small'": "f(2): too small",
        "assert candidate('a', 1) == 5": "f('a', 1) raised TypeError: f() takes 1 positional argument but 2 were given",
        "assert candidate(x=2) == 'é\\n'": "f(x=2) gave 4, want 'é\\n'",
        "candidate(2)\nassert {}['k'] == 5": "f(2) raised KeyError: 'k'",
    }
    graded = grade(remote, "def f(x): return 2 * x", *bodies)
    assert list(graded.details.values()) == list(bodies.values())
    long = grade(remote, "def f(x): return x * 9999", "assert candidate('ab' * 99) == 'c' * 999").details["0"]
    assert len(long) <= 160


@pytest.mark.parametrize(
    ("source", "statuses"),
    [
        ("def f(x):\n    while x == 1: pass\n    return x\n", ["passed", "timeout", "passed", "passed"]),
        ("def f(x):\n    while x: pass\n    return x\n", ["passed", "timeout", "timeout", "timeout"]),
        ("import os\ndef f(x): return x if x < 2 else os._exit(0)\n", ["passed", "passed", "error", "error"]),
        ("def f(x): return x if x != 2 else {}[x]\n", ["passed", "passed", "failed", "passed"]),
        ("def f(x): return x if x != 2 else 'x' * (5 << 20)\n", ["passed", "passed", "failed", "passed"]),
        ("f = \n", ["failed"] * 4),
        ("g = 1\n", ["failed"] * 4),
        ("while True: pass\n", ["timeout"] * 4),
    ],
)
def test_statuses(remote: RemoteGrader, source: str, statuses: list[str]) -> None:
    graded = grade(remote, source, *(f"assert candidate({n}) == {n}" for n in range(4)))
    assert list(graded.tests.values()) == statuses
    assert graded.score == statuses.count("passed") / 4
    assert graded.infra_error is None


def test_a_test_cannot_swallow_a_time_out(remote: RemoteGrader) -> None:
    body = "try:\n    candidate()\nexcept BaseException:\n    pass\nassert True"
    assert grade(remote, "def f():\n    while True: pass", body).tests == {"0": "timeout"}
    assert grade(remote, "import os\ndef f(): os._exit(0)", body).tests == {"0": "error"}


def test_swallowed_alarms_meet_the_time_limit_of_the_whole(remote: RemoteGrader) -> None:
    stubborn = "def f(x):\n while True:\n  try:\n   while True: pass\n  except BaseException: pass\n"
    asleep = "import time\ndef f(x): time.sleep(99)\n"
    for source in (stubborn, asleep):
        graded = grade(remote, source, "assert candidate(1) == 1", suite=replace(SUITE, wall_s=1.5))
        assert graded.tests == {"0": "timeout"}


def test_a_test_that_asks_nothing_passes_nothing(remote: RemoteGrader) -> None:
    graded = grade(remote, "def f(x): return x", "assert True", "assert candidate(1) == 1")
    assert graded.tests == {"0": "error", "1": "passed"}


def test_setup_and_names_are_shared(remote: RemoteGrader) -> None:
    suite = replace(SUITE, setup="def twice(x): return 2 * x\nstart = candidate(1)")
    assert grade(
        remote, "def f(x): return x", "n = candidate(start)", "assert candidate(twice(n)) == 2", suite=suite
    ).resolved
    broken = grade(remote, "def f(x): return 1 / 0", "assert candidate(2) == 2", suite=suite)
    assert "before the test: f(1) raised Zero" in broken.details["0"]
    assert not broken.resolved


def test_what_a_call_does_to_its_arguments(remote: RemoteGrader) -> None:
    source = "def f(rows, table):\n    rows[0].append(9); rows.reverse(); table['a'] = {1}; del table['b']\n"
    body = "rows, table = [[1], [2]], {'b': 2}\nfirst = rows[0]\ncandidate(rows, table)\n"
    away = body + "assert (rows, table) == ([[1], [2]], {'b': 2})"
    back = body + "assert (rows, table) == ([[2], [1, 9]], {'a': {1}})"
    assert grade(remote, source, away).resolved
    assert grade(remote, source, back, suite=replace(SUITE, in_place=True)).resolved


def test_modules_are_the_workspaces(remote: RemoteGrader) -> None:
    files = {"solution.py": b"import json, pkg.inner\ndef f(x): return json.mine + pkg.inner.two\n"}
    files |= {"json.py": b"mine = 1\n", "pkg/__init__.py": b"", "pkg/inner.py": b"two = 2\n", "data.txt": b"9"}
    assert remote.grade(SUITE, [Test("a", "assert candidate(0) == 3")], files).resolved


def test_verdicts_are_kept(remote: RemoteGrader) -> None:
    before = remote.jobs
    first = grade(remote, "def f(x): return 17", "assert candidate(1) == 17")
    first.tests["0"] = "spoilt"  # type: ignore[index]
    assert grade(remote, "def f(x): return 17", "assert candidate(1) == 17").resolved
    assert remote.jobs == before + 1
    assert not grade(remote, "def f(x): return 17", "assert candidate(1) == 18").resolved
    assert remote.jobs == before + 2


def test_no_tests_no_verdict(remote: RemoteGrader) -> None:
    with pytest.raises(ValueError, match="no tests"):
        remote.grade(SUITE, [], {})


def test_files_that_fit_nowhere_are_the_agents_fault(remote: RemoteGrader) -> None:
    graded = remote.grade(SUITE, [Test("a", "candidate(1)")], {"a.py": b"", "a.py/b.py": b""})
    assert (graded.resolved, graded.infra_error, graded.tests) == (False, None, {"a": "error"})
    assert "cannot be graded" in graded.details["a"]


class _Broken(Runner):
    """A runner whose machine fails."""

    def __init__(self, fails: bool, inner: Runner) -> None:
        self.fails, self.inner = fails, inner

    def run(self, *args: Any, link: int | None = None, **kwargs: Any) -> Any:
        if self.fails:
            import os

            assert link is not None
            os.close(link)
            raise SandboxError("the disk is gone")
        return self.inner.run(*args, link=link, **kwargs)

    def close(self) -> None:
        self.inner.close()


@pytest.mark.parametrize("which", [0, 1])
def test_a_machine_that_fails_is_no_verdict(which: int) -> None:
    from sandbox import open_runner

    count = iter(range(2))

    def opened(**options: Any) -> Runner:
        return _Broken(next(count) == which, open_runner(**options))

    with RemoteGrader(open_runner=opened) as remote:
        graded = grade(remote, "def f(x): return x", "assert candidate(1) == 1")
        assert graded.infra_error == "the disk is gone"
        assert not graded.resolved
