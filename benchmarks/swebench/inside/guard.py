"""Notices graded code that reaches for the test runner. Source text, put before ``driver.py``.

In Python the code under test shares a process with the runner, so it can be hindered and found out, not locked out.
``Guard`` remembers the runner's functions before graded code is loaded and compares them after every test; ``watch``
(an audit hook, Python >= 3.8) reports code that looks through the heap, into the recorder for its key, or makes
functions of the driver's code.
"""

import builtins
import re
import sys
import types

TRUSTED_BUILTINS = (
    isinstance,
    issubclass,
    len,
    all,
    any,
    abs,
    sorted,
    repr,
    getattr,
    bool,
    int,
    float,
    str,
    bytes,
    list,
)
TRUSTED_BUILTINS += (tuple, dict, set, frozenset, type, object, range, zip, min, max, sum, round, id, iter, next, map)
TRUSTED_BUILTINS += (filter, enumerate, reversed, hash, callable, super)
HEAP = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
MEMORY = re.compile("/proc/[^/]+/mem$")
PRIVATE = ("__closure__", "__globals__", "__code__", "gi_frame", "gi_code")


def parts(owner):
    """What must stay as it is in a class or module: (name, value, function, code, defaults)."""
    for name, value in list(vars(owner).items()):
        inner = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if isinstance(inner, types.FunctionType):
            yield name, value, inner, inner.__code__, inner.__defaults__
        elif isinstance(value, type) and isinstance(owner, types.ModuleType):
            yield name, value, None, None, None


class Guard:
    """``changed()`` names what is no longer as it was when the guard was made; "" when all is."""

    def __init__(self, modules, own=()):
        owners = []
        for module in modules:
            owners.append(module)
            owners += [
                each for each in vars(module).values() if isinstance(each, type) and each.__module__ == module.__name__
            ]
        self._kept = [(vars(owner), owner.__name__) + part for owner in owners for part in parts(owner)]
        # Looking at the code of the recorder's own functions is what ``watch`` reports; so is replacing it.
        self._kept = [row[:4] + (None,) + row[5:] if row[3] in own else row for row in self._kept]
        self._names = [(each, frozenset(vars(each))) for each in owners if isinstance(each, type)]
        space = vars(builtins)
        self._kept += [
            (space, "builtins", name, value, None, None, None)
            for name, value in space.items()
            if value in TRUSTED_BUILTINS or (isinstance(value, type) and issubclass(value, BaseException))
        ]
        self._hooks = [(sys.gettrace, sys.gettrace()), (sys.getprofile, sys.getprofile())]

    def changed(self):
        for space, owner, name, value, inner, code, defaults in self._kept:
            if space.get(name) is not value:
                return "%s.%s was replaced" % (owner, name)
            if inner is not None and (inner.__code__ is not code or inner.__defaults__ is not defaults):
                return "the code of %s.%s was replaced" % (owner, name)
        for owner, names in self._names:
            for name in frozenset(vars(owner)).difference(names):
                if hasattr(vars(owner)[name], "__get__") and any(name in vars(base) for base in owner.__mro__[1:]):
                    return "%s.%s was replaced" % (owner.__name__, name)
        for ask, before in self._hooks:
            if ask() is not before:
                return "sys.%s is another" % ask.__name__
        return ""


class Files:
    """``changed()`` names a file that no longer holds what it did; "" when all do."""

    def __init__(self, paths):
        self._kept = [(path, self._read(path)) for path in paths]

    @staticmethod
    def _read(path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError:
            return None

    def changed(self):
        return next((path + " was changed" for path, data in self._kept if self._read(path) != data), "")


def watch(own, codes, report):
    """Call ``report(what)`` when code walks the heap, reads the insides of a function whose id is in ``own``, or uses
    one of the ``codes`` for a function of its own.
    """
    if not hasattr(sys, "addaudithook"):
        return

    def hook(event, arguments):
        if event in HEAP:
            report(event + " was called")
        elif event in ("object.__getattr__", "object.__setattr__"):
            if arguments[1] in PRIVATE and id(arguments[0]) in own:
                report("%s of the recorder was touched" % arguments[1])
            elif arguments[1] == "__code__" and any(each is arguments[-1] for each in codes):
                report("the recorder's code was used")
        elif event in ("function.__new__", "exec"):
            if any(each is arguments[0] for each in codes):
                report("the recorder's code was used")
        elif event == "open" and MEMORY.match(str(arguments[0])):
            report("%s was opened" % arguments[0])

    sys.addaudithook(hook)
