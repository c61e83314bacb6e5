"""Exercises as the repositories lay them out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import benchmarks
from benchmarks import exercism
from benchmarks.data import MissingData
from benchmarks.toolchains import ToolMissing, toolchain

TEST = """
import unittest
from bank import (
    LIMIT,
    Account,
    limit as the_limit,
)
import bank


class BankTest(unittest.TestCase):
    def test_pay(self):
        account = Account()
        account.pay(3)
        self.assertEqual(account.sum, 3)

    def test_limit(self):
        self.assertEqual(the_limit(), LIMIT)
        self.assertEqual(bank.limit(), bank.LIMIT)

    def test_less(self):
        with self.assertRaises(ValueError) as caught:
            Account().pay(-1)
        self.assertEqual(type(caught.exception), ValueError)
        self.assertEqual(caught.exception.args[0], "less")
"""
EXAMPLE = """
from rates import RATE
LIMIT = 100 * RATE
def limit(): return LIMIT
class Account:
    def __init__(self): self.sum = 0
    def pay(self, n):
        if n < 0: raise ValueError("less")
        self.sum += n
"""
FILES = {"solution": ["bank.py"], "test": ["bank_test.py"], "example": [".meta/example.py"], "editor": ["rates.py"]}
BANK_FILES = {
    "bank.py": "def limit(): pass\n",
    "rates.py": "RATE = 1\n",
    "bank_test.py": TEST,
    ".meta/example.py": EXAMPLE,
    ".docs/instructions.md": "# Instructions\n\nKeep accounts.\n",
    ".meta/config.json": json.dumps({"files": FILES}),
}


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path / "home"))
    folder = tmp_path / "exercises" / "practice" / "bank"
    for path, text in BANK_FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder.parent / "README.md").write_text("")
    return tmp_path


def test_an_exercise(clone: Path) -> None:
    bench = benchmarks.load("exercism", path=clone)
    (task,) = bench.tasks("test")
    assert task.id == "exercism/bank"
    assert "Keep accounts." in task.prompt
    assert "bank.py" in task.prompt
    assert sorted(task.workspace) == ["bank.py", "rates.py"]
    assert [test.id for test in task.hidden] == ["BankTest.test_pay", "BankTest.test_limit", "BankTest.test_less"]
    assert task.visible == task.hidden  # they are public
    right = {**task.workspace, **task.meta["fixed"]}
    assert bench.grade(task, right).resolved, bench.grade(task, right)
    assert not bench.grade(task, task.workspace).resolved
    assert bench.grade(task, {**right, "rates.py": b"RATE = 'x'\n"}).resolved  # a protected file is the task's own
    half = {**right, "bank.py": EXAMPLE.replace("less", "more").encode()}
    assert bench.grade(task, half).tests["BankTest.test_less"] == "failed"
    bench.close()


SPEC = """
import { Account, LIMIT } from './bank';

describe('Account', () => {
  let account;
  beforeEach(() => { account = new Account(); });

  test('pays', () => {
    account.pay(3);
    expect(account).toEqual({ sum: 3 });
    expect(LIMIT).toBe(100);
  });

  describe('refuses', () => {
    xtest('less', () => {
      expect(() => account.pay(-1)).toThrow(new Error('less'));
      expect(account.sum).not.toBe(-1);
    });
    xtest('later', async () => {
      await expect(account.later(2)).resolves.toEqual([2]);
    });
    test.skip.each([[1], [2]])('each %d', (n) => {
      expect([n, undefined]).toHaveLength(2);
    });
  });
});
"""
BANK = """
import { RATE } from './rates';
export const LIMIT = 100 * RATE;
export class Account {
  constructor() { this.sum = 0; }
  pay(n) { if (n < 0) throw new Error('less'); this.sum += n; }
  async later(n) { return [n]; }
}
"""


def test_an_exercise_in_javascript(tmp_path: Path) -> None:
    try:
        toolchain("javascript").find()
    except ToolMissing as error:
        pytest.skip(str(error))
    folder = tmp_path / "javascript" / "exercises" / "practice" / "bank"
    files = {"solution": ["bank.js"], "test": ["bank.spec.js"], "example": [".meta/proof.ci.js"]}
    for path, text in {
        "bank.js": "export class Account {}\n",
        "rates.js": "module.exports.RATE = 1;\n",
        "bank.spec.js": SPEC,
        "package.json": "{}",
        ".meta/proof.ci.js": BANK,
        ".meta/config.json": json.dumps({"files": files}),
        ".docs/instructions.md": "Keep accounts.",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    bench = benchmarks.load("aider-polyglot", path=tmp_path, language="javascript")
    task = bench.task("aider-polyglot/javascript/bank")
    assert sorted(task.workspace) == ["bank.js", "rates.js"]
    assert (
        [test.id for test in task.visible] == [test.id for test in task.hidden] == ["pays", "less", "later", "each %d"]
    )
    assert bench.grade(task, {**task.workspace, **task.meta["fixed"]}).resolved
    assert not bench.grade(task, task.workspace).resolved
    late = {**task.workspace, "bank.js": BANK.replace("'less'", "'more'").encode()}
    assert bench.grade(task, late).tests == {"pays": "passed", "less": "failed", "later": "passed", "each %d": "passed"}
    forged = BANK + "globalThis.expect = () => ({ toThrow() {} });\n"
    assert not bench.grade(task, {**late, "bank.js": forged.replace("'less'", "'more'").encode()}).resolved
    ends = BANK.replace("this.sum = 0;", "process.exit(0);")
    assert set(bench.grade(task, {**late, "bank.js": ends.encode()}).tests.values()) == {"error"}


def test_files_of_a_reference_go_where_stubs_are() -> None:
    two = exercism._examples(["src/A.java", "src/B.java"], ["ref/A.java", "ref/Token.java", "ref/C.java"])
    assert two == {"src/A.java": "ref/A.java", "src/B.java": "ref/Token.java", "src/C.java": "ref/C.java"}
    assert exercism._examples(["bank.cpp", "bank.h"], ["example.cpp", "example.h"]) == {
        "bank.cpp": "example.cpp",
        "bank.h": "example.h",
    }


@pytest.mark.parametrize(("name", "url"), [("exercism", "exercism/python"), ("aider-polyglot", "polyglot-benchmark")])
def test_missing_data_says_the_command(clone: Path, name: str, url: str) -> None:
    with pytest.raises(MissingData, match=f"git clone .*{url}"):
        benchmarks.load(name).tasks("test")
