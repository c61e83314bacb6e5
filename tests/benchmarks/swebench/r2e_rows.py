"""Rows of R2E-Gym's form about a small repository: a fix of ``add`` that comes with its tests, a file and an issue."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.benchmarks.swebench.conftest import BASE, FIXED

COMMIT = "5" * 40
ID = f"calc__{COMMIT}"
TESTS = {
    "__init__.py": "",
    "test_1.py": """\
import unittest

import pytest

from calc import add, mul
from tests.helper import TWO


def test_mul():
    assert mul(2, 3) == 6


@pytest.mark.parametrize("text", ["a - b", "c"])
def test_text(text):
    assert add(TWO, 2) == 4, text


class TestAdd(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, TWO), 3)

    def test_wrong(self):
        self.assertEqual(mul(1, TWO), 3)

    @unittest.skip("never")
    def test_skipped(self):
        pass
""",
}
EXPECTED = {
    "test_mul": "PASSED",
    "\x1b[1mtest_text[a - b]\x1b[0m": "PASSED",
    "test_text[c]": "PASSED",
    "TestAdd.test_small": "PASSED",
    "TestAdd.test_wrong - AssertionError: 2 != 3": "FAILED",
}
RECORDED = "PYTHONWARNINGS='ignore::UserWarning' .venv/bin/python -W ignore -m pytest -rA r2e_tests"
PRINTED = f"env {RECORDED}"
#: path -> its text before the commit and after it, None where it is not there
CHANGES: dict[str, tuple[str | None, str | None]] = {
    "calc/core.py": (BASE["calc/core.py"], FIXED["calc/core.py"]),
    "calc/empty.py": (None, ""),
    "calc/new.py": (None, "NEW = 1"),
    "calc/old.py": ("OLD = 1\n", None),
    "README.md": (BASE["README.md"], "calc adds\n"),
    "tests/helper.py": (None, "TWO = 2\n"),
}


def file_diff(path: str, old: str | None, new: str | None) -> dict[str, Any]:
    """One file of a parsed commit, every line of it changed."""
    lines = []
    for text, kind in ((old or "", "deleted"), (new or "", "added")):
        lines += [{"content": line, "type": kind} for line in text.splitlines()]
        if text and not text.endswith("\n"):
            lines.append({"content": "No newline at end of file", "type": "note"})
    count = [len((text or "").splitlines()) for text in (old, new)]
    ranges = [{"start": int(number > 0), "length": None if number == 1 else number} for number in count]
    hunk = {
        "descriptor": {"old_range": ranges[0], "new_range": ranges[1], "section": ""},
        "line_group": {"all_lines": lines},
    }
    mode = "new file mode 100644" if old is None else "deleted file mode 100644" if new is None else None
    return {
        "old_file_content": old or "",
        "new_file_content": new or "",
        "header": {"file": {"path": path}, "misc_line": mode},
        "is_binary_file": False,
        "hunks": [hunk] if lines else [],
    }


def raw(image: str = "r2e/calc:1", changes: Mapping[str, tuple[str | None, str | None]] = CHANGES) -> dict[str, Any]:
    """The row."""
    diffs = [file_diff(path, *texts) for path, texts in changes.items()]
    # as their parser leaves it: the text of a commit ends with an empty line
    diffs[-1]["hunks"][-1]["line_group"]["all_lines"].append({"content": "", "type": "context"})
    commit = {"file_diffs": diffs, "old_commit_hash": "4" * 40, "new_commit_hash": COMMIT, "commit_message": "Add."}
    return {
        "repo_name": "calc",
        "docker_image": image,
        "commit_hash": COMMIT,
        "parsed_commit_content": json.dumps(commit),
        "expected_output_json": json.dumps(EXPECTED),
        "problem_statement": "Write an issue.\n[ISSUE]\n**add() subtracts**\n[/ISSUE]",
        "modified_files": list(changes),
    }
