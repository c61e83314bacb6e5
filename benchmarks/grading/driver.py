"""The half of doctest grading that runs inside the sandbox: run the examples, report what each one gave.

Its source is the program of a job: :mod:`benchmarks.grading.examples` appends ``main(data, emit)``. It never holds
an expected value, so code that reads or takes over this process can only report what it computed. ``data`` is
JSON ``{"tests": [[source, ...], ...], "modules": [top-level names], "cpu_s": s, "timeouts": n, "keep": characters}``;
the messages are JSON arrays: ``["start"]``, then ``[test, example, "gave" | "raised" | "timeout", text]``
as they happen.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType


def main(data: bytes, emit: Callable[[bytes], object]) -> None:
    """Run all tests in order. Stops early after ``timeouts`` tests that ran out of CPU time."""
    import posix
    import sys

    # Our imports must not be the workspace's modules; posix and sys are built in.
    here = posix.getcwd()
    path = [entry for entry in sys.path if entry not in ("", ".", here)]
    sys.path[:] = path
    import io
    import json
    import os
    import signal
    import traceback
    from _frozen_importlib_external import SourceFileLoader  # importlib.machinery takes a millisecond to load

    sys.dont_write_bytecode = True
    job = json.loads(data)
    keep: int = job["keep"]
    cpu_s: float = job["cpu_s"]
    for name in job["modules"]:  # a workspace's own queue.py comes before the standard library's
        sys.modules.pop(name, None)
    known = set(sys.modules)
    timeouts = 0

    class OutOfTime(BaseException):
        """The test used its CPU time."""

    class Output(io.StringIO):
        """Keeps ``keep`` characters and one more, which makes a longer output differ from every expected one."""

        def write(self, text: str, /) -> int:
            super().write(text[: max(0, keep + 1 - self.tell())])
            return len(text)

        def close(self) -> None:
            """Code that closes its standard output has still printed what it printed."""

    def out_of_time(*_: object) -> None:
        raise OutOfTime

    def show(value: object) -> None:
        if value is not None:
            print(repr(value))

    def record(*fields: object) -> None:
        emit(json.dumps(fields).encode())

    def described(error: BaseException) -> str:
        lines = traceback.format_exception_only(type(error), error)
        if isinstance(error, SyntaxError):  # file, line and caret come first
            lines = lines[-1:]
        return "".join(lines).rstrip("\n")[: keep + 1]

    # Every test imports the modules anew; to compile them every time would take longer than the tests themselves.
    compiled: dict[str, tuple[object, CodeType]] = {}
    compile_source = SourceFileLoader.source_to_code

    def once(loader: SourceFileLoader, source: bytes, path: str, **options: int) -> CodeType:
        if path not in compiled or compiled[path][0] != (source, options):
            compiled[path] = (source, options), compile_source(loader, source, path, **options)
        return compiled[path][1]

    # A method is replaced, which mypy is right to question: this process exists for one job.
    SourceFileLoader.source_to_code = once  # type: ignore[method-assign, assignment]

    def fresh() -> None:
        for name in [name for name in sys.modules if name not in known and name.partition(".")[0] in job["modules"]]:
            del sys.modules[name]
        os.chdir(here)
        sys.path[:] = [here, *path]

    def run(source: str, names: dict[str, object]) -> tuple[str, str]:
        output = Output()
        sys.stdout, sys.displayhook = output, show
        try:
            exec(compile(source, "<test>", "single", 0, True), names)
        except OutOfTime:
            raise
        except BaseException as error:
            return "raised", described(error)
        return "gave", output.getvalue()

    record("start")
    signal.signal(signal.SIGPROF, out_of_time)
    for number, sources in enumerate(job["tests"]):
        fresh()
        names: dict[str, object] = {"__name__": "__main__"}
        example = 0
        try:
            # The interval repeats: code that swallows the first exception meets the next.
            signal.setitimer(signal.ITIMER_PROF, cpu_s, 0.1)
            for example, source in enumerate(sources):
                kind, text = run(source, names)
                record(number, example, kind, text)
            signal.setitimer(signal.ITIMER_PROF, 0)
        except OutOfTime:
            signal.setitimer(signal.ITIMER_PROF, 0)
            record(number, example, "timeout", "")
            timeouts += 1
            if timeouts == job["timeouts"]:
                break
    os._exit(0)  # threads and exit handlers of the graded code have no say any more
