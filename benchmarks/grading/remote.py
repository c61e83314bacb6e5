"""Tests that call the solution from outside: for benchmarks whose tests are Python code around a function or a class.

Two sandboxes, one link. The judge (:mod:`benchmarks.grading.judge`) runs the tests, and to it a name of the solution is
a stand-in that sends arguments away and gets a plain value back; the solution runs in the other sandbox
(:mod:`benchmarks.grading.graded`), which never holds a test, an expected value, or the descriptor of the verdicts::

    suite = Suite({"candidate": "solution:add"})
    with RemoteGrader(workers=2) as grader:
        grade = grader.grade(suite, [Test("a", "assert candidate(2, 3) == 5")], {"solution.py": b"def add(a, b): ..."})
    grade.details  # {"a": "add(2, 3) gave None, want 5"}

So graded code can end its process, hang, or answer; whatever it patches, prints, or leaves in files is not looked at.
"""

from __future__ import annotations

import inspect
import json
import socket
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.base import Grade, Test, Workspace
from benchmarks.grading import graded, judge, values
from benchmarks.grading.caching import CachingGrader, LazyRunner, broken, refused
from benchmarks.grading.verdicts import digest
from sandbox import JobResult, Limits, Runner, SandboxError, WorkspaceError, open_runner
from sandbox.runner import PRELOAD

MAX_TIMEOUTS = 2  # tests that run out of time before the rest is not tried: bounds the cost of an endless loop
WALL_S = 20.0  # of one grade, unless the suite says otherwise; catches sleep and swallowed alarms

# Our imports must not be the workspace's modules (posix and sys are built in), and our functions keep builtins of their
# own: code that replaces isinstance must not be taken for wrong because of it.
_BOOT = """import builtins, posix, sys
sys.path[:] = [p for p in sys.path if p not in ("", ".", posix.getcwd())]
__builtins__ = dict(vars(builtins))
"""


def _program(half: object) -> str:
    return f"{_BOOT}{inspect.getsource(values)}\n{inspect.getsource(half)}\nmain(data, emit, link)\n"  # type: ignore[arg-type]


_JUDGE, _GRADED = _program(judge), _program(graded)


@dataclass(frozen=True)
class Suite:
    """What all tests of a task share.

    Attributes:
        remote: name in the tests -> ``"module:name"`` of the solution.
        setup: source that is run before the first test, in the namespace of all tests.
        in_place: whether tests look at what a call did to its arguments. Off, what the solution does to them stays
            with it, so that it cannot change what a test compares with.
        cpu_s: CPU seconds of the solution in one test.
        wall_s: seconds of one grade.
    """

    remote: Mapping[str, str]
    setup: str = ""
    in_place: bool = False
    cpu_s: float = 1.0  # a test of a right solution of HumanEval takes less than 0.05 s
    wall_s: float = WALL_S

    def grader(self, *, workers: int, limits: Limits | None) -> RemoteGrader:
        """A grader of such suites."""
        return RemoteGrader(workers=workers, limits=limits)


@dataclass
class _Ran:
    """What came of the job beside the judge's."""

    result: JobResult | None = None
    error: BaseException | None = field(default=None)


