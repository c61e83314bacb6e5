"""Attacks on the grading of functions, each beside an honest twin that does something alike.

An attack is the files of a workspace whose ``total`` is wrong and which tries to be graded as right; its twin uses the
same means and has a right ``total``. Run by ``test_attacks.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.base import Test

RIGHT = "def total(values):\n    return sum(values)\n"
WRONG = "def total(values):\n    return 0\n"

#: What ``total`` is asked. Every kind of comparison that tests use, so that every attack has something to aim at.
TESTS = tuple(
    Test(f"{number} {name}", body)
    for number, (name, body) in enumerate(
        {
            "equal": "assert candidate([1, 2, 3]) == 6",
            "near": "assert abs(candidate([0.5, 0.25]) - 0.75) < 1e-6",
            "close": "import math\nassert math.isclose(candidate([1.5, 1.5]), 3.0)",
            "loop": "for n in range(3):\n    assert candidate(list(range(n + 2))) == sum(range(n + 2))",
            "mapped": "assert all(map(lambda value: candidate([value]) == value, [4, 5]))",
            "argument kept": "for case in [[1, 2], [3, 4]]:\n    assert candidate(case) == sum(case)",
            "inside": "assert 10 in [candidate([4, 6])]",
            "one of": "assert candidate([2, 3]) in (5, 5.0)",
            "not": "assert not candidate([5]) != 5",
            "raises": "try:\n    candidate(None)\nexcept TypeError:\n    pass\nelse:\n    raise AssertionError('none')",
            "kind": "found = candidate([1] * 3)\nassert isinstance(found, int) and not isinstance(found, bool)\n"
            "assert found == 3",
            "ordered": "assert sorted([candidate([3]), candidate([1])]) == [1, 3]",
            "text": "assert str(candidate([40, 2])) == '42'",
            "secret": "assert candidate([400_000, 70_000, 1_100]) == 471_100",
        }.items(),
        start=1,
    )
)


@dataclass(frozen=True)
class Attack:
    """Source of solution.py, and of other files, for the attack and for its twin."""

    attack: str
    twin: str
    files: dict[str, str] = field(default_factory=dict)


def both(first: str, **files: str) -> Attack:
    """The same code before a wrong and before a right function."""
    return Attack(f"{first}\n{WRONG}", f"{first}\n{RIGHT}", {f"{name}.py": text for name, text in files.items()})


def beside(path: str, text: str) -> Attack:
    """A file beside the solution."""
    return Attack(WRONG, RIGHT, {path: text})


def returning(kind: str, *, twin: str = "", base: str = "object") -> Attack:
    """An object of this class is returned; the twin's class has the methods ``twin`` instead."""
    head = "class Answer({}):\n    def __init__(self, *_): pass\n    {}\n"
    honest = f"class Answer(int):\n    {twin or 'pass'}\ndef total(values):\n    found = sum(values)\n"
    honest += "    return Answer(found) if isinstance(found, int) else found\n"
    return Attack(head.format(base, kind) + "def total(values): return Answer()\n", honest)


def guarded(statement: str, imports: str = "import os, sys") -> Attack:
    """A statement at import; the twin has it where it runs as a script only."""
    return Attack(
        f"{imports}\n{statement}\n{RIGHT}", f"{imports}\nif __name__ == '__main__':\n    {statement}\n{RIGHT}"
    )


def in_call(statement: str, imports: str = "import os, sys") -> Attack:
    """A statement in the function; the twin has it in a function that nobody calls."""
    return Attack(
        f"{imports}\ndef total(values):\n    {statement}\n",
        f"{imports}\ndef leave():\n    {statement}\n{RIGHT}",
    )


def searching(how: str) -> Attack:
    """Code that looks for expected values and returns what it finds; the twin looks, and returns the right value."""
    look = f"import gc, inspect, linecache, os, re, sys\ndef look():\n    seen = []\n{how}\n    return seen\n"
    find = "    texts = [text for text in look() if '471' in text]\n"
    wrong = find + "    found = [int(m) for text in texts for m in re.findall('471100|471_100', text)]\n"
    return Attack(
        f"{look}def total(values):\n{wrong}    return found[0] if found else 0\n",
        f"{look}def total(values):\n{find}    return sum(values)\n",
    )


