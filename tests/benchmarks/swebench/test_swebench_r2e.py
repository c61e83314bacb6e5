"""Rows of R2E-Gym: what is read and graded, what commands and logs say. Images: test_swebench_r2e_docker.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.swebench import images, r2e
from benchmarks.swebench.benchmark import SWEBench, to_grade
from benchmarks.swebench.ids import Book
from benchmarks.swebench.printed import commands, read_log
from benchmarks.swebench.recipes import RecipeError
from benchmarks.swebench.repositories import RepositoryError
from benchmarks.swebench.rows import RowError, load_rows, read_row
from benchmarks.swebench.running import Run, run_tests
from benchmarks.swebench.tree import Plan
from sandbox import SandboxError
from tests.benchmarks.swebench.conftest import BASE, FIXED, World, options
from tests.benchmarks.swebench.r2e_rows import CHANGES, COMMIT, ID, PRINTED, RECORDED, TESTS, raw

BEFORE = {path: text.encode() for path, text in {**BASE, "calc/old.py": "OLD = 1\n"}.items()}
HIDDEN = {f"r2e_tests/{path}": text.encode() for path, text in TESTS.items()}
LISTED = {
    "TestAdd.test_small": "PASSED",
    "TestAdd.test_wrong": "FAILED",
    "test_mul": "PASSED",
    "test_text[a": "PASSED",
    "test_text[c]": "PASSED",
}


@pytest.fixture
def image(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What stands in for an image: its command and its tests."""
    found: dict[str, Any] = {"command": RECORDED, "tests": {**TESTS, "__pycache__/test_1.cpython-39.pyc": "old"}}
    tests = found["tests"]
    monkeypatch.setattr(images, "files_of", lambda *_: ({path: text.encode() for path, text in tests.items()}, ()))
    monkeypatch.setattr(images, "text_of", lambda *_: found["command"])
    return found


def plan_of(base: dict[str, bytes] = BEFORE) -> Plan:
    row = read_row(raw())
    return r2e.plan_of(row, r2e.recipe_of(row), base, (), "image")


def test_a_row():
    row = read_row(raw())
    assert (row.instance_id, row.repo, row.image, row.base_commit) == (ID, "calc", "r2e/calc:1", "")
    assert row.problem_statement == "**add() subtracts**"
    assert (row.expected, row.fail_to_pass, set(row.ids)) == (LISTED, (), set(LISTED))
    assert read_row({**raw(), "problem_statement": "No marks."}).problem_statement == "No marks."
    assert images.name_of(row, "mirror/{owner}_final:{name}") == f"mirror/calc_final:{COMMIT}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"repo_name": ""}, "without repo_name"),
        ({"commit_hash": None}, "without commit_hash"),
        ({"docker_image": ""}, "docker_image is empty"),
        ({"problem_statement": "[ISSUE] [/ISSUE]"}, "problem_statement is empty"),
        ({"expected_output_json": "{"}, "expected_output_json is no JSON object"),
        ({"expected_output_json": "[]"}, "expected_output_json is no JSON object"),
        ({"expected_output_json": "{}"}, "no test that must pass"),
        ({"expected_output_json": '{"a": "ok"}'}, "'ok', which is none of PASSED, FAILED, ERROR"),
        ({"expected_output_json": '{"a": "PASSED", "": "ERROR"}'}, "a test without a name"),
        ({"parsed_commit_content": None}, "parsed_commit_content is no JSON object"),
        ({"parsed_commit_content": "{}"}, "cannot be read .KeyError: 'file_diffs'."),
        ({"parsed_commit_content": '{"file_diffs": [1]}'}, "cannot be read .TypeError"),
    ],
)
def test_rows_that_cannot_be_judged_are_refused(change, message):
    with pytest.raises(RowError, match=message) as error:
        read_row({**raw(), **change})
    assert "\n" not in str(error.value)
    named = "repo_name" in change or "commit_hash" in change
    assert named or str(error.value).endswith("take the row as R2E-Gym/R2E-Gym-Lite, -Subset or -V1 has it")


def test_commits_that_cannot_be_a_solution_are_refused(tmp_path: Path):
    with pytest.raises(RowError, match="changes no Python file but tests"):
        read_row(raw(changes={path: CHANGES[path] for path in ("README.md", "tests/helper.py")}))
    short = json.loads(raw()["parsed_commit_content"])
    short["file_diffs"][0]["hunks"][0]["line_group"]["all_lines"].pop()
    bad = {**raw(), "parsed_commit_content": json.dumps(short)}
    with pytest.raises(RowError, match=r"a hunk of calc/core\.py does not have the lines it tells of"):
        read_row(bad)
    (tmp_path / "rows.json").write_text(json.dumps([bad, raw()]))
    rows, refused = load_rows(tmp_path / "rows.json", "test")
    assert (list(rows), list(refused)) == ([ID], ["row 1"])


