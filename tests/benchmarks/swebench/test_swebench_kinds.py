"""Every way in which a test ends well is seen: what the records of a test's own code are matched with."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.swebench.benchmark import SWEBench
from tests.benchmarks.swebench.conftest import FIXED, World, changed, options

COMMON = """\
import asyncio
import unittest
from unittest import mock

import pytest

from calc import add


def setUpModule():
    add(0, 0)


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.two, cls.id_of = add(1, 1), len

    def setUp(self):
        self.addTypeEqualityFunc(str, lambda first, second, msg=None: None)
        self.addCleanup(add, 1, 2)

    def test_parts(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(add(number, self.two), number + 2)
        self.assertEqual("one", "other")

    def test_raises(self):
        with self.assertRaises(TypeError):
            add(None, 1)

    @mock.patch("calc.core.mul", return_value=7)
    def test_patched(self, mul):
        self.assertEqual(add(mul(), 1), 8)

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(add(1, 1), 3)

    def test_skipped(self):
        self.skipTest("later")

    def test_of_another(self):
        class Inner(unittest.TestCase):
            def test_bad(self):
                self.assertEqual(add(1, 1), 3)

        result = unittest.TestResult()
        Inner("test_bad").run(result)
        self.assertEqual(len(result.failures), 1)


class Later(unittest.IsolatedAsyncioTestCase):
    async def test_later(self):
        await asyncio.sleep(0)
        self.assertEqual(add(1, 1), 2)


class Below(Kinds):
    def test_parts(self):
        super().test_parts()
"""
PYTEST = """

@pytest.fixture
def two():
    yield add(1, 1)


class TestPlain:
    @pytest.mark.parametrize("one", [1, 2])
    def test_method(self, one, two):
        assert add(one, two) == one + 2

    @staticmethod
    def test_static():
        assert add(1, 1) == 2


@pytest.mark.xfail
def test_marked():
    assert add(1, 1) == 3


def test_marked_late(request):
    request.node.add_marker(pytest.mark.xfail(reason="late"))
    assert add(1, 1) == 3


def test_called():
    pytest.xfail("called")


@mock.patch("calc.core.mul", return_value=7)
def test_mocked(mul):
    assert add(mul(), 1) == 8
"""
KINDS = {
    "test_parts": "PASSED",
    "test_raises": "PASSED",
    "test_patched": "PASSED",
    "test_expected": "XFAIL",
    "test_skipped": "SKIPPED",
    "test_of_another": "PASSED",
    "test_later": "PASSED",
}
FUNCTIONS = {
    "test_method[1]": "PASSED",
    "test_method[2]": "PASSED",
    "test_static": "PASSED",
    "test_marked": "XFAIL",
    "test_marked_late": "XFAIL",
    "test_called": "XFAIL",
    "test_mocked": "PASSED",
}


def statuses(world: World, folder: Path, row: str, path: str, text: str) -> dict[str, str]:
    """Every test of this file, on the solution, by its bare name."""
    raw = next(each for each in map(json.loads, world.rows.read_text().splitlines()) if each["instance_id"] == row)
    lines = [f"+{line}\n" for line in text.splitlines()]
    raw["test_patch"] = f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n{''.join(lines)}"
    (folder / "rows.json").write_text(json.dumps([raw]))
    bench = SWEBench("swe-lite", **{**options(world), "rows": str(folder / "rows.json")})
    run = bench.run(bench.row(row), changed(bench.task(row), FIXED))
    assert run.tampered == "", run.log
    return dict(run.seen)


def test_with_pytest(world: World, tmp_path: Path) -> None:
    seen = statuses(world, tmp_path, "fixture__calc-4", "tests/test_kinds.py", COMMON + PYTEST)
    for name, status in {**KINDS, **FUNCTIONS}.items():
        assert {seen[each] for each in seen if each.endswith(f"::{name}")} == {status}, name


def test_with_unittest(world: World, tmp_path: Path) -> None:
    text = COMMON.replace("import pytest\n", "")
    seen = statuses(world, tmp_path, "fixture__calc-u", "unit/kinds.py", text)
    for name, status in KINDS.items():
        assert {seen[each] for each in seen if each.startswith(f"{name} ") and "Inner" not in each} == {status}, name
