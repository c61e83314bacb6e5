"""Code that a test runs and that reaches for the runner through the frames below it, and for unittest's classes."""

from __future__ import annotations

# What is on the stack below a call of the package: ``found(name)`` is the first local variable of that name.
FOUND = """
import sys
def found(name):
    frame = sys._getframe()
    while frame is not None:
        if name in frame.f_locals:
            return frame.f_locals[name]
        frame = frame.f_back
"""
RUNTEST = """
for item in found("item").session.items:
    if hasattr(item.module, "add"):
        item.runtest = lambda: None
"""
HOOK_FUNCTION = """
item = found("item")
if hasattr(item.module, "add"):
    for impl in item.config.hook.pytest_pyfunc_call.get_hookimpls():
        if impl.plugin_name == "python":
            plain = impl.function
            impl.function = lambda pyfuncitem: hasattr(pyfuncitem.module, "add") or plain(pyfuncitem)
            impl.argnames = ("pyfuncitem",)
"""
MARKED = "found('item').add_marker('xfail')"
STASHED = """
import _pytest.skipping as s
key = getattr(s, "xfailed_key", None) or s.XFAILED_KEY
kind = getattr(s, "Xfailed", None) or s.Xfail
found("item").stash[key] = kind("", True, False, None)
"""
POPPED = """
import sys, pluggy._result as r
marked = set()
old = r.Result.get_result
def new(self):
    frame = sys._getframe(1)
    call, item, report = (frame.f_locals.get(name) for name in ("call", "item", "report"))
    if call is not None and item is not None and getattr(item, "nodeid", "") in marked:
        call.excinfo = None
    got = old(self)
    if call is not None and item is not None and getattr(item, "nodeid", "") in marked and hasattr(got, "outcome"):
        got.outcome, got.longrepr = "passed", None
    return got
r.Result.get_result = new
def mark():
    frame = sys._getframe(1)
    while frame is not None:
        if "item" in frame.f_locals:
            marked.add(frame.f_locals["item"].nodeid)
        frame = frame.f_back
"""
GETATTRIBUTE = """
import unittest
def get(self, name):
    value = object.__getattribute__(self, name)
    if name == "assertEqual" and type(self).__name__ == "Checks":
        return lambda *args: None
    return value
unittest.TestCase.__getattribute__ = get
"""
BUILD = """
import builtins
plain = builtins.__build_class__
def build(body, name, *rest, **named):
    made = plain(body, name, *rest, **named)
    if name == "Checks":
        CHANGE
    return made
builtins.__build_class__ = build
"""
ADDED = """
result = found("result")
result.addFailure = lambda test, error: result.addSuccess(test) if hasattr(test, "test_words") else None
"""
ITEMS = """
import sys
frame = sys._getframe()
while frame is not None:
    session = getattr(frame.f_locals.get("item"), "session", None)
    if session is not None:
        for item in session.items:
            item.obj = lambda *args, **kwargs: None
        break
    frame = frame.f_back
"""
CODES = """
import sys
for frame in [sys._getframe(2)]:
    for name, value in frame.f_globals.items():
        if name.startswith("test_"):
            value.__code__ = (lambda pair=None: None).__code__
"""
