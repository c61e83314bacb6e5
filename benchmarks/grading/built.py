"""Grading of programs that are built first: the tool chain's commands in a fresh sandbox, then keys in what it prints.

::

    with BuiltGrader(workers=2) as grader:
        grade = grader.grade(suite, [Test("check", row["test"])], {"solution.cpp": b"int f() { return 1; }"})

A test has passed if its own key was printed (:mod:`benchmarks.toolchains.base` says what that proves). A line
``# <number> <text>`` on standard output says what went wrong with a test, for the reader only.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence

from benchmarks.base import Grade, Test, Workspace
from benchmarks.grading.bounds import run_bounded
from benchmarks.grading.caching import DETAIL, CachingGrader, broken, refused
from benchmarks.grading.verdicts import digest
from benchmarks.toolchains import toolchain
from benchmarks.toolchains.base import BUILD_S, KEY, LIMITS, Refused, Suite, ToolMissing
from sandbox import ExecResult, Limits, SandboxError, WorkspaceError, open_sandbox

_WRONG = re.compile(rb"^# (\d+) (.*)$", re.M)


class BuiltGrader(CachingGrader):
    """Grades workspaces by a :class:`benchmarks.toolchains.Suite`. Thread-safe; a sandbox is opened for every grade.

    Args:
        workers: grades at once.
        limits: of a grade's sandbox.
    """

    def __init__(self, *, workers: int = 1, limits: Limits | None = None) -> None:
        super().__init__(workers=workers, limits=limits or LIMITS)

    def grade(self, suite: Suite, tests: Sequence[Test], files: Workspace) -> Grade:
        """The verdict of the tests on these files.

        Raises ValueError if there are none, and SandboxUnavailable if this machine has no sandbox. A missing tool is an
        infra error.
        """
        if not tests:
            raise ValueError("no tests to grade by")
        files = {**files, **suite.files}
        named = [part for test in tests for part in (test.id, test.body)]
        contents = [part for path, content in sorted(files.items()) for part in (path, content)]
        key = digest([suite.language, suite.kind, suite.before, str(len(tests)), *named, *contents])
        return self.known_or(key, lambda: self._run(suite, tests, files))

    def _run(self, suite: Suite, tests: Sequence[Test], files: Workspace) -> Grade:
        chain = toolchain(suite.language)
        keys = {test.id: secrets.token_hex(16) for test in tests}
        try:
            place = chain.place()
            build = chain.build(suite, keys, tests, files)
            with open_sandbox(limits=self.limits, read_only=place.read_only) as box:
                box.write(build.files)
                for command in build.commands:
                    built = box.run(command, timeout=BUILD_S, env=place.env)
                    if built.exit_code in (126, 127):  # the tool itself does not run here
                        return broken(tests, f"{command[0]} does not run in the sandbox: {_first_error(built)}")
                    if built.exit_code or built.timed_out:
                        return refused(tests, f"does not build: {_first_error(built)}")
                if build.hidden:
                    box.run(["rm", "-rf", *build.hidden])
                ran = run_bounded(box, build.run, suite.run_s, env=place.env)
        except Refused as error:
            return refused(tests, f"refused: {error}")
        except (SandboxError, ToolMissing) as error:
            return broken(tests, str(error) or type(error).__name__)
        except WorkspaceError as error:
            return refused(tests, f"cannot be graded: {error}")
        return judged(tests, keys, ran)


def judged(tests: Sequence[Test], keys: dict[str, str], ran: ExecResult) -> Grade:
    """What the keys in the output say."""
    printed = {each.decode() for each in KEY.findall(ran.stdout)}
    wrong = {int(n): text.decode(errors="replace") for n, text in _WRONG.findall(ran.stdout)}
    statuses, details = {}, {}
    for number, test in enumerate(tests):
        if keys[test.id] in printed:
            statuses[test.id] = "passed"
            continue
        missing = "timeout" if ran.timed_out else "error"
        statuses[test.id] = "failed" if number in wrong else missing
        details[test.id] = wrong.get(number) or _ended(ran)
    passed = sum(status == "passed" for status in statuses.values())
    cut = {name: " ".join(text.split())[:DETAIL] for name, text in details.items()}
    return Grade(passed == len(tests), passed / len(tests), statuses, cut)


def _ended(ran: ExecResult) -> str:
    if ran.timed_out:
        return f"ran out of time after {ran.wall_s:.1f} s, {ran.cpu_s:.1f} s of CPU"
    if ran.oom:
        return "ran out of memory"
    last = (ran.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
    return f"the test did not come to its end (exit {ran.exit_code}): {last}"


def _first_error(built: ExecResult) -> str:
    if built.timed_out:
        return f"no end after {built.wall_s:.0f} s"
    lines = [*built.stderr.decode(errors="replace").splitlines(), *built.stdout.decode(errors="replace").splitlines()]
    errors = [line for line in lines if "error" in line.lower()] or [
        line for line in lines if line.strip() and line[0] != "#"
    ]
    return errors[0] if errors else f"exit {built.exit_code}"