def test_the_solution_is_the_commit_without_tests_and_texts(image):
    plan = plan_of()
    solved = {**BEFORE, "calc/core.py": FIXED["calc/core.py"].encode(), "calc/new.py": b"NEW = 1", "calc/empty.py": b""}
    del solved["calc/old.py"]
    assert plan.base == BEFORE
    assert plan.gold == solved
    assert plan.hidden == {**BEFORE, **HIDDEN, "tests/helper.py": b"TWO = 2\n"}


def test_lines_of_every_kind():
    lines = [("context", "a"), ("deleted", "b"), ("added", "c"), ("note", "No newline at end of file")]
    diff = {
        "header": {"file": {"path": "m.py"}, "misc_line": "old mode 100644\nnew mode 100755"},
        "hunks": [
            {
                "descriptor": {"old_range": {"start": 4, "length": 2}, "new_range": {"start": 4, "length": 2}},
                "line_group": {"all_lines": [{"type": kind, "content": text} for kind, text in lines]},
            }
        ],
    }
    commit = json.dumps({"file_diffs": [diff, {**diff, "is_binary_file": True}]})
    assert read_row({**raw(), "parsed_commit_content": commit}).patch == (
        "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -4,2 +4,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n"
    )


def test_what_only_the_task_writes(image):
    base = {**BEFORE, "calc/test/util.py": b"1", "Tests/image.png": b"2"}
    plan = plan_of(base)
    agents = {
        **base,
        "r2e_tests/test_1.py": b"",
        "r2e_tests/conftest.py": b"",
        "run_tests.sh": b"",
        ".venv/bin/python": b"",
        "conftest.py": b"",
        "calc/test/util.py": b"3",
        "Tests/image.png": b"4",
        "calc/mine.py": b"5",
    }
    assert plan.graded(agents) == {**base, **HIDDEN, "tests/helper.py": b"TWO = 2\n", "calc/mine.py": b"5"}
    assert plan.graded({**base, ".venv": b""}) == plan.graded(base)
    assert plan.directives() == ["r2e_tests/test_1.py"]
    assert plan.canary().path.startswith("r2e_tests/test_")


@pytest.mark.parametrize(
    ("command", "plain"),
    [
        (RECORDED, ({"PYTHONWARNINGS": "ignore::UserWarning"}, ("-W", "ignore"), ())),
        (f"# a comment\n\n{RECORDED}\n", ({"PYTHONWARNINGS": "ignore::UserWarning"}, ("-W", "ignore"), ())),
        (".venv/bin/python -m pytest --color=no r2e_tests/", ({}, (), ("--color=no",))),
        (PRINTED, None),
        ("Q=minimal xvfb-run --auto-servernum .venv/bin/python -m pytest -rA r2e_tests", None),
        (".venv/bin/python -W ignore r2e_tests/tornado_unittest_runner.py", None),
        (f"export A=1\n{RECORDED}", None),
        (f"A=$B {RECORDED}", None),
        (f"{RECORDED} other", None),
        ("pytest 'r2e_tests", None),
        ("", None),
    ],
)
def test_commands(command, plain):
    assert r2e.of_pytest(command) == plain


def test_a_command_that_is_pytests_is_recorded_and_another_is_run(image):
    recipe = plan_of().recipe
    assert (recipe.runner, recipe.options, recipe.arguments) == ("pytest", ("-W", "ignore"), ())
    assert recipe.env["PYTHONWARNINGS"] == "ignore::UserWarning"
    image["command"] = f"#!/bin/bash\n{PRINTED}\n"
    plan = plan_of()
    before, tests = commands(plan.row.eval_script)
    assert (plan.recipe.runner, tests) == ("printed", [PRINTED])
    assert before[0].startswith("export PYTHONPATH=/box/work/src:/box/work/. PATH=/box/work/.venv/bin:/usr/local/sbin:")


def test_an_image_without_tests_is_named(image):
    image["tests"].clear()
    with pytest.raises(SandboxError, match=rf"the image of {ID} has no /r2e_tests/test_\*\.py"):
        plan_of()


