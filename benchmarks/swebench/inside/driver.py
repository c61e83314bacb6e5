"""Runs the tests of a repository and records each by itself. Source text, put after ``guard.py``, ``witness.py`` and
``unittests.py``.

A record says how one phase of one test ended, seen by the test runner's own hooks, and is written at once to a pipe
that only the supervisor reads. What is printed, and how the process exits, says nothing. The key that makes a record
valid lives in the locals of a generator, where nobody reads it unnoticed (Python >= 3.8).
"""

import binascii
import importlib
import inspect
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
    "pluggy._result",
    "pluggy._tracing",
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


def driver_codes():
    return [code for each in functions() for code in inner_codes(each.__code__)]


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


def pytest_plugin(emit, guard, files, graded, armed, cases):
    """A plugin that records each phase: what its exception was, checked against what the report says."""
    import _pytest.unittest
    import pytest

    no_marker, getframe, own_file = pytest.Item.get_closest_marker, sys._getframe, graded_file(os.getcwd() + os.sep)  # noqa: F821
    root, wrapped, nested, function_code = os.getcwd() + os.sep, witness, nesting(), code_of  # noqa: F821
    coroutines = inspect.isasyncgenfunction
    changed, known, codes, tests_changed = guard.changed, set(), {}, files.changed
    xfailed, marked, others = pytest.xfail.Exception, set(), set()

    def caller():
        """Graded code below this hook on the stack: then nobody but it has called the hook."""
        frame = getframe(2)
        while frame is not None:
            if own_file(frame.f_code.co_filename):
                return frame.f_code.co_filename
            frame = frame.f_back
        return ""

    def expected(item, call):
        """Whether an expected failure is one by the task's own tests."""
        if id(item) in marked:
            return True
        if call.excinfo is None:
            return False
        raisers = [str(each.path) for each in call.excinfo.traceback]
        tests = any(name.startswith(root) and not own_file(name) for name in raisers)
        return call.excinfo.errisinstance(xfailed) and tests and not any(map(own_file, raisers))

    def status(item, call, report):
        if report.passed:
            if call.excinfo is not None:
                return "TAMPERED"
            return "XPASS" if hasattr(report, "wasxfail") else "PASSED"
        if report.skipped:
            if not hasattr(report, "wasxfail"):
                return "SKIPPED"
            return "XFAIL" if graded or expected(item, call) else "FAILED"
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
            for item in session.items:
                codes[id(item)] = function_code(getattr(item, "obj", None))
                if isinstance(item, _pytest.unittest.TestCaseFunction):
                    cases.add(item, item.cls, item.name)
                elif not isinstance(item, pytest.Function):
                    others.add(id(item))
                if item.get_closest_marker("xfail") or (item in cases and cases.declared(item)):
                    marked.add(id(item))

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_call(self, item):
            if id(item) in others:  # no function of Python, such as a doctest
                emit(("entered", item.nodeid))
            outcome = yield
            if id(item) in others and outcome.excinfo is None:
                emit(("returned", item.nodeid))

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_pyfunc_call(self, pyfuncitem):
            raw = pyfuncitem.obj
            if not graded:
                reason = nested()
                if codes.get(id(pyfuncitem), emit) is not function_code(raw):
                    reason = "the code of a test was replaced"
                if reason:
                    emit(("tampered", reason))
            if not coroutines(raw):  # which pytest refuses to call
                pyfuncitem.obj = wrapped(emit, pyfuncitem.nodeid, raw)
            yield
            pyfuncitem.obj = raw

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
                if not reason and codes.get(id(item)) is not function_code(getattr(item, "obj", None)):
                    reason = "the code of a test was replaced"
                if reason:
                    emit(("tampered", reason))
            emit(("test", item.nodeid, call.when, status(item, call, report), ""))

    plain = pytest.Item.add_marker

    def add_marker(self, marker, *rest, **named):
        before = no_marker(self, "xfail")
        made = plain(self, marker, *rest, **named)
        if no_marker(self, "xfail") is not before and not caller():
            marked.add(id(self))
        return made

    _pytest.nodes.Node.add_marker = add_marker
    return Plugin(), [caller, expected, status, add_marker]


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
    own_file = graded_file(os.getcwd() + os.sep)  # noqa: F821 - witness.py stands above, as guard.py does
    cases = Cases(Written(each for each in config["watched"] if each.endswith(".py")), own_file)  # noqa: F821
    guard, graded = Guard([]), config["graded_runner"]  # noqa: F821 - filled below
    plugin, hooks = pytest_plugin(emit, guard, Files(config["watched"]), graded, armed, cases)  # noqa: F821
    hooks += watch_cases(emit, cases, lambda key, test: key.nodeid)  # noqa: F821
    guard.__init__(loaded(UNITTEST_MODULES + PYTEST_MODULES), hooks)
    hooks += [each for each in vars(type(plugin)).values() if callable(each)]
    watch({id(each) for each in (*hooks, *private(emit))}, driver_codes(), reporter(emit, armed))  # noqa: F821
    emit(("ready",))
    if not config["graded_runner"]:
        sys.path += paths  # behind the standard library and the environment
    del emit, guard, armed, cases, hooks  # no frame below the tests holds them
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
        own = sys.prefix  # an environment may be in there
        sys.path[:] = [each for each in sys.path if each.startswith(own) or not each.startswith(config["without"])]
    runners = {"pytest": run_pytest, "unittest": run_unittest, "django": run_django}  # noqa: F821 - unittests.py
    run = runners[config["runner"]]
    records = recorder(config.pop("records"), config.pop("token"))
    next(records)
    records.send(driver_codes())
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
