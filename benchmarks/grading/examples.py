"""Tests as doctest blocks: run in the sandbox, judged outside it.

A test's body is doctest text; its examples are run in order in one namespace, with the workspace's modules freshly
imported for every test::

    with ExampleGrader(workers=2) as grader:
        test = Test("adds", ">>> from m import add\\n>>> add(2, 3)\\n5")
        grade = grader.grade((test,), {"m.py": b"def add(a, b): return a - b\\n"})
    grade.details  # {"adds": "add(2, 3) gave -1, want 5"}

The graded process is given the sources of the examples, never what they should print; it reports what each printed
or raised (:mod:`benchmarks.grading.driver`), and the comparison happens here. Its exit code and its standard output
say nothing. A test passes if there is exactly one record of each of its examples and all of them are as wanted.
"""

from __future__ import annotations

import doctest
import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchmarks.base import Grade, Test, Workspace
from benchmarks.grading import driver
from benchmarks.grading.caching import CachingGrader, LazyRunner, broken, refused
from benchmarks.grading.verdicts import digest
from sandbox import JobResult, Limits, Runner, SandboxError, WorkspaceError, open_runner

CPU_S = 0.25  # of one test; our slowest takes 4 ms. CPU time, because a busy machine must not change a verdict
MAX_TIMEOUTS = 2  # tests that run out of time before the rest is not tried: bounds the cost of an endless loop
WALL_S = 20.0  # of one grade: MAX_TIMEOUTS * CPU_S on a machine ten times too busy; catches sleep and swallowed alarms
KEEP = 4096  # characters of an example's output; a test may not want more

_PROGRAM = inspect.getsource(driver) + "\nmain(data, emit)\n"
# Without this flag doctest takes True for 1 and False for 0.
_CHECKER, _STRICT = doctest.OutputChecker(), doctest.DONT_ACCEPT_TRUE_FOR_1


@lru_cache(maxsize=65_536)
def parse(test: Test) -> tuple[doctest.Example, ...]:
    """The examples of a test. Raises ValueError if it could be passed without a right answer, or wants too much."""
    examples = tuple(doctest.DocTestParser().get_examples(test.body, test.id))
    if not any(example.want for example in examples):
        raise ValueError(f"test {test.id!r} has no example with an expected value")
    if any(len(example.want) > KEEP for example in examples):
        raise ValueError(f"test {test.id!r} wants more than {KEEP} characters of one example")
    return examples