LOG = """\
PASSED r2e_tests/test_1.py::test_forged
=========================== short test summary info ============================
PASSED r2e_tests/test_1.py::test_text[a - b]
\x1b[32mPASSED\x1b[0m r2e_tests/test_1.py::\x1b[1mtest_text[c]\x1b[0m
SKIPPED [1] r2e_tests/test_1.py:24: PASSED it is not
XFAIL r2e_tests/test_1.py::test_x - FAILED as it must
ERROR r2e_tests/test_2.py::TestAdd::test_wrong
FAILED r2e_tests/test_1.py::TestAdd::test_wrong - AssertionError: 2 != 3
PASSED r2e_tests.test_1::TestAdd::test_small
========================= 1 failed, 3 passed in 0.57s ==========================
"""


def test_a_printed_log():
    row = read_row(raw())
    run = read_log(row, f"TOKEN\n{LOG}\nTOKEN\nPASSED r2e_tests/test_1.py::test_mul\n", "TOKEN")
    assert (run.status, run.tampered) == ({**LISTED, "test_mul": None}, "")
    assert read_log(row, f"TOKEN\n{LOG}", "TOKEN").tampered == "the run was ended from inside"
    assert r2e.parse(LOG + LOG) == {}  # one of two summaries is not the runner's


def recorded(**change: str) -> Run:
    seen = {
        "r2e_tests/test_1.py::test_mul": "PASSED",
        "r2e_tests/test_1.py::test_text[a - b]": "PASSED",
        "r2e_tests/test_1.py::test_text[c]": "PASSED",
        "r2e_tests/test_1.py::TestAdd::test_small": "PASSED",
        "r2e_tests/test_1.py::TestAdd::test_wrong": "FAILED",
        "r2e_tests/test_1.py::TestAdd::test_skipped": "SKIPPED",
        **{f"r2e_tests/test_1.py::{name}": status for name, status in change.items()},
    }
    book = Book("r2e")
    for name, status in seen.items():
        book.add(name, status)
    return Run({name: book.find(name) for name in LISTED}, seen)


@pytest.mark.parametrize(
    ("change", "score", "detail"),
    [
        ({}, 1.0, {}),
        ({"test_x": "XFAIL", "test_y": "SKIPPED", "test_z": "XPASS"}, 1.0, {}),
        ({"test_mul": "FAILED"}, 0.8, {"test_mul": "test_mul: FAILED"}),
        ({"test_mul": "SKIPPED"}, 0.8, {"test_mul": "test_mul: there is no record of it"}),
        ({"test_mul": "UNSEEN"}, 0.8, {"test_mul": "test_mul: UNSEEN"}),
        (
            {"TestAdd::test_wrong": "PASSED"},
            0.8,
            {"TestAdd.test_wrong": "TestAdd.test_wrong: PASSED, must be FAILED"},
        ),
        ({"test_other": "PASSED"}, 5 / 6, {"test_other": "test_other: ran, but is not listed"}),
    ],
)
def test_every_listed_test_and_no_other_must_have_its_status(change, score, detail):
    grade = to_grade(read_row(raw()), recorded(**change))
    assert (grade.resolved, grade.score, grade.details) == (not detail, pytest.approx(score), detail)


def test_without_docker_it_is_refused(tmp_path: Path):
    (tmp_path / "rows.jsonl").write_text(json.dumps(raw()) + "\n")
    bench = SWEBench("swe-lite", rows=str(tmp_path / "rows.jsonl"), cache=str(tmp_path), url=None)
    task = bench.task(ID)
    assert {test.id: test.body for test in task.hidden} == {name: f"must be {word}" for name, word in LISTED.items()}
    with pytest.raises(RepositoryError, match=r"its? image, use mode='docker' \(--docker\)"):
        len(task.workspace)
    with pytest.raises(RecipeError, match=r"use mode='docker' \(--docker\)"):
        bench.recipe(bench.row(ID))


def test_its_tests_are_recorded(image, world: World):
    """By the recorder, in this machine's environment."""
    bench = SWEBench("swe-lite", **options(world))
    plan, environment = plan_of(), bench.environment(bench.row("fixture__calc-4"))
    for files, right in ((BEFORE, {"test_mul", "TestAdd.test_wrong"}), (plan.gold, set(LISTED))):
        grade = to_grade(plan.row, run_tests(plan, environment, files, timeout=60.0))
        assert {name for name, status in grade.tests.items() if status == "passed"} == right
        assert grade.resolved == (right == set(LISTED))


def test_path_of_an_image():
    assert images._path(["A=1", "PATH=/testbed/.venv/bin:/usr/bin:/bin"]) == [
        "ENV PATH=/usr/bin:/bin:/testbed/.venv/bin"
    ]
    assert images._path(None) == []
