"""Evidence, apart from the test runner's word, that a test's own code ran to its end. Source text, after ``guard.py``.

Around the function of each test stands one of ours, which records that it was entered and that it returned. A test that
the runner calls passed counts only with both, once each (``running.py``): nothing is won by changing what the runner
does with an exception, or by keeping it from the test. ``Cases`` and ``Written`` say whether the function and what it
asserts with are the tests' own. While a test runs, no frame below it holds what they compare.
"""

import _thread
import ast
import contextlib
import functools
import inspect
import os
import sys
import unittest
import unittest.case

__unittest = True  # unittest leaves frames of such modules out of tracebacks


def witness(emit, name, raw):
    """``raw``, recorded."""
    if inspect.iscoroutinefunction(raw):

        async def ran(*args, **named):
            emit(("entered", name))
            value = await raw(*args, **named)
            emit(("returned", name))
            return value

    else:

        def ran(*args, **named):
            __tracebackhide__ = True
            emit(("entered", name))
            value = raw(*args, **named)
            emit(("returned", name))
            return value

    return functools.update_wrapper(ran, raw)


def code_of(function):
    return getattr(getattr(function, "__func__", function), "__code__", None)


def graded_file(root):
    """A function: whether a file is code of the repository that is not a test's."""
    basename = os.path.basename

    def own(name):
        base = basename(name)
        return name.startswith(root) and not (base == "conftest.py" or base.startswith("test") or "_test." in base)

    return own


def nesting():
    """A function: why a test that starts now is not the runner's doing; "" when it is."""
    inside = [each for each in inner_codes(witness.__code__) if each.co_name == "ran"]  # noqa: F821 - driver.py
    getframe, get_ident, main = sys._getframe, _thread.get_ident, _thread.get_ident()

    def nested():
        if get_ident() != main:
            return "a test was run by another thread"
        frame = getframe(1)
        while frame is not None:
            if any(frame.f_code is each for each in inside):
                return "a test was run by another"
            frame = frame.f_back
        return ""

    return nested


class Written:
    """What test files say of classes and methods without decorators, read before any graded code runs."""

    def __init__(self, paths):
        self._classes, self._methods = set(), {}  # (file, class); (file, class, name) -> the code of every such method
        for path in map(os.path.abspath, paths):
            try:
                with open(path, "rb") as file:
                    data = file.read()
                tree, code = ast.parse(data), compile(data, path, "exec", dont_inherit=True)
            except (OSError, SyntaxError, ValueError):
                continue  # the runner will say so
            plain = {
                (path, kind.name): {
                    each.name for each in kind.body if isinstance(each, ast.FunctionDef) and not each.decorator_list
                }
                for kind in tree.body
                if isinstance(kind, ast.ClassDef) and not kind.decorator_list
            }
            self._classes.update(plain)
            for kind in code.co_consts:
                key = (path, getattr(kind, "co_name", ""))
                for each in getattr(kind, "co_consts", ()):
                    if getattr(each, "co_name", "") in plain.get(key, ()):
                        self._methods.setdefault(key + (each.co_name,), []).append(each)

    def _key(self, kind):
        path = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
        return (os.path.abspath(path), kind.__qualname__)

    def differs(self, kind, name, code):
        """Whether a class has another method of this name than its file says."""
        found = self._methods.get(self._key(kind) + (name,), ())
        return bool(found) and name in vars(kind) and not any(code == each for each in found)

    def declared(self, kind, name):
        """Whether a test is an expected failure, by a decorator that its file may hold."""
        word = "__unittest_expecting_failure__"
        own = self._key(kind) + (name,) not in self._methods and hasattr(getattr(kind, name, None), word)
        return own or any(word in vars(each) and self._key(each) not in self._classes for each in kind.__mro__)


