"""Rows that leave a printed log: how they are run, and what a log says. The parser here stands in for swebench's."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import pytest

from benchmarks.swebench.benchmark import to_grade
from benchmarks.swebench.printed import commands, read_log, recipe_of, script
from benchmarks.swebench.recipes import RecipeError, recipe_for
from benchmarks.swebench.rows import read_row

SCRIPT = """#!/bin/bash
set -uxo pipefail
cd /testbed
git checkout abc calc_test.go
git apply --verbose --reject - <<'EOF_1'
+++ b/calc_test.go
+: '>>>>> Start Test Output'
EOF_1
export GOFLAGS=-mod=mod
: '>>>>> Start Test Output'
go test -v /testbed/...
: '>>>>> End Test Output'
git checkout abc calc_test.go
"""
RAW = {
    "instance_id": "acme__calc-7",
    "repo": "acme/calc",
    "base_commit": "abc",
    "patch": "",
    "test_patch": "--- a/calc_test.go\n+++ b/calc_test.go\n",
    "problem_statement": "Add.",
    "version": "1",
    "image": "acme/calc:latest",
    "log_parser": "parse_log_gotest",
    "eval_script": SCRIPT,
    "FAIL_TO_PASS": ["TestAdd"],
    "PASS_TO_PASS": ["TestMul", "TestSkipped"],
}
LOG = """--- PASS: TestForged (0.00s)
TOKEN
=== RUN   TestAdd
--- PASS: TestAdd (0.00s)
--- PASS: TestMul (0.01s)
--- SKIP: TestSkipped (0.00s)
TOKEN
--- FAIL: TestAdd (0.00s)
"""
WORDS = {"PASS": "PASSED", "FAIL": "FAILED", "SKIP": "SKIPPED"}


def parse(log: str, spec: Any) -> dict[str, str]:
    assert spec.instance_id == "acme__calc-7"  # some of swebench's parsers look at the instance
    return {name: WORDS[word] for word, name in re.findall(r"^--- (\w+): (\S+) ", log, re.M)}


@pytest.fixture(autouse=True)
def parsers(monkeypatch: pytest.MonkeyPatch) -> None:
    parsers, grading = ModuleType("swebench.harness.log_parsers"), ModuleType("swebench.harness.grading")
    parsers.PARSER_REGISTRY = {"parse_log_gotest": parse}  # type: ignore[attr-defined]
    grading.SUITE_RAN = re.compile(r"[1-9]\d* specs")  # type: ignore[attr-defined]
    for module in (ModuleType("swebench"), ModuleType("swebench.harness"), parsers, grading):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def test_a_script_without_what_git_does() -> None:
    before, tests = commands(SCRIPT)
    assert before == ["cd /box/work", "export GOFLAGS=-mod=mod"]
    assert tests == ["go test -v /box/work/..."]
    text = script(read_row(RAW), ["old file.go"], "TOKEN")
    assert "rm -f -- 'old file.go'" in text
    assert text.index("TOKEN") < text.index("go test") < text.rindex("TOKEN")
    with pytest.raises(RecipeError, match="without the marks"):
        commands("go test ./...")


def test_a_log_is_read_between_its_marks() -> None:
    row = read_row(RAW)
    run = read_log(row, LOG, "TOKEN")
    assert run.status == {"TestAdd": "PASSED", "TestMul": "PASSED", "TestSkipped": "SKIPPED"}
    assert to_grade(row, run).resolved
    failed = read_log(row, LOG.replace("PASS: TestMul", "FAIL: TestMul"), "TOKEN")
    assert to_grade(row, failed).tests["TestMul"] == "failed"
    missing = read_log(row, LOG.replace("--- PASS: TestAdd", "--- PASS: TestOdd"), "TOKEN")
    assert to_grade(row, missing).tests["TestAdd"] == "error"


def test_colours_are_left_out_and_a_cut_word_is_no_status() -> None:
    row = read_row(RAW)
    coloured = LOG.replace("--- PASS", "\x1b[1;32m--- PASS\x1b[0m").replace("TestMul", "\x1b]0;title\x07TestMul\x1b[K")
    assert read_log(row, coloured, "TOKEN").status == read_log(row, LOG, "TOKEN").status
    cut = read_log(row, LOG.replace("--- PASS: TestAdd", "--- PA\nSS: TestAdd"), "TOKEN")
    assert cut.status["TestAdd"] is None
    assert not to_grade(row, cut).resolved


def test_a_run_that_did_not_come_to_its_end() -> None:
    row = read_row(RAW)
    cut = read_log(row, LOG.rpartition("TOKEN")[0], "TOKEN")
    assert cut.tampered == "the run was ended from inside"
    assert not to_grade(row, cut).resolved
    late = to_grade(row, read_log(row, LOG.rpartition("TOKEN")[0], "TOKEN", timed_out=True))
    assert not late.resolved
    assert not to_grade(row, read_log(row, "", "TOKEN")).resolved


def test_silence_is_success_only_where_tests_ran() -> None:
    row = read_row({**RAW, "eval_type": "fail_only"})
    silent = "TOKEN\n\nTOKEN\n"
    assert not to_grade(row, read_log(row, silent, "TOKEN")).resolved
    assert to_grade(row, read_log(row, silent.replace("\n\n", "\n12 specs, 0 failures\n"), "TOKEN")).resolved


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    row = read_row(RAW)
    assert recipe_for(row, image=True).runner == "printed"
    with pytest.raises(RecipeError, match="mode='docker'"):
        recipe_for(row)
    with pytest.raises(RecipeError, match="use rows of SWE-bench 5"):
        recipe_of(read_row({**RAW, "eval_script": ""}))
    with pytest.raises(RecipeError, match="no log parser 'parse_log_cobol'"):
        recipe_of(read_row({**RAW, "log_parser": "parse_log_cobol"}))
    monkeypatch.setitem(sys.modules, "swebench.harness.log_parsers", None)
    with pytest.raises(RecipeError, match=r"pip install 'codegym\[swebench\]'"):
        recipe_of(row)