class RemoteGrader(CachingGrader):
    """Grades workspaces by tests of a :class:`Suite`. Thread-safe; sandboxes are opened at the first grade.

    Args:
        workers: grades at once, each with two processes, of which one waits for the other.
        limits: of the solution's job, and of the judge's.
        open_runner: opens a runner.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        limits: Limits | None = None,
        open_runner: Callable[..., Runner] = open_runner,
    ) -> None:
        # A grade must have both of its places or wait for none: the base lets only so many in.
        super().__init__(workers=workers, limits=limits)
        self._judging = LazyRunner(self, open_runner, preload=(*PRELOAD, "ast"))
        self._solving = LazyRunner(self, open_runner)

    def grade(self, suite: Suite, tests: Sequence[Test], files: Workspace) -> Grade:
        """The verdict of the tests on these files, of which only ``*.py`` take part.

        Raises ValueError if there are no tests: nothing would be judged; SandboxUnavailable if this machine has no
        sandbox. After :meth:`close` every grade is an infra error.
        """
        if not tests:
            raise ValueError("no tests to grade by")
        modules = {path: content for path, content in sorted(files.items()) if path.endswith(".py")}
        return self.known_or(digest(_parts(suite, tests, modules)), lambda: self._run(suite, tests, modules))

    def close(self) -> None:
        """End the sandboxes, for good. May be called twice."""
        self._judging.close()
        self._solving.close()

    def _run(self, suite: Suite, tests: Sequence[Test], modules: Workspace) -> Grade:
        try:
            judging, solving = self._judging.get(), self._solving.get()
        except SandboxError as error:
            return broken(tests, str(error) or type(error).__name__)
        names = sorted({path.split("/")[0].removesuffix(".py") for path in modules})
        given = {"modules": names, "cpu_s": suite.cpu_s, "in_place": suite.in_place}
        asked = {
            "remote": dict(suite.remote),
            "setup": suite.setup,
            "tests": [test.body for test in tests],
            "timeouts": MAX_TIMEOUTS,
            "in_place": suite.in_place,
        }
        ran = _Ran()
        near, far = socket.socketpair()

        def solve() -> None:
            try:
                data = json.dumps(given).encode()
                ran.result = solving.run(_GRADED, modules, data, suite.wall_s, link=far.detach())
            except BaseException as error:  # raised again, or judged, in the thread that waits
                ran.error = error

        beside = threading.Thread(target=solve)
        beside.start()
        try:
            verdict = judging.run(_JUDGE, data=json.dumps(asked).encode(), timeout=suite.wall_s, link=near.detach())
        except SandboxError as error:
            return broken(tests, str(error) or type(error).__name__)
        finally:
            near.close()
            beside.join()
        if isinstance(ran.error, WorkspaceError):  # the agent's doing: files that fit into no workspace
            return refused(tests, f"cannot be graded: {ran.error}")
        if isinstance(ran.error, SandboxError):
            return broken(tests, str(ran.error) or type(ran.error).__name__)
        if ran.error is not None:
            raise ran.error
        assert ran.result is not None
        for job in (verdict, ran.result):
            if not job.messages:
                return broken(tests, f"a grading job did not start (exit {job.exec.exit_code}) {_last(job)}")
        return _judged(tests, verdict, out_of_time=verdict.exec.timed_out or ran.result.exec.timed_out)


def _judged(tests: Sequence[Test], result: JobResult, *, out_of_time: bool) -> Grade:
    rows = [json.loads(message) for message in result.messages[1:]]
    out_of_time |= sum(status == "timeout" for _, status, _ in rows) >= MAX_TIMEOUTS
    verdicts = {test.id: "timeout" if out_of_time else "error" for test in tests}
    details = {}
    for number, status, detail in rows:
        if status == "error" and detail and out_of_time:  # the job of the solution was ended by its time limit
            status, detail = "timeout", detail.replace(judge.ENDED, judge.LATE)
        verdicts[tests[number].id] = status
        if detail:
            details[tests[number].id] = detail
    passed = sum(status == "passed" for status in verdicts.values())
    return Grade(passed == len(tests), passed / len(tests), verdicts, details)


def _last(job: JobResult) -> list[str]:
    return job.exec.stderr.decode(errors="replace").strip().splitlines()[-1:]


def _parts(suite: Suite, tests: Sequence[Test], modules: Workspace) -> Iterable[str | bytes]:
    yield json.dumps([dict(suite.remote), suite.setup, suite.in_place, suite.cpu_s, suite.wall_s, len(tests)])
    for test in tests:
        yield test.id
        yield test.body
    for path, content in modules.items():
        yield path
        yield content