class ExampleGrader(CachingGrader):
    """Grades workspaces by doctest tests. Thread-safe; the runner is opened at the first grade.

    Args:
        workers: jobs at once.
        limits: of one job.
        open_runner: opens the runner.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        limits: Limits | None = None,
        open_runner: Callable[..., Runner] = open_runner,
    ) -> None:
        super().__init__(workers=workers, limits=limits)
        self._runner = LazyRunner(self, open_runner)

    def grade(self, tests: Sequence[Test], files: Workspace) -> Grade:
        """The verdict of the tests on these files. Only ``*.py`` files take part; the rest cannot change it.

        Raises ValueError if there are no tests: nothing would be judged; SandboxUnavailable if this machine has no
        sandbox. After :meth:`close` every grade is an infra error.
        """
        if not tests:
            raise ValueError("no tests to grade by")
        modules = {path: content for path, content in sorted(files.items()) if path.endswith(".py")}
        return self.known_or(digest(_parts(tests, modules)), lambda: self._run(tests, modules))

    def close(self) -> None:
        """End the runner, for good. May be called twice."""
        self._runner.close()

    def _run(self, tests: Sequence[Test], modules: Workspace) -> Grade:
        job = {
            "tests": [[example.source for example in parse(test)] for test in tests],
            "modules": sorted({path.split("/")[0].removesuffix(".py") for path in modules}),
            "cpu_s": CPU_S,
            "timeouts": MAX_TIMEOUTS,
            "keep": KEEP,
        }
        try:
            result = self._runner.get().run(_PROGRAM, files=modules, data=json.dumps(job).encode(), timeout=WALL_S)
        except SandboxError as error:
            return broken(tests, str(error) or type(error).__name__)
        except WorkspaceError as error:  # the agent's doing: files that fit into no workspace
            return refused(tests, f"cannot be graded: {error}")
        started, records = _read(result)
        if not started:
            stderr = result.exec.stderr.decode(errors="replace").strip().splitlines()
            return broken(tests, f"the grading job did not start (exit {result.exec.exit_code}) {stderr[-1:]}")
        return judge(tests, records, out_of_time=result.exec.timed_out)


@dataclass(frozen=True)
class Record:
    """What one example gave: kind ``gave`` (its output), ``raised`` (the exception's line), ``timeout``."""

    kind: str
    text: str


Records = Mapping[tuple[int, int], Sequence[Record]]


def judge(tests: Sequence[Test], records: Records, *, out_of_time: bool) -> Grade:
    """Compare the records, by (test, example), with what the tests want.

    ``out_of_time``: the whole job was ended by its time limit; then what has no record is a time-out too.
    """
    out_of_time |= sum(rows[0].kind == "timeout" for rows in records.values()) >= MAX_TIMEOUTS
    verdicts, details = {}, {}
    for number, test in enumerate(tests):
        verdicts[test.id] = "passed"
        for position, example in enumerate(parse(test)):
            rows = records.get((number, position), ())
            # Two records of one example: the graded code wrote one of them.
            row = rows[0] if len(rows) == 1 else Record("timeout" if not rows and out_of_time else "error", "")
            if not _as_wanted(example, row):
                verdicts[test.id] = row.kind if row.kind in ("timeout", "error") else "failed"
                details[test.id] = _detail(example, row)
                break
    passed = sum(verdict == "passed" for verdict in verdicts.values())
    return Grade(passed == len(tests), passed / len(tests), verdicts, details)


def _as_wanted(example: doctest.Example, row: Record) -> bool:
    flags = _STRICT
    for flag, on in example.options.items():
        flags = flags | flag if on else flags & ~flag
    if row.kind == "gave":
        got = row.text if row.text.endswith("\n") or not row.text else row.text + "\n"  # a want ends with its line
        return example.exc_msg is None and _CHECKER.check_output(example.want, got, flags)
    if row.kind != "raised" or example.exc_msg is None:
        return False
    want, got = example.exc_msg, row.text + "\n"
    if flags & doctest.IGNORE_EXCEPTION_DETAIL:
        want, got = (text.partition(":")[0].strip().rpartition(".")[2] + "\n" for text in (want, got))
    return _CHECKER.check_output(want, got, flags)


def _detail(example: doctest.Example, row: Record) -> str:
    call = _short(example.source, 70)
    want = _short(example.want if example.exc_msg is None else example.exc_msg, 36)
    got = {
        "gave": f"gave {_short(row.text, 36) or 'nothing'}",
        "raised": f"raised {_short(row.text, 36)}",
        "timeout": "ran out of time",
        "error": "ended the process",
    }[row.kind]
    return f"{call} {got}, want {want}" if want else f"{call} {got}"


def _short(text: str, room: int) -> str:
    line = "\\n".join(text.strip().split("\n"))
    line = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in line)
    return line if len(line) <= room else f"{line[: room - 13]}...{line[-10:]}"


def _read(result: JobResult) -> tuple[bool, dict[tuple[int, int], list[Record]]]:
    """The records of a job; what is not one (bytes of the graded code) is left out."""
    started, records = False, dict[tuple[int, int], list[Record]]()
    for message in result.messages:
        try:
            value = json.loads(message)
        except (ValueError, RecursionError):
            continue
        match value:
            case ["start"]:
                started = True
            case [int(test), int(example), ("gave" | "raised" | "timeout") as kind, str(text)]:
                records.setdefault((test, example), []).append(Record(kind, text))
    return started, records


def _parts(tests: Sequence[Test], modules: Workspace) -> Iterator[str | bytes]:
    yield str(len(tests))
    for test in tests:
        yield from (test.id, test.body)
    for path, content in modules.items():
        yield from (path, content)