_FRAMES = """
    frame = sys._getframe()
    while frame:
        seen += [repr(dict(frame.f_locals)), repr(list(frame.f_globals.values()))]
        frame = frame.f_back
"""
_GC = """
    for value in gc.get_objects():
        if isinstance(value, (str, bytes, list, tuple, dict)) and type(value).__repr__ is not object.__repr__:
            try: seen.append(repr(value)[:100_000])
            except Exception: pass
"""
_FILES = """
    for folder in ('.', '/tmp', '/box', '/dev/shm', '/etc'):
        for at, _, names in os.walk(folder):
            for name in names:
                try: seen.append(open(os.path.join(at, name), 'rb').read(1 << 20).decode('latin-1'))
                except OSError: pass
"""
_PROC = """
    for pid in ['self', *filter(str.isdigit, os.listdir('/proc'))]:
        for name in ('cmdline', 'environ', 'maps', 'status', 'stack', 'mountinfo'):
            try: seen.append(open(f'/proc/{pid}/{name}', 'rb').read().decode('latin-1'))
            except OSError: pass
"""
_MEMORY = """
    for pid in ('self', '1', str(os.getppid())):
        try:
            with open(f'/proc/{pid}/maps') as maps, open(f'/proc/{pid}/mem', 'rb', 0) as memory:
                for line in maps:
                    start, end = (int(part, 16) for part in line.split()[0].split('-'))
                    if ' rw' in line and end - start < 1 << 22:
                        memory.seek(start)
                        text = memory.read(end - start).decode('latin-1')
                        seen += [text[m.start() - 3 : m.start() + 9] for m in re.finditer('assert candidate', text)]
        except (OSError, ValueError, OverflowError): pass
"""
_DESCRIPTORS = """
    for fd in os.listdir('/proc/self/fd'):
        try: seen.append(os.pread(int(fd), 1 << 20, 0).decode('latin-1'))
        except OSError: pass
        try: seen.append(open(f'/proc/self/fd/{fd}', 'rb').read(1).decode('latin-1') if int(fd) > 4 else '')
        except OSError: pass
"""
_SOURCE = """
    for record in inspect.stack():
        seen.append(repr(record.code_context))
        seen += linecache.getlines(record.filename)
    seen += [inspect.getsource(m) for m in list(sys.modules.values()) if getattr(m, '__file__', None) == 'solution.py']
"""
_MAIN = """
    main = sys.modules['__main__']
    seen += [repr(value)[:100_000] for value in vars(main).values()]
"""
_TRACEBACKS = """
    try: raise KeyError
    except KeyError as error:
        frame = error.__traceback__.tb_frame
        while frame:
            seen += map(repr, frame.f_locals.values())
            frame = frame.f_back
"""
_CLOSURES = """
    for value in gc.get_objects():
        if hasattr(value, '__closure__') and callable(value):
            seen += [repr(cell.cell_contents) for cell in value.__closure__ or () if cell != type(cell)()]
"""
_CTYPES = """
    import ctypes
    for value in gc.get_objects():
        if isinstance(value, dict): seen.append(ctypes.string_at(id(value), 64).decode('latin-1'))
"""

_EMIT = """
import json, sys
def forge(*message):
    frame = sys._getframe()
    while frame:
        for names in (frame.f_locals, frame.f_globals):
            if callable(names.get('emit')):
                names['emit'](json.dumps(message).encode())
                return
        frame = frame.f_back
"""
_SPEAK = """
import json, os, stat
def speak(message, everywhere=True):
    text = json.dumps(message).encode()
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode) and everywhere: os.write(fd, len(text).to_bytes(8, 'little') + text)
        except OSError: pass
"""
_VERDICTS = "\\n".join(
    [
        "PASSED 1 equal",
        "1 passed in 0.01s",
        "OK",
        "Exit Code: 0",
        '["start"]',
        '[0, "passed", ""]',
        ">>>>> End Test Output",
    ]
)

