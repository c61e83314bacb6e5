"""Runs of pytest that do not pay for its start: each is a fork of a process that has pytest loaded.

::

    with PytestRunner(workers=2) as runner:
        run = runner.run({"test_a.py": b"def test(): assert 1 + 1 == 3"})
        run.outcomes    # {"test_a.py::test": "failed"}
        run.exit_code   # 1, as `python -m pytest` says

Every run has a fresh workspace, process, network and mount namespaces of its own, in another sandbox than the one
that the solution came from (sandbox/runner.py). Results are those of ``python -m pytest`` on the same files,
tests/benchmarks/test_pytests.py compares them. Tests and what they test share a process, as always with pytest: code
that means to can make its own tests pass. To grade against that, keep the expected values out of the process
(:mod:`benchmarks.grading.examples`).
"""

from __future__ import annotations

import importlib.metadata as metadata
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.grading import pytest_driver, pytest_warm
from sandbox import ExecResult, JobResult, Limits, SandboxError, open_runner

#: As in ``python -m pytest -q -p no:cacheprovider``: no cache is left between runs, and the output is short.
ARGUMENTS = ("-q", "-p", "no:cacheprovider")
_WARM = inspect.getsource(pytest_warm) + f"\nmain({list(ARGUMENTS)!r})\n"
_PROGRAM = inspect.getsource(pytest_driver) + "\nmain(data, emit)\n"


@dataclass(frozen=True)
class PytestRun:
    """What one run gave.

    Attributes:
        exit_code: pytest's (0 all passed, 1 some failed, 2 interrupted or not collected, 5 none found), or how the
            process ended.
        outcomes: test or file -> passed, failed, error, skipped, xfailed or xpassed. An error is one outside the test
            itself: in a fixture, or in a file that cannot be collected.
        reasons: why, for those that did not pass.
        finished: pytest came to its end; if not, some tests may be missing.
        exec: output and times.
    """

    exit_code: int
    exec: ExecResult
    outcomes: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    finished: bool = False


class PytestRunner:
    """Thread-safe. Its arguments are those of :func:`sandbox.open_runner`.

    Args:
        packages: installed distributions that tests may import; pytest must be among them, plugins may be.

    Raises:
        SandboxUnavailable: no sandbox works here.
        ValueError: a package is not installed.
    """

    def __init__(
        self, *, workers: int = 1, limits: Limits | None = None, packages: Sequence[str] = ("pytest",)
    ) -> None:
        self._runner = open_runner(
            limits, workers, "namespaces", preload=preloaded(), warm=_WARM, packages=packages, network=True
        )

    def run(
        self, files: Mapping[str, bytes], arguments: Sequence[str] = ARGUMENTS, timeout: float | None = None
    ) -> PytestRun:
        """Run pytest on these files; they are the whole workspace.

        Raises:
            SandboxError: the machine failed; so says nothing about the files.
            WorkspaceError: the files do not fit into the budgets.
        """
        modules = sorted({path.split("/")[0].removesuffix(".py") for path in files if path.endswith(".py")})
        job = {"args": list(arguments), "modules": modules}
        return _read(self._runner.run(_PROGRAM, files=files, data=json.dumps(job).encode(), timeout=timeout))

    def close(self) -> None:
        """Wait for the runs of other threads, and free everything. May be called twice."""
        self._runner.close()

    def __enter__(self) -> PytestRunner:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def preloaded() -> tuple[str, ...]:
    """The modules that a run of pytest imports, but for what the tests import. Raises ValueError without pytest."""
    try:
        files = metadata.files("pytest") or ()
    except metadata.PackageNotFoundError:
        raise ValueError("pytest is not installed here: pip install pytest") from None
    names = [file.with_suffix("").as_posix().replace("/", ".") for file in files if file.suffix == ".py"]
    left_out = (
        "__init__",
        "__main__",
        "pytester_assertions",
    )  # rewritten at its import
    plugins = sorted(n for n in names if n.startswith("_pytest.") and not n.endswith(left_out))
    return ("pytest", *plugins, "json", "traceback", "unittest", "pdb", "getpass", "faulthandler", "readline")


def _read(result: JobResult) -> PytestRun:
    outcomes, reasons = dict[str, str](), dict[str, str]()
    started = finished = False
    code = result.exec.exit_code
    for message in result.messages:
        try:
            value = json.loads(message)
        except (ValueError, RecursionError):
            continue  # bytes of the tests, not of the driver
        match value:
            case ["start"]:
                started = True
            case ["end", int(number)]:
                finished, code = True, number
            case [str(test), str(phase), str(outcome), str(reason)]:
                if outcome == "failed" and phase != "call":
                    outcome = "error"
                outcomes[test] = "error" if outcomes.get(test) == "error" else outcome
                if outcome != "passed":
                    reasons[test] = reason
    if not started:
        stderr = result.exec.stderr.decode(errors="replace").strip().splitlines()
        raise SandboxError(f"pytest did not start (exit {result.exec.exit_code}) {stderr[-1:]}")
    return PytestRun(code, result.exec, outcomes, reasons, finished)
