"""Runs the tests of a repository and records each by itself. Source text, put after ``guard.py`` and ``unittests.py``.

A record says how one phase of one test ended, seen by the test runner's own hooks, and is written at once to a pipe
that only the supervisor reads. What is printed, and how the process exits, says nothing. The key that makes a record
valid lives in the locals of a generator, where nobody reads it unnoticed (Python >= 3.8).
"""

import binascii
import importlib
import json
import os
import sys

UNITTEST_MODULES = ("unittest.case", "unittest.result", "unittest.runner", "unittest.suite", "unittest.loader")
PYTEST_MODULES = tuple(
    "_pytest." + name
    for name in (
        *(
            "runner",
            "python",
            "reports",
            "nodes",
            "outcomes",
            "unittest",
            "skipping",
            "fixtures",
            "python_api",
            "raises",
        ),
        *("assertion", "assertion.rewrite", "assertion.util", "_code.code", "recwarn"),
    )
) + (
    "pluggy",
    "pluggy._callers",
    "pluggy.callers",
    "pluggy._hooks",
    "pluggy.hooks",
    "pluggy._manager",
    "pluggy.manager",
)


def recorder(pipe, token):
    """A generator: what is sent to it, a tuple of texts, becomes one record (token, running number, hexadecimal texts).

    Its locals hold the key. Unlike a closure's cells they cannot be read without an audit event. The first thing sent
    are the code objects that may send; from any other it is a report of tampering.
    """
    write, encode, getpid, pid, getframe = os.write, binascii.hexlify, os.getpid, os.getpid(), sys._getframe
    os.set_inheritable(pipe, False)
    allowed, count = (yield), 0
    while True:
        texts = yield
        if getpid() != pid:
            continue  # a fork made by a test carries our hooks, not our duty
        caller = getframe(1).f_code
        if not any(each is caller for each in allowed):
            texts = ("tampered", "the recorder was called by other code")
        # by C functions only: a patched json would be handed the token
        fields = [token, "%d" % count] + [encode(each.encode("utf-8", "surrogatepass")).decode() for each in texts]
        count += 1
        rest = (" ".join(fields) + "\n").encode()
        while rest:
            rest = rest[write(pipe, rest) :]


def functions():
    """Every function of this driver."""
    return [each for each in globals().values() if isinstance(each, type(functions))]


def private(emit):
    """What no code but the driver's has to look into: its functions, and the recorder."""
    return [*functions(), emit.__self__]


def inner_codes(code):
    """A code object and those of the functions in it."""
    found = [code]
    for each in code.co_consts:
        if isinstance(each, type(code)):
            found += inner_codes(each)
    return found


def loaded(names):
    found = []
    for name in names:
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            pass  # another version of pytest has it elsewhere
    return found


