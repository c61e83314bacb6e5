"""Varied workspaces for pytest, some hundreds: what warm and cold runs are compared on."""

# ruff: noqa: E501 - tables of small programs

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterator

_SINGLE = {
    "passes": "def test(): pass",
    "compares lists": "def test(): assert [1, {n}, 3] == [1, 2, 4]",
    "compares dicts": "def test(): assert dict(a=1, b={n}) == dict(a=1, c=3)",
    "compares sets": "def test(): assert {{1, {n}}} == {{1, 2, 77}}",
    "compares text": "def test(): assert 'a\\nb{n}\\nc' == 'a\\nx\\nc'",
    "compares floats": "import pytest\ndef test(): assert 0.1 * {n} == pytest.approx(0.1 * {n}); assert 1 / 3 == {n}",
    "raises": "def f(x): return 1 // (x - x)\ndef test(): f({n})",
    "expects an error": "import pytest\ndef test():\n    with pytest.raises(ZeroDivisionError, match='zero'): {n} // 0",
    "misses an error": "import pytest\ndef test():\n    with pytest.raises(KeyError): {n}",
    "parametrized": "import pytest\n@pytest.mark.parametrize('x', range({n} % 5 + 2))\ndef test(x): assert x < 3",
    "ids": "import pytest\n@pytest.mark.parametrize(('a', 'b'), [(1, 2), ({n}, {n})], ids=['one', 'é'])\ndef test(a, b): assert a == b",
    "skips": "import pytest\n@pytest.mark.skip(reason='why {n}')\ndef test(): pass\ndef test_in(): pytest.skip('now')",
    "skips if": "import pytest, sys\n@pytest.mark.skipif(sys.version_info > (3,), reason='new')\ndef test(): assert 0",
    "xfail": "import pytest\n@pytest.mark.xfail\ndef test(): assert {n} < 0\n@pytest.mark.xfail\ndef test_x(): pass",
    "strict xfail": "import pytest\n@pytest.mark.xfail(strict=True, reason='r')\ndef test(): assert {n} >= 0",
    "fixture": "import pytest\n@pytest.fixture\ndef f():\n    yield {n}\n    print('down')\ndef test(f): assert f == 3",
    "fixture fails": "import pytest\n@pytest.fixture\ndef f(): raise ValueError({n})\ndef test(f): pass",
    "teardown fails": "import pytest\n@pytest.fixture\ndef f():\n    yield\n    assert {n} < 0\ndef test(f): pass",
    "scopes": "import pytest\nlog = []\n@pytest.fixture(scope='module')\ndef m(): log.append('m'); return log\n"
    "def test_a(m): assert len(m) == 1\ndef test_b(m): assert len(m) == {n} % 2 + 1",
    "autouse": "import pytest, os\n@pytest.fixture(autouse=True)\ndef e(monkeypatch): monkeypatch.setenv('X', '{n}')\n"
    "def test(): assert os.environ['X'] == '3'",
    "tmp_path": "def test(tmp_path):\n    (tmp_path / 'f').write_text('{n}')\n    assert (tmp_path / 'f').read_text() == '{n}'",
    "capsys": "def test(capsys):\n    print({n})\n    assert capsys.readouterr().out == '3\\n'",
    "capfd": "import os\ndef test(capfd):\n    os.write(1, b'{n}')\n    assert capfd.readouterr().out == '{n}'",
    "caplog": "import logging\ndef test(caplog):\n    logging.warning('w{n}')\n    assert caplog.messages == ['w3']",
    "prints": "import sys\ndef test():\n    print('out {n}'); print('err', file=sys.stderr); assert {n} == -1",
    "warns": "import warnings\ndef test(): warnings.warn('careful {n}')",
    "recwarn": "import pytest, warnings\ndef test():\n    with pytest.warns(UserWarning): warnings.warn('{n}')",
    "class": "class TestIt:\n    def setup_method(self): self.x = {n}\n    def test_a(self): assert self.x == 3\n    def test_b(self): pass",
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def setUp(self): self.x = {n}\n"
    "    def test_a(self): self.assertEqual(self.x, 3)\n    def test_b(self):\n        with self.subTest(i=1): self.assertTrue(self.x)\n"
    "    @unittest.skip('s')\n    def test_c(self): pass\n    @unittest.expectedFailure\n    def test_d(self): self.fail()",
    "syntax error": "def test(:\n    {n}",
    "import error": "import nothing_{n}\ndef test(): pass",
    "error at import": "raise RuntimeError({n})",
    "no tests": "x = {n}",
    "exits": "import sys\ndef test(): sys.exit({n})",
    "exits at import": "import sys\nsys.exit({n})",
    "dies": "import os\ndef test(): pass\ndef test_b(): os._exit({n})",
    "killed": "import os\ndef test(): os.kill(os.getpid(), {n} % 2 * 6 + 9)",
    "pytest.exit": "import pytest\ndef test(): pytest.exit('stop {n}', returncode=9)",
    "fails by hand": "import pytest\ndef test(): pytest.fail('because {n}')",
    "threads": "import threading\ndef test():\n    got = []\n    t = threading.Thread(target=lambda: got.append({n})); t.start(); t.join()\n    assert got == [3]",
    "thread fails": "import threading\ndef test():\n    t = threading.Thread(target=lambda: 1 // 0); t.start(); t.join()\n    assert {n}",
    "left thread": "import threading\ndef test(): threading.Thread(target=lambda: (threading.main_thread().join(), print('late {n}'))).start()",
    "atexit": "import atexit\natexit.register(print, 'bye {n}')\ndef test(): pass",
    "subprocess": "import subprocess, sys\ndef test():\n    assert subprocess.run([sys.executable, '-c', 'print({n})'], capture_output=True).stdout == b'3\\n'",
    "multiprocessing": "import multiprocessing as m\ndef test():\n    with m.get_context('fork').Pool(2) as p: assert p.map(abs, [-{n}, 2]) == [{n}, 2]",
    "asyncio": "import asyncio\ndef test():\n    async def f(): await asyncio.sleep(0); return {n}\n    assert asyncio.run(f()) == 3",
    "sockets": "import socket\ndef test():\n    s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname())\n"
    "    s.accept()[0].send(b'{n}'); assert c.recv(9) == b'3'",
    "no network": "import socket\ndef test():\n    import pytest\n    with pytest.raises(OSError): socket.create_connection(('10.1.2.3', 80), {n} + 1)",
    "recursion": "def f(): f()\ndef test(): f()  # {n}",
    "rewrites": "def check(x): assert x, f'no {{x}}'\ndef test(): check({n} - 3)",
    "long output": "def test(): assert 'x' * 3000 == 'x' * 2999 + 'y{n}'",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int; y: int = 2\ndef test(): assert A({n}) == A(3, 4)",
    "mark": "import pytest\n@pytest.mark.slow{n}\ndef test(): pass",
    "marks": "import pytest\npytestmark = pytest.mark.usefixtures('nothing_{n}')\ndef test(): pass",
    "generator": "import pytest\ndef pytest_generate_tests(metafunc):\n    metafunc.parametrize('v', list(range({n} % 3 + 1)))\ndef test(v): assert v != 2",
    "main module": "import __main__, sys\ndef test(): assert 'pytest' in sys.modules and {n}",
    "path": "import sys, os\ndef test(): assert sys.path.count(os.getcwd()) >= 1 and os.getcwd() == '/box/work' and {n}",
    "hash seed": "def test(): assert [*{{'a', 'b', 'c', 'd{n}'}}] == 0",
    "random": "import random\ndef test():\n    random.seed({n}); assert random.random() == 1",
    "time": "import time, datetime\ndef test(): assert time.time() > 1e9 and datetime.date.today().year > {n}",
    "closes descriptors": "import os\ndef test(): os.closerange(3, 50)  # {n}",
    "writes files": "def test():\n    open('made', 'w').write('{n}')\n    assert open('made').read() == '3'",
    "environment": "import os\ndef test(): assert sorted(k for k in os.environ if not k.startswith(('PYTEST', 'LC_'))) == {n}",
    "doc": "def test():\n    '''The docstring {n}.'''\n    assert False, 'message\\nof two lines'",
    "nested error": "def test():\n    try: {n} // 0\n    except ZeroDivisionError as e: raise KeyError('k') from e",
    "exception group": "def test(): raise ExceptionGroup('g{n}', [ValueError(1), KeyError(2)])",
    "keyboard": "def test(): raise KeyboardInterrupt  # {n}",
    "system error": "def test(): raise SystemError({n})",
    "long names": "def test_{long}(): assert {n} == 3",
    "decimals": "from decimal import Decimal\nfrom fractions import Fraction\ndef test(): assert Decimal('{n}.1') == Fraction(31, 10)",
}
_SEVERAL: dict[str, dict[str, str]] = {
    "conftest": {
        "conftest.py": "import pytest\n@pytest.fixture\ndef base(): return {n}\ndef pytest_report_header(): return 'header {n}'",
        "test_a.py": "def test(base): assert base == 3",
    },
    "packages": {
        "p/__init__.py": "", "p/m.py": "def f(x): return x + {n}", "p/test_m.py": "from .m import f\ndef test(): assert f(1) == 4",
        "q/test_m2.py": "from p.m import f\ndef test(): assert f(2) == 5",
    },
    "same names": {"a/test_x.py": "def test(): pass", "b/test_x.py": "def test(): assert {n} == 3"},
    "options": {"pytest.ini": "[pytest]\naddopts = -k one\npython_functions = check_*", "test_a.py": "def check_one(): assert {n} == 3\ndef check_two(): pass"},
    "pyproject": {"pyproject.toml": "[tool.pytest.ini_options]\nxfail_strict = true", "test_a.py": "import pytest\n@pytest.mark.xfail\ndef test(): assert {n}"},
    "bad options": {"pytest.ini": "[pytest]\naddopts = --nonsense{n}", "test_a.py": "def test(): pass"},
    "module under test": {"solution.py": "def add(a, b): return a - b + {n} - {n}", "test_s.py": "from solution import add\ndef test(): assert add(2, 0) == 2\ndef test_b(): assert add(1, 2) == 3"},
    "a data file": {"data/x.txt": "{n}", "test_d.py": "def test(): assert open('data/x.txt').read() == '3'"},
    "hook": {"conftest.py": "def pytest_collection_modifyitems(items): items.reverse()", "test_h.py": "def test_a(): print({n})\ndef test_b(): assert 0"},
    "conftest breaks": {"conftest.py": "1 // 0  # {n}", "test_a.py": "def test(): pass"},
    "plugin": {"plug.py": "import pytest\n@pytest.fixture\ndef p(): return {n}", "conftest.py": "pytest_plugins = ['plug']", "test_p.py": "def test(p): assert p == 3"},
    "names of the standard library": {"graphlib.py": "mine = {n}", "test_g.py": "import graphlib\ndef test(): assert graphlib.mine == 3"},
}  # fmt: skip


def workspaces(count: int) -> Iterator[tuple[str, dict[str, bytes]]]:
    """``count`` workspaces, each with a name: all kinds first, then the same with other numbers."""
    kinds = [(name, {"test_it.py": text}) for name, text in _SINGLE.items()] + list(_SEVERAL.items())
    for number in itertools.islice(itertools.count(), count):
        name, files = kinds[number % len(kinds)]
        n = (3, 0, 1, 7, 2)[number // len(kinds) % 5]
        made = {
            path: textwrap.dedent(text).format(n=n, long="x" * (n + 1) * 20).encode() if "{" in text else text.encode()
            for path, text in files.items()
        }
        yield f"{name} {n}", made
