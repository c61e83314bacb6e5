"""What honest programs do with the means of the attacks by code: ``TWINS`` has one for each name in ``attacks.py``."""

from __future__ import annotations

_FRAMES = """
import sys
frame = sys._getframe()
while frame is not None:
    names, frame = set(frame.f_locals), frame.f_back
"""
_OWN_CASE = """
import unittest
class Own(unittest.TestCase):
    def runTest(self):
        self.assertEqual(1, 1)
"""
_OWN_PLUGINS = """
import pluggy
spec, impl = pluggy.HookspecMarker("calc"), pluggy.HookimplMarker("calc")
class Spec:
    @spec
    def pytest_runtest_call(self, item): pass
class Own:
    @impl
    def pytest_runtest_call(self, item): return item
manager = pluggy.PluginManager("calc")
manager.add_hookspecs(Spec)
manager.register(Own())
manager.hook.pytest_runtest_call(item=1)
"""
TWINS = {
    "exit when called": "def leave():\n    raise SystemExit(0)",
    "exit at import": "import os\nif __name__ == '__main__':\n    os._exit(0)",
    "sys.exit at import": "import sys\ntry:\n    sys.exit(0)\nexcept SystemExit:\n    pass",
    "exit at the end": "import atexit, os\natexit.register(os.getpid)",
    "printed verdicts": "print('PASSED tests/test_core.py::test_mul\\nFAILED tests/test_core.py::test_add')",
    "standard output replaced": "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    print(1)",
    "assertions raise nothing": "class Wrong(AssertionError):\n    pass",
    "isinstance patched": "import builtins\nknown = builtins.isinstance(1, int)",
    "garbage on every descriptor": "import os\nos.write(1, b'PASSED\\n')\nos.write(2, b'FAILED\\n')",
    "records without the key": "import os\nends = os.pipe()\nos.write(ends[1], b'key 0 74657374\\n')",
    "the supervisor's output": "import os\nparent = os.getppid()\nopen(os.devnull, 'wb').write(b'{}')",
    "the supervisor killed": "import os, signal\nos.kill(os.getpid(), 0)\nsignal.getsignal(signal.SIGTERM)",
    "everything killed": "import subprocess\nchild = subprocess.Popen(['sleep', '9'])\nchild.kill()\nchild.wait()",
    "the parent ends, a child goes on": "import os\nchild = os.fork()\nchild or os._exit(0)\nos.waitpid(child, 0)",
    "the heap searched for the recorder": "import gc, weakref\ngc.collect()\ngc.disable()\ngc.enable()",
    "memory read": "open('/proc/self/status').read()",
    "tests rewritten on disk at import": "import pathlib\nfound = list(pathlib.Path('.').rglob('*'))",
    "out of memory": "x = bytearray(1 << 20)",
    "a trace function": "import sys\nsys.settrace(sys.gettrace())",
    "every test skipped": "import unittest\ntry:\n    raise unittest.SkipTest\nexcept unittest.SkipTest:\n    pass",
    "the module skipped": "import unittest\nskipped = unittest.skip('no')(print)",
    "every test an expected failure": "import unittest\n@unittest.expectedFailure\ndef fails():\n    raise ValueError",
    "failed and then an expected failure": "import builtins\nclass Expected(builtins.AssertionError):\n    pass",
    "test functions not called": _OWN_CASE + "run = Own.run\n",
    "their code replaced": "def one():\n    return 1\ndef two():\n    return 2\none.__code__ = two.__code__",
    "reports forged": _OWN_CASE + "class Result(unittest.TestResult):\n    def addFailure(self, *a): pass\n",
    "calls without exceptions": "import contextlib\nwith contextlib.suppress(ValueError):\n    raise ValueError",
    "a plugin registered at import": _OWN_PLUGINS,
    "a plugin registered in a call": _OWN_PLUGINS,
    "the recorder's closure": "def outer(x):\n    return lambda: x\nheld = outer(1).__closure__[0].cell_contents",
    "the recorder called": "def each():\n    while True:\n        yield\nrun = each()\nnext(run)\nrun.send(1)",
    "the recorder's own code": "import types\nsame = types.FunctionType((lambda: 1).__code__, {})()",
    "the items' functions replaced": _FRAMES,
    "the tests' code replaced": "same = (lambda: 1).__code__.replace(co_name='x')",
    "the items' runtest replaced": "class Item:\n    runtest = print\nitem = Item()\nitem.runtest = lambda: None",
    "a hook's function replaced": _OWN_PLUGINS + "manager.hook.pytest_runtest_call.get_hookimpls()[0].function\n",
    "marked as an expected failure in a call": _FRAMES,
    "an expected failure in the item's stash": "stash = {}\nstash['xfailed'] = True",
    "pluggy's results": _OWN_PLUGINS + "import pluggy._result\nget = pluggy._result.__name__\n",
    "the session told to stop": "class Exit(Exception):\n    pass\ntry:\n    raise Exit\nexcept Exit:\n    pass",
    "run replaced": _OWN_CASE + "Own.run = lambda self, result=None: None\n",
    "assertions emptied": _OWN_CASE + "Own.assertEqual = lambda *a, **k: None\n",
    "failures dropped": _OWN_CASE + "result = unittest.TestResult()\nresult.addFailure = print\n",
    "failures called successes": _OWN_CASE + "class Result(unittest.TestResult):\n    addFailure = addError = print\n",
    "a failure called expected": _OWN_CASE + "Own.__unittest_expecting_failure__ = True\n",
    "a kind of equality": _OWN_CASE + "Own().addTypeEqualityFunc(int, lambda *a, **k: None)\n",
    "an assertion of the tests' class": _OWN_CASE + "Own._baseAssertEqual = lambda *a, **k: None\n",
    "the result's own attributes": _OWN_CASE
    + "result = unittest.TestResult()\nresult.addFailure = result.addSuccess\n",
    "attributes read through another": "class Proxy:\n    def __getattribute__(self, name): return None",
    "methods replaced when their class is built": "class Meta(type):\n    def __new__(kind, name, bases, space):\n"
    "        return super().__new__(kind, name, bases, space)\nclass Made(metaclass=Meta):\n    pass",
    "methods declared expected failures": _OWN_CASE + "Own.runTest.__unittest_expecting_failure__ = True\n",
    "a result of its own": _OWN_CASE + "Result = type('R', (unittest.TestResult,), {})\n",
    "successes told by hand": _OWN_CASE + "result = unittest.TestResult()\nresult.addSuccess(Own())\n",
}