class Cases:
    """unittest's test cases as they were before the first of them ran. A case is known by a key: itself, or an item."""

    def __init__(self, written, own_file):
        self._written, self._own_file, self._kinds, self._known = written, own_file, {}, {}

    def add(self, key, kind, name):
        function = getattr(kind, name, None)
        known = (key, kind, name, function, code_of(function), self._written.declared(kind, name))
        self._known[id(key)] = known
        for each in kind.__mro__:  # but for what ``Guard`` looks after
            if each not in self._kinds and each is not object and each.__module__ != "unittest.case":
                self._kinds[each] = (list(parts(each)), frozenset(vars(each)))  # noqa: F821 - guard.py

    def __contains__(self, key):
        return id(key) in self._known

    def declared(self, key):
        """Whether the test itself says that it is expected to fail."""
        return self._known[id(key)][5]

    def changed(self, key, test):
        """What of a test's functions and assertions is another now; "" when nothing is."""
        _, kind, name, function, code, _ = self._known[id(key)]
        if type(test) is not kind or test._testMethodName != name:
            return "another test is run: %s" % name
        if getattr(kind, name, None) is not function or code_of(function) is not code:
            return "a test was replaced: %s" % name
        skipped = getattr(function, "__unittest_skip__", False)  # Django skips by what the database cannot do
        if not skipped and self._written.differs(kind, name, code):
            return "a test is not what its file says: %s" % name
        for each in kind.__mro__:
            if each not in self._kinds:
                continue
            (rows, names), space = self._kinds[each], vars(each)
            for part in rows:
                if space.get(part[0]) is not part[1]:
                    return "%s.%s was replaced" % (each.__name__, part[0])
            if any(map(asserts, set(space).difference(names))):
                return "%s has other assertions" % each.__name__
        if any(map(asserts, vars(test))):
            return "%s has other assertions" % name
        return ""

    def equalities(self, test, before):
        """What compares for assertEqual by a function of the graded code, as it was not ``before``."""
        file = getattr(sys.modules.get(type(test).__module__), "__file__", None) or ""
        for kind, how in vars(test).get("_type_equality_funcs", {}).items():
            name = getattr(code_of(how), "co_filename", os.path.join(os.getcwd(), "built-in"))
            if before.get(kind) is not how and os.path.abspath(name) != os.path.abspath(file) and self._own_file(name):
                return "assertEqual was given a function"
        return ""


def asserts(name):
    """Whether an attribute of this name, of a test or its class, takes the place of what a test asserts with."""
    return name.startswith(("assert", "fail", "_")) and callable(getattr(unittest.TestCase, name, None))


def watch_cases(emit, cases, title):
    """Record each known case that runs, and every exception on its way to the runner. Returns the hooks."""
    case, outcome, running = unittest.TestCase, unittest.case._Outcome, {}
    plain, part, wrapped, nested = case.run, outcome.testPartExecutor, witness, nesting()
    passing = (unittest.SkipTest, KeyboardInterrupt)

    def known(test, result):
        """The key of a case that was collected, and its name."""
        key = test if test in cases else result
        return (key, title(key, test)) if key in cases else None

    def begin(key, test, name):
        reason = nested() or cases.changed(key, test)
        if reason:
            emit(("tampered", reason))
        running[id(test)] = (test, name, dict(vars(test).get("_type_equality_funcs", {})))

    def finish(key, test):
        reason = cases.changed(key, test) or cases.equalities(test, running.pop(id(test))[2])
        if reason:
            emit(("tampered", reason))

    def raised(test):
        test = getattr(test, "test_case", test)  # of a subtest
        if id(test) in running:
            emit(("raised", running[id(test)][1]))

    def run(self, result=None):
        found = known(self, result)
        if found is None:
            return plain(self, result)
        key, name = found
        begin(key, self, name)
        method = self._testMethodName
        shadow = vars(self).get(method)  # pytest's, or Django's of a coroutine
        setattr(self, method, wrapped(emit, name, getattr(self, method)))
        try:
            return plain(self, result)
        finally:
            if shadow is None:
                vars(self).pop(method, None)
            else:
                setattr(self, method, shadow)
            finish(key, self)

    @contextlib.contextmanager
    def part_seen(self, test_case, *rest, **named):
        with part(self, test_case, *rest, **named):
            try:
                yield
            except passing:
                raise
            except BaseException:
                raised(test_case)
                raise

    case.run, outcome.testPartExecutor = run, part_seen
    return [run, known, begin, finish, raised]
