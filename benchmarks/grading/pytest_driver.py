"""The half of a pytest run that happens inside the sandbox, in a process where pytest is loaded already.

Its source is the program of a job: :mod:`benchmarks.grading.pytests` appends ``main(data, emit)``. ``data`` is JSON
``{"args": [...], "modules": [top-level names of the workspace]}``; the messages are JSON arrays: ``["start"]``, then
``[node id, phase, outcome, the last line of what went wrong]`` as they happen (phase ``collect`` for a file that cannot
be collected), then ``["end", exit code]``.
"""

from __future__ import annotations

from collections.abc import Callable


def main(data: bytes, emit: Callable[[bytes], object]) -> None:
    """Run pytest as ``python -m pytest ARGS`` would, and end the process as it would."""
    import atexit
    import json
    import os
    import sys
    import threading

    import pytest

    job = json.loads(data)

    def record(*fields: object) -> None:
        emit(json.dumps(fields).encode())

    def reason(report: pytest.TestReport | pytest.CollectReport) -> str:
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            return str(crash.message)[:500]
        if isinstance(report.longrepr, tuple):  # skipped: path, line, text
            return str(report.longrepr[2])[:500]
        return str(report.longrepr or "")[-500:]

    class Reporter:
        def pytest_collection(self) -> None:
            for name, module in sys.modules.items():
                if name.startswith("_pytest."):
                    vars(module).pop("__dir__", None)  # see pytest_warm

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            outcome: str = report.outcome
            if hasattr(report, "wasxfail"):
                outcome = "xfailed" if outcome == "skipped" else "xpassed"
            if report.when == "call" or outcome != "passed":
                record(report.nodeid, report.when, outcome, reason(report))

        def pytest_collectreport(self, report: pytest.CollectReport) -> None:
            if report.outcome != "passed":
                record(report.nodeid, "collect", report.outcome, reason(report))

    for name in job["modules"]:  # a workspace's own queue.py comes before the standard library's
        sys.modules.pop(name, None)
    sys.argv = ["pytest", *job["args"]]
    record("start")
    code = int(pytest.main(job["args"], plugins=[Reporter()]))
    record("end", code)
    # What the interpreter does at its end.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)