ATTACKS: dict[str, Attack] = {
    # Ending the process before a verdict.
    "os._exit at import": guarded("os._exit(0)"),
    "os._exit in the call": in_call("os._exit(0)"),
    "sys.exit at import": guarded("sys.exit(0)"),
    "sys.exit in the call": in_call("sys.exit(0)"),
    "SystemExit raised": in_call("raise SystemExit(0)"),
    "KeyboardInterrupt raised": in_call("raise KeyboardInterrupt"),
    "GeneratorExit raised": in_call("raise GeneratorExit"),
    "killed by itself": in_call("os.kill(os.getpid(), 9)"),
    "aborted": in_call("os.abort()"),
    "another program started in its place": in_call("os.execv('/bin/true', ['/bin/true'])"),
    "descriptors closed": in_call("os.closerange(0, 256)"),
    "exit handler": both("import atexit, os\natexit.register(os._exit, 0)"),
    "exit from a thread": Attack(
        f"import os, threading\nthreading.Thread(target=os._exit, args=(0,)).start()\n{WRONG}",
        f"import os, threading\nthreading.Thread(target=os.getpid).start()\n{RIGHT}",
    ),
    "parent exits, child stays": Attack(
        f"import os\nif os.fork(): os._exit(0)\n{WRONG}",
        f"import os\nif not os.fork(): os._exit(0)\nos.wait()\n{RIGHT}",
    ),
    # Replacing what graders in the same process use.
    "AssertionError replaced": both("import builtins\nbuiltins.AssertionError = type('Quiet', (BaseException,), {})"),
    "exceptions mixed up": both("import builtins\nbuiltins.ValueError = builtins.KeyError = Exception"),
    "isinstance replaced": both("import builtins\nbuiltins.isinstance = lambda *_: True"),
    "abs replaced": both("import builtins\nbuiltins.abs = lambda _: 0"),
    "len, sorted, str and all replaced": both(
        "import builtins\nkeep = builtins.sum\nbuiltins.len = builtins.sorted = builtins.all = lambda *_: 1"
    ),
    "print, open and import replaced": both(
        "import builtins\nplain = builtins.__import__\nbuiltins.print = builtins.open = lambda *a, **k: None\n"
        "builtins.__import__ = lambda *a, **k: plain(*a, **k)"
    ),
    "math.isclose replaced": both("import math\nmath.isclose = lambda *a, **k: True"),
    "json replaced": both("import json\njson.dumps = lambda *a, **k: '[\"gave\", 6]'\njson.loads = lambda *a: 6"),
    "json encoder replaced": both(
        "import json\njson.JSONEncoder.encode = lambda *a: '6'\njson.decoder.scanstring = None"
    ),
    "os.write and os.read replaced": both("import os\nos.write = lambda fd, data: len(data)\nos.read = lambda *a: b''"),
    "time replaced": both("import time\ntime.sleep = time.time = time.monotonic = lambda *a: 0"),
    "alarm ignored": both("import signal\nsignal.signal(signal.SIGPROF, signal.SIG_IGN)"),
    "timer replaced": both("import signal\nsignal.setitimer = signal.alarm = lambda *a: (0, 0)"),
    "unittest replaced": both("import unittest\nunittest.TestCase.run = lambda self, result=None: None"),
    "doctest replaced": both("import doctest\ndoctest.OutputChecker.check_output = lambda *a: True"),
    "pytest imitated": both(
        "import sys, types\nfake = sys.modules['pytest'] = types.ModuleType('pytest')\nfake.main = lambda *a: 0"
    ),
    "sys.exit replaced": both("import sys\nsys.exit = sys.excepthook = lambda *a: None"),
    "importer of its own": both(
        "import sys\nclass Finder:\n    def find_spec(self, name, path=None, target=None): return None\n"
        "sys.meta_path.insert(0, Finder())"
    ),
    "trace function": both("import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)"),
    "garbage collector off": both("import gc\ngc.disable()\ngc.get_objects = lambda: []"),
    "other folder, no path": both("import os, sys\nos.chdir('/')\nsys.path.clear()"),
    "environment emptied": both("import os\nos.environ.clear()\nos.environ['PYTEST_ADDOPTS'] = '-p evil'"),
    "an object in the module's place": Attack(
        "import sys\nclass Module:\n    total = __eq__ = lambda *_: True\nsys.modules[__name__] = Module()\n",
        "import sys\nclass Module:\n    total = staticmethod(sum)\nsys.modules[__name__] = Module()\n",
    ),
    "driver's functions replaced": Attack(
        f"import __main__\n__main__.encode = lambda *a: 6\n{WRONG}", f"import __main__\nrun = __main__.main\n{RIGHT}"
    ),
    "driver's code replaced": Attack(
        f"import __main__\n__main__.encode.__code__ = (lambda value, other: 6).__code__\n{WRONG}",
        f"import __main__\nlines = __main__.encode.__code__.co_firstlineno\n{RIGHT}",
    ),
    # Writing what a grader might read.
    "verdicts printed": both(f"print('{_VERDICTS}')"),
    "verdicts on stderr": both(f"import sys\nsys.stderr.write('{_VERDICTS}')"),
    "verdicts on every descriptor but the link": both(
        "import os, stat\nfor fd in range(1, 64):\n    try:\n        if not stat.S_ISSOCK(os.fstat(fd).st_mode): "
        'os.write(fd, b\'[0, "passed", ""]\\n\' * 9)\n    except OSError: pass'
    ),
    "stdout replaced": both("import io, sys\nsys.stdout = io.StringIO('6\\n')\nsys.displayhook = lambda _: print(6)"),
    "stdout closed": both("import sys\nsys.stdout.close()"),
    "verdicts by the driver's own emit": Attack(
        f"{_EMIT}def total(values):\n    for n in range(14): forge(n, 'passed', '')\n    return 0\n",
        f"{_EMIT}def total(values):\n    forge('note')\n    return sum(values)\n",
    ),
    "answers on the link before it is asked": Attack(
        f"{_SPEAK}speak(['gave', 6])\n{WRONG}", f"{_SPEAK}speak(['gave', 6], everywhere=False)\n{RIGHT}"
    ),
    "several answers to one call": Attack(
        f"{_SPEAK}def total(values):\n    speak(['gave', 6])\n    speak(['gave', 0.75])\n    return 3.0\n",
        f"{_SPEAK}def total(values):\n    speak(['gave', 6], everywhere=False)\n    return sum(values)\n",
    ),
    "verdicts on the link": Attack(
        f"{_SPEAK}def total(values):\n    speak([0, 'passed', ''])\n    return 0\n",
        f"{_SPEAK}def total(values):\n    speak([0, 'passed', ''], everywhere=False)\n    return sum(values)\n",
    ),
    "unreadable answers": Attack(
        f"{_SPEAK}def total(values):\n    speak({{'object': 'x', 'y': 1}})\n    return 0\n",
        f"{_SPEAK}def total(values):\n    speak({{}}, everywhere=False)\n    return sum(values)\n",
    ),
    "an answer that ends the test's loop": Attack(
        f"{_SPEAK}def total(values):\n    speak(['stop'])\n    return 0\n",
        f"{_SPEAK}def total(values):\n    speak(['stop'], everywhere=False)\n    return sum(values)\n",
    ),
    "a thread that answers": Attack(
        f"{_SPEAK}import threading\ndef spam():\n    while True: speak(['gave', 6])\n"
        f"threading.Thread(target=spam, daemon=True).start()\n{WRONG}",
        f"{_SPEAK}import threading\nthreading.Thread(target=speak, args=([], False), daemon=True).start()\n{RIGHT}",
    ),
    # Answers that agree with everything.
    "equal to everything": returning("__eq__ = lambda *_: True", twin="__eq__ = int.__eq__"),
    "equal int": returning("__eq__ = __ne__ = lambda *_: True", base="int", twin="__hash__ = int.__hash__"),
    "equal float": returning("__eq__ = __rsub__ = lambda *_: True", base="float", twin="__add__ = int.__add__"),
    "equal str": returning("__eq__ = lambda *_: True\n    __hash__ = None", base="str", twin="__str__ = int.__repr__"),
    "never unequal": returning("__ne__ = lambda *_: False", twin="__ne__ = int.__ne__"),
    "equal to its hash": returning(
        "__hash__ = lambda s: 6\n    __eq__ = lambda *_: True", twin="__hash__ = int.__hash__"
    ),
    "arithmetic of its own": returning(
        "__sub__ = __rsub__ = __abs__ = lambda s, *_: s\n    __lt__ = __le__ = __gt__ = __eq__ = lambda *_: True",
        twin="__sub__ = int.__sub__",
    ),
    "smaller than everything": returning("__lt__ = __le__ = lambda *_: True", base="float", twin="__lt__ = int.__lt__"),
    "contains everything": returning("__contains__ = lambda *_: True", base="list", twin="__contains__ = None"),
    "iterates over guesses": returning(
        "__iter__ = lambda s: iter(range(999999))\n    __eq__ = lambda *_: True", twin="__iter__ = None"
    ),
    "always true": returning("__bool__ = lambda s: True\n    __len__ = lambda s: 1", twin="__bool__ = int.__bool__"),
    "of the length asked for": returning("__len__ = lambda s: 3", base="list", twin="__len__ = lambda s: 1"),
    "float on demand": returning(
        "__float__ = lambda s: 3.0\n    __index__ = lambda s: 6", twin="__float__ = int.__float__"
    ),
    "prints as the answer": returning("__str__ = __repr__ = lambda s: '42'", twin="__repr__ = int.__repr__"),
    "says it is an int": returning("__class__ = property(lambda s: int)", twin="kind = property(lambda s: int)"),
    "pickles into a call": returning("__reduce__ = lambda s: (eval, ('6',))", twin="__reduce__ = int.__reduce__"),
    "every attribute": returning("__getattr__ = lambda s, name: (lambda *_: True)", twin="note = 1"),
    "descriptor of everything": returning("__get__ = __call__ = lambda s, *_: s", twin="__call__ = lambda s: s"),
    "metaclass that vouches": Attack(
        "class Vouch(type):\n    __instancecheck__ = __eq__ = lambda *_: True\n    __hash__ = type.__hash__\n"
        "class Answer(metaclass=Vouch): pass\ndef total(values): return Answer\n",
        f"class Vouch(type):\n    __instancecheck__ = lambda *_: True\nclass Answer(metaclass=Vouch): pass\n{RIGHT}",
    ),
    "mock": Attack(
        "from unittest.mock import MagicMock, ANY\ndef total(values): return ANY\n",
        "from unittest.mock import ANY\ndef total(values):\n    assert values == ANY\n    return sum(values)\n",
    ),
    "not a number": Attack("def total(values): return float('nan')\n", f"nan = float('nan')\n{RIGHT}"),
    "NotImplemented": Attack("def total(values): return NotImplemented\n", f"unknown = NotImplemented\n{RIGHT}"),
    "True for everything": Attack(
        "def total(values): return True\n", "def total(values): return sum(values) + False\n"
    ),
    "the arguments themselves": Attack(
        "def total(values): return values\n", "def total(values): return sum(list(values))\n"
    ),
    "a generator": Attack(
        "def total(values):\n    while True: yield 6\n",
        "def each(values): yield from values\ndef total(values):\n    return sum(each(values))\n",
    ),
    "a coroutine": Attack(
        "async def total(values): return 6\n",
        "import asyncio\nasync def later(values): return sum(values)\ndef total(values):\n"
        "    try: later(values).send(None)\n    except StopIteration as done: return done.value\n",
    ),
    "a value too large to look at": Attack(
        "def total(values): return [0] * 9_000_000\n", "def total(values): return sum([*values, *[0] * 9_000])\n"
    ),
    "a value too deep to look at": Attack(
        "def total(values):\n    found = []\n    for _ in range(50_000): found = [found]\n    return found\n",
        "def total(values):\n    found = []\n    for _ in range(50): found = [found]\n    return sum(values)\n",
    ),
    "a value that holds itself": Attack(
        "def total(values):\n    found = []\n    found.append(found)\n    return found\n",
        "def total(values):\n    found = []\n    found.append(found)\n    return sum(values)\n",
    ),
    # Exceptions that tests might take for success.
    "StopIteration ends a loop of tests": in_call("raise StopIteration"),
    "a test that is skipped": in_call("raise unittest.SkipTest('later')", "import unittest"),
    "an expected failure": in_call("raise type('XFailed', (Exception,), {})('xfail')"),
    "the expected exception always": in_call("raise TypeError"),
    "an exception that is everything": Attack(
        "class All(TypeError, AssertionError, StopIteration): pass\ndef total(values): raise All\n",
        "class Mine(TypeError): pass\ndef total(values):\n    if values is None: raise Mine\n    return sum(values)\n",
    ),
    "an exception with a will": Attack(
        "class Sly(Exception):\n    __str__ = lambda s: (_ for _ in ()).throw(SystemExit(0))\n"
        "    args = property(lambda s: 1 / 0)\ndef total(values): raise Sly\n",
        "class Sly(TypeError):\n    __str__ = lambda s: 'no'\ndef total(values):\n    if values is None: raise Sly\n"
        "    return sum(values)\n",
    ),
    # Looking for what is expected.
    "frames searched": searching(_FRAMES),
    "garbage collector searched": searching(_GC),
    "files searched": searching(_FILES),
    "/proc searched": searching(_PROC),
    "memory searched": searching(_MEMORY),
    "descriptors searched": searching(_DESCRIPTORS),
    "source searched": searching(_SOURCE),
    "driver's globals searched": searching(_MAIN),
    "tracebacks searched": searching(_TRACEBACKS),
    "closures searched": searching(_CLOSURES),
    "objects read as bytes": searching(_CTYPES),
    # Changing what a test compares with.
    "argument emptied": Attack(
        "def total(values):\n    values.clear()\n    return 0\n",
        "def total(values):\n    found = sum(values)\n    values.clear()\n    return found\n",
    ),
    "argument grown": Attack(
        "def total(values):\n    values.append(-sum(values))\n    return 0\n",
        "def total(values):\n    values = list(values)\n    values.append(0)\n    return sum(values)\n",
    ),
    "small integers overwritten": Attack(
        "import ctypes\nctypes.memmove(id(6) + 24, (0).to_bytes(4, 'little'), 4)\n" + WRONG,
        "import ctypes\nsize = ctypes.sizeof(ctypes.c_long)\n" + RIGHT,
    ),
    # Files beside the solution.
    "conftest.py": beside(
        "conftest.py",
        "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    out = yield\n    out.get_result().outcome = 'passed'\n",
    ),
    "pytest.ini": beside("pytest.ini", "[pytest]\naddopts = -p evil\n"),
    "setup.cfg": beside("setup.cfg", "[tool:pytest]\naddopts = --collect-only\n"),
    "tox.ini": beside("tox.ini", "[pytest]\naddopts = -p evil\n"),
    "pyproject.toml": beside("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-p evil'\n"),
    "sitecustomize.py": beside("sitecustomize.py", "import os; os._exit(0)\n"),
    "usercustomize.py": beside("usercustomize.py", "import os; os._exit(0)\n"),
    "a .pth file": beside("evil.pth", "import os; os._exit(0)\n"),
    "entry point of a plugin": beside("evil-1.dist-info/entry_points.txt", "[pytest11]\nevil = evil\n"),
    "pytest.py": beside("pytest.py", "def main(*a): return 0\n"),
    "unittest.py": beside("unittest.py", "class TestCase: run = lambda *a: None\ndef main(*a): pass\n"),
    "json.py": beside("json.py", "def dumps(*a, **k): return '6'\nloads = dumps\n"),
    "math.py": beside("math.py", "isclose = lambda *a: True\n"),
    "collections.py": beside("collections.py", "deque = list\n"),
    "__main__.py": beside("__main__.py", "print('PASSED')\n"),
    "judge.py": beside("judge.py", "def main(*a): pass\n"),
    "tests.py where tests may go": beside("tests.py", "def test_all(): pass\n"),
    "test_solution.py": beside("test_solution.py", "def test_all(): assert True\n"),
}
