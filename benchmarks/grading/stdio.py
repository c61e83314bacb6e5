"""Programs that read standard input and write standard output, judged by cases.

Every case is a real process in a sandbox, started on the workspace's files, with its input as a file on descriptor 0;
what it prints is compared out here, so the wanted output is never inside::

    with StdioGrader(["python3", "main.py"]) as grader:
        grade = grader.grade([Test("1", case("3 4\\n", "7\\n"))], {"main.py": b"print(sum(map(int, input().split())))"})

Two outputs agree if they have the same words in the same lines; blanks between words, and empty lines at the end, do
not count. Two words agree if they are equal, or if the wanted one is a number with a point or an exponent and the other
is a number that differs by at most ``tolerance``, absolute or relative; a wanted integer may be written with a point.
``loose`` outputs are compared by their words alone, whatever the lines and the case of letters, as Codeforces does.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

from benchmarks.base import Grade, Test, Workspace
from benchmarks.grading.bounds import run_bounded
from benchmarks.grading.caching import CachingGrader, broken, refused
from benchmarks.grading.verdicts import digest
from sandbox import ExecResult, Limits, SandboxError, WorkspaceError, open_sandbox

MAX_TIMEOUTS = 2  # cases that run out of time before the rest is not tried
_DOUBLE = 300  # digits
_NUMBER = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?")


def case(given: str, want: str, timeout: float = 4.0) -> str:
    """The body of a test: the input, the wanted output, seconds of CPU time."""
    return json.dumps([given, want, timeout])


def agree(got: str, want: str, tolerance: float = 0.0, *, loose: bool = False) -> bool:
    """Whether an output is the wanted one."""
    if loose:
        got, want = (" ".join(text.lower().split()) for text in (got, want))
    left, right = ([line.split() for line in text.rstrip().split("\n")] for text in (got, want))
    if left == right or len(left) != len(right) or not tolerance:
        return left == right
    return all(
        len(a) == len(b) and all(_word(x, y, tolerance) for x, y in zip(a, b, strict=True))
        for a, b in zip(left, right, strict=True)
    )


def _word(got: str, want: str, tolerance: float) -> bool:
    if got == want:
        return True
    if not (_NUMBER.fullmatch(got) and _NUMBER.fullmatch(want)):
        return False
    if want.lstrip("+-").isdigit():  # an integer is exact; one too long for a double was not printed as one
        return not got.lstrip("+-").isdigit() and len(want) < _DOUBLE and float(got) == int(want)
    return math.isclose(float(got), float(want), rel_tol=tolerance, abs_tol=tolerance)


class StdioGrader(CachingGrader):
    """Grades workspaces by cases. Thread-safe; a sandbox is opened for every grade.

    Args:
        argv: the command that runs the program.
        build: a command that is run once before the cases (a compiler); its failure fails them all.
        tolerance: of numbers that are no integers; 0 compares text.
        loose: whether lines and the case of letters do not count.
        workers: grades at once.
        limits: of one case, whose own seconds end it before; None for 60 s of CPU.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        build: Sequence[str] = (),
        tolerance: float = 0.0,
        loose: bool = False,
        workers: int = 1,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(workers=workers, limits=limits or Limits(cpu_s=60.0))
        self._argv, self._build, self._tolerance = list(argv), list(build), tolerance
        self._loose = loose

    def grade(self, tests: Sequence[Test], files: Workspace) -> Grade:
        """The verdict of the cases on these files. Raises ValueError if there are none; SandboxUnavailable."""
        if not tests:
            raise ValueError("no tests to grade by")
        named = [part for test in tests for part in (test.id, test.body)]
        contents = [part for path, content in sorted(files.items()) for part in (path, content)]
        key = digest([str(len(tests)), *named, *contents])
        return self.known_or(key, lambda: self._graded(tests, files))

    def _graded(self, tests: Sequence[Test], files: Workspace) -> Grade:
        try:
            return self._run(tests, files)
        except SandboxError as error:
            return broken(tests, str(error) or type(error).__name__)
        except WorkspaceError as error:
            return refused(tests, f"cannot be graded: {error}")

    def _run(self, tests: Sequence[Test], files: Workspace) -> Grade:
        verdicts, details, timeouts = {}, {}, 0
        with open_sandbox(limits=self.limits) as box:
            box.write(files)
            if self._build:
                built = box.run(self._build)
                if built.exit_code or built.timed_out:
                    return refused(tests, f"does not build: {_last(built)}")
            for test in tests:
                if timeouts == MAX_TIMEOUTS:
                    verdicts[test.id] = "timeout"
                    continue
                given, want, timeout = json.loads(test.body)
                if not self._build:
                    box.write(files)  # as they were, whatever the last case left
                ran = run_bounded(box, self._argv, timeout, stdin=given.encode())
                verdicts[test.id], detail = self._judged(ran, want)
                timeouts += verdicts[test.id] == "timeout"
                if detail:
                    details[test.id] = detail
        passed = sum(verdict == "passed" for verdict in verdicts.values())
        return Grade(passed == len(tests), passed / len(tests), verdicts, details)

    def _judged(self, ran: ExecResult, want: str) -> tuple[str, str]:
        if ran.timed_out:
            return "timeout", f"ran out of time after {ran.wall_s:.1f} s, {ran.cpu_s:.1f} s of CPU"
        if ran.oom:
            return "error", "ran out of memory"
        if ran.exit_code:
            return "error", f"exit code {ran.exit_code}: {_last(ran)}"
        got = ran.stdout.decode(errors="replace")
        if not ran.truncated and agree(got, want, self._tolerance, loose=self._loose):
            return "passed", ""
        return "failed", f"printed {_short(got)}, want {_short(want)}"


def _last(ran: ExecResult) -> str:
    return (ran.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1][:120]


def _short(text: str) -> str:
    shown = repr(text.rstrip())
    return shown if len(shown) <= 60 else f"{shown[:45]}...{shown[-12:]}"