def pytest_plugin(emit, guard, files, graded, armed):
    """A plugin that records each phase: what its exception was, checked against what the report says."""
    import pytest

    root, getframe, no_marker = os.getcwd() + os.sep, sys._getframe, pytest.Item.get_closest_marker
    changed, known, codes, tests_changed = guard.changed, set(), {}, files.changed
    xfailed = pytest.xfail.Exception

    def own_file(name):
        """Whether a file is code of the repository that is not a test's."""
        base = os.path.basename(name)
        return name.startswith(root) and not (base == "conftest.py" or base.startswith("test") or "_test." in base)

    def caller():
        """Graded code below this hook on the stack: then nobody but it has called the hook."""
        frame = getframe(2)
        while frame is not None:
            if own_file(frame.f_code.co_filename):
                return frame.f_code.co_filename
            frame = frame.f_back
        return ""

    def code_of(item):
        function = getattr(item, "obj", None)
        return getattr(getattr(function, "__func__", function), "__code__", None)

    def status(item, call, report):
        if report.passed:
            if call.excinfo is not None:
                return "TAMPERED"
            return "XPASS" if hasattr(report, "wasxfail") else "PASSED"
        if report.skipped:
            if not hasattr(report, "wasxfail"):
                return "SKIPPED"
            if call.excinfo is not None and call.excinfo.errisinstance(xfailed) and no_marker(item, "xfail") is None:
                raisers = [str(each.path) for each in call.excinfo.traceback]
                if any(own_file(name) for name in raisers):
                    return "FAILED"  # the code under test called its own test an expected failure
            return "XFAIL"
        return "FAILED" if call.when == "call" else "ERROR"

    class Plugin:
        @pytest.hookimpl(trylast=True)
        def pytest_sessionstart(self, session):
            known.update(id(each) for each in session.config.pluginmanager.get_plugins())
            armed.append(True)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_make_collect_report(self, collector):
            reason = tests_changed()  # before a test file is read, and after
            yield
            reason = reason or tests_changed()
            if reason:
                emit(("tampered", reason))

        @pytest.hookimpl(trylast=True)
        def pytest_collection_finish(self, session):
            codes.update((id(item), code_of(item)) for item in session.items)

        @pytest.hookimpl(trylast=True)
        def pytest_sessionfinish(self, session):
            armed.clear()

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item, call):
            outcome = yield
            report = outcome.get_result()
            if not graded:
                for each in item.config.pluginmanager.get_plugins():
                    name = os.path.basename(getattr(each, "__file__", None) or "")
                    if id(each) not in known and name != "conftest.py":
                        emit(("tampered", "a plugin was registered: %r" % type(each).__name__))
                reason = changed() or caller()
                if not reason and codes.get(id(item)) is not code_of(item):
                    reason = "the code of a test was replaced"
                if reason:
                    emit(("tampered", reason))
            emit(("test", item.nodeid, call.when, status(item, call, report), ""))

    return Plugin()


def reporter(emit, armed):
    """Reports tampering once tests are about to be collected; before that the runner looks at its plugins itself."""
    return lambda what: emit(("tampered", what)) if armed else None


def run_pytest(box, config):
    emit = box.pop()  # the caller keeps none
    paths = [os.path.abspath(each) for each in config["path"]]
    if config["graded_runner"]:
        sys.path[:0] = paths
    import pytest

    armed = []
    guard = Guard(loaded(UNITTEST_MODULES + PYTEST_MODULES))  # noqa: F821 - guard.py stands above
    plugin = pytest_plugin(emit, guard, Files(config["watched"]), config["graded_runner"], armed)  # noqa: F821
    hooks = [each for each in vars(type(plugin)).values() if callable(each)]
    watch({id(each) for each in (*hooks, *private(emit))}, reporter(emit, armed))  # noqa: F821
    emit(("ready",))
    if not config["graded_runner"]:
        sys.path += paths  # behind the standard library and the environment
    del emit, guard, armed  # no frame below the tests holds them
    pytest.main(
        config["arguments"]
        + ["--rootdir", os.getcwd(), "-rA", "--tb=short", "-p", "no:cacheprovider"]
        + config["tests"],
        plugins=[plugin],
    )


def main(pipe):
    """Run what the configuration on ``pipe`` says."""
    with os.fdopen(pipe, "rb") as file:
        config = json.loads(file.read().decode())
    os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(each) for each in config["path"])  # of their children
    os.environ.pop("PYTEST_ADDOPTS", None)
    if config["without"]:  # installed from there, graded here
        sys.path[:] = [each for each in sys.path if not each.startswith(config["without"])]
    runners = {"pytest": run_pytest, "unittest": run_unittest, "django": run_django}  # noqa: F821 - unittests.py
    run = runners[config["runner"]]
    records = recorder(config.pop("records"), config.pop("token"))
    next(records)
    records.send([code for each in functions() for code in inner_codes(each.__code__)])
    box = [records.send]
    del records
    end = ender(box[0])
    try:
        run(box, config)
    except SystemExit:
        pass
    end()


def ender(emit):
    return lambda: emit(("end",))
