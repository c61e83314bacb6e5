"""unittest's and Django's runners, each test recorded alone. Source text, between ``guard.py`` and ``driver.py``."""

import os
import runpy
import sys
import unittest


def record_unittest(emit, guard, files, cases):
    """Make every unittest result record what it is told, one record per test when it stops."""
    result, worst, changed = unittest.TestResult, {}, guard.changed
    order = ("PASSED", "XFAIL", "SKIPPED", "XPASS", "FAILED", "ERROR")

    def note(test, status):
        before = worst.get(id(test), "PASSED")
        worst[id(test)] = max(before, status, key=order.index)

    def tell(test, status):
        emit(("test", str(test), "all", status, (getattr(test, "shortDescription", lambda: None)() or "").strip()))

    def wrap(name, status):
        plain = getattr(result, name)

        def told(self, test, *rest):
            if id(test) in worst:
                surprise = status == "XFAIL" and test in cases and not cases.declared(test)
                note(test, "FAILED" if surprise else status)
            else:
                tell(test, status)  # a class or module that could not be set up
            return plain(self, test, *rest)

        setattr(result, name, told)
        return told

    plain_start, plain_stop, plain_success = result.startTest, result.stopTest, result.addSuccess
    plain_sub = result.addSubTest
    succeeded = set()

    def start(self, test):
        reason = files.changed()
        if reason:
            emit(("tampered", reason))
        worst[id(test)] = "PASSED"
        return plain_start(self, test)

    def success(self, test):
        succeeded.add(id(test))
        return plain_success(self, test)

    def sub(self, test, subtest, error):
        if error is not None:
            note(test, "FAILED" if issubclass(error[0], test.failureException) else "ERROR")
        return plain_sub(self, test, subtest, error)

    def stop(self, test):
        status = worst.pop(id(test), "ERROR")
        if status == "PASSED" and id(test) not in succeeded:
            status = "ERROR"  # it ended without a word
        succeeded.discard(id(test))
        reason = changed()
        if reason:
            emit(("tampered", reason))
        tell(test, status)
        return plain_stop(self, test)

    result.startTest, result.stopTest, result.addSuccess, result.addSubTest = start, stop, success, sub
    statuses = {"addError": "ERROR", "addFailure": "FAILED", "addSkip": "SKIPPED"}
    statuses.update(addExpectedFailure="XFAIL", addUnexpectedSuccess="XPASS")
    return [start, stop, success, sub] + [wrap(name, status) for name, status in statuses.items()]


def prepare_unittest(emit, config):
    modules = loaded(UNITTEST_MODULES)  # noqa: F821 - driver.py
    guard = Guard([])  # noqa: F821 - filled below: the recorder is part of what must stay
    own_file = graded_file(os.getcwd() + os.sep)  # noqa: F821 - witness.py
    cases = Cases(Written(each for each in config["watched"] if each.endswith(".py")), own_file)  # noqa: F821
    hooks = record_unittest(emit, guard, Files(config["watched"]), cases)  # noqa: F821
    hooks += watch_cases(emit, cases, lambda key, test: str(test))  # noqa: F821
    hooks.append(note_cases(cases))
    guard.__init__(modules, hooks)
    watch({id(each) for each in (*hooks, *private(emit))}, driver_codes(), reporter(emit, [True]))  # noqa: F821
    emit(("ready",))


def note_cases(cases):
    """Make the text runner note its cases, all loaded by then and none run. Runs inside of tests are not looked at."""
    runner, ran = unittest.TextTestRunner, []
    plain = runner.run

    def each_case(suite):
        for test in suite:
            if isinstance(test, unittest.TestCase):
                yield test
            else:
                yield from each_case(test)

    def run(self, test):
        if not ran:
            ran.append(True)
            for case in each_case([test]):
                cases.add(case, type(case), case._testMethodName)
        return plain(self, test)

    runner.run = run
    return run


def run_unittest(box, config):
    prepare_unittest(box.pop(), config)
    sys.path += [os.path.abspath(each) for each in config["path"]]
    names = [each[:-3].replace("/", ".") if each.endswith(".py") else each for each in config["tests"]]
    unittest.main(module=None, argv=["unittest", *config["arguments"], *names], exit=False)


def run_django(box, config):
    prepare_unittest(box.pop(), config)
    tests = os.path.abspath("tests")
    sys.path += [os.path.abspath(each) for each in config["path"]]
    sys.path.insert(0, tests)  # as for any script; only the task writes there
    sys.argv = ["runtests.py", *config["arguments"], *config["tests"]]
    runpy.run_path(os.path.join(tests, "runtests.py"), run_name="__main__")
