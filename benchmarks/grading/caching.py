"""What graders share: places for so many grades at once, verdicts kept in memory, and grades that are no verdict."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from benchmarks.base import Grade, Test
from benchmarks.grading.verdicts import Verdicts
from sandbox import Limits, Runner, SandboxError

DETAIL = 160  # characters of a detail line


class CachingGrader:
    """The base of graders. Thread-safe.

    Args:
        workers: grades at once.
        limits: of the sandbox of a grade.
    """

    def __init__(self, *, workers: int, limits: Limits | None) -> None:
        if workers < 1:
            raise ValueError(f"workers={workers}: needs at least 1")
        self.jobs = 0  # grades that were run; the others were known
        self.workers, self.limits = workers, limits or Limits()
        self._free = threading.BoundedSemaphore(workers)
        self._verdicts = Verdicts()
        self._lock = threading.Lock()

    def known_or(self, key: bytes, run: Callable[[], Grade]) -> Grade:
        """The verdict that is known by this digest, else what ``run`` gives, kept."""
        if known := self._verdicts.get(key):
            return known
        with self._free:
            with self._lock:
                self.jobs += 1
            grade = run()
        self._verdicts.put(key, grade)
        return grade

    def forget(self) -> None:
        """Drop the verdicts that are kept."""
        self._verdicts = Verdicts()

    def close(self) -> None:
        """Free what is held. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class LazyRunner:
    """A runner that is opened when it is first needed, and not again once it was closed.

    Raises SandboxUnavailable, and SandboxError when it is closed.
    """

    def __init__(self, owner: CachingGrader, opens: Callable[..., Runner], **options: Any) -> None:
        self._opens = functools.partial(opens, limits=owner.limits, workers=owner.workers, **options)
        self._runner: Runner | None = None
        self._closed = False
        self._lock = threading.Lock()

    def get(self) -> Runner:
        """The runner."""
        with self._lock:
            if self._closed:
                raise SandboxError("this grader is closed: make another")
            if self._runner is None:
                self._runner = self._opens()
            return self._runner

    def close(self) -> None:
        """End it. May be called twice."""
        with self._lock:
            runner, self._runner, self._closed = self._runner, None, True
        if runner is not None:
            runner.close()


def broken(tests: Sequence[Test], cause: str) -> Grade:
    """The machine failed: no verdict."""
    return Grade(False, 0.0, {test.id: "error" for test in tests}, infra_error=" ".join(cause.split()))


def refused(tests: Sequence[Test], line: str) -> Grade:
    """The workspace cannot be graded, and that is its own fault."""
    line = " ".join(line.split())[:DETAIL]
    return Grade(False, 0.0, {test.id: "error" for test in tests}, {test.id: line for test in tests})
