"""Rows of both generations and of other data sets, ids as they are stored, verdicts by swebench's rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.swebench import recipes
from benchmarks.swebench.benchmark import SWEBench
from benchmarks.swebench.ids import Book, judge, plain
from benchmarks.swebench.images import name_of
from benchmarks.swebench.recipes import RecipeError, recipe_for
from benchmarks.swebench.repositories import Repositories, RepositoryError
from benchmarks.swebench.rows import RowError, load_rows, read_row
from benchmarks.swebench.tree import Plan, RowPatchError, kept_back
from tests.benchmarks.swebench.conftest import World

ROW = {
    "instance_id": "a__b-1",
    "repo": "a/b",
    "base_commit": "c" * 40,
    "patch": "p",
    "test_patch": "t",
    "problem_statement": "It fails.",
    "version": "1.0",
    "FAIL_TO_PASS": '["t.py::a", "[100%]"]',
    "PASS_TO_PASS": '["t.py::b"]',
}


def test_lists_and_texts_of_lists_are_read_alike():
    text = read_row(ROW)
    assert read_row({**ROW, "FAIL_TO_PASS": ["t.py::a"], "PASS_TO_PASS": ["t.py::b"]}) == text
    assert (text.fail_to_pass, text.pass_to_pass, text.generation) == (("t.py::a",), ("t.py::b",), 4)
    assert read_row({**ROW, "eval_script": "#!/bin/bash", "image": "i", "eval_type": "fail_only"}).generation == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"FAIL_TO_PASS": "[]"}, "nothing could be judged"),
        ({"FAIL_TO_PASS": '["[100%]"]'}, "nothing could be judged"),
        ({"FAIL_TO_PASS": "a, b"}, "no JSON list"),
        ({"PASS_TO_PASS": '["t.py::a"]'}, "twice"),
        ({"eval_type": "any"}, "pass_and_fail, fail_only"),
        ({"instance_id": "", "repo": ""}, "no instance_id"),
        ({"repo": None}, "a__b-1 names no repo"),
        ({"FAIL_TO_PASS": 7}, "FAIL_TO_PASS is no list"),
        ({"install_config": "{"}, "install_config is no JSON object"),
    ],
)
def test_rows_that_cannot_be_judged_are_refused(change, message):
    with pytest.raises(RowError, match=message):
        read_row({**ROW, **change})


def test_other_data_sets():
    smith = read_row({**{k: v for k, v in ROW.items() if k not in ("base_commit", "test_patch")}, "image_name": "i"})
    assert (smith.reversed_patch, smith.image) == (True, "i")
    rebench = read_row({**ROW, "install_config": '{"python": "3.9", "log_parser": "parse_log_pytest"}'})
    assert (rebench.install["python"], rebench.log_parser) == ("3.9", "parse_log_pytest")


def test_names_of_images():
    plain = read_row(ROW)
    assert name_of(plain) == "swebench/sweb.eval.x86_64.a_1776_b-1:latest"
    assert name_of(plain, "xingyaoww/sweb.eval.x86_64.{owner}_s_{name}") == "xingyaoww/sweb.eval.x86_64.a_s_b-1"
    own = read_row({**ROW, "image": "x/y:z"})
    assert (name_of(own), name_of(own, "me/{instance_id}")) == ("x/y:z", "me/a__b-1")
    with pytest.raises(ValueError, match=r"may hold \{instance_id\}, \{owner\} and \{name\}"):
        name_of(plain, "me/{id}")
    with pytest.raises(ValueError, match="mode='docker' only"):
        SWEBench("swe-lite", rows="rows.jsonl", image="me/{instance_id}")


SMITH = {
    "instance_id": "a__b.1.func__2",
    "repo": "swesmith/a__b.1",
    "image_name": "i",
    "patch": "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
    "FAIL_TO_PASS": ["tests/test_m.py::test_x", "m.py::m.x"],
    "PASS_TO_PASS": ["tests/test_n.py::test_y"],
    "problem_statement": "x is 2.",
}
TESTED = {"tests/test_m.py": b"1", "tests/test_n.py": b"2"}


@pytest.mark.parametrize("found", [b"x = 1\n", b"x = 2\n"], ids=["healthy", "with the bug"])
def test_a_patch_that_makes_the_bug(found):
    row = read_row(SMITH)
    files = {"m.py": found, "__pycache__/m.cpython-311.pyc": b"", "__pycache__/n.cpython-311.pyc": b"", **TESTED}
    plan = Plan(row, recipe_for(row, image=True), files)
    kept = {"__pycache__/n.cpython-311.pyc": b"", "tests/test_n.py": b"2"}
    assert plan.base == {"m.py": b"x = 2\n", **kept}
    assert plan.gold == {"m.py": b"x = 1\n", **kept}
    assert plan.graded(plan.base) == {"m.py": b"x = 2\n", **kept, **TESTED}
    assert plan.directives() == ["tests/test_m.py", "m.py", "tests/test_n.py"]
    assert kept_back(row) == ("m.py", "tests/test_m.py")
    with pytest.raises(RowPatchError, match="a patch of its own does not apply"):
        Plan(row, plan.recipe, {"m.py": b"y = 3\n"})
    with pytest.raises(RepositoryError, match="mode='docker'"):
        Repositories(None, "/nowhere", None).find(row.repo, row.base_commit)


def test_files_of_every_kind(world: World, tmp_path):
    rows, refused = load_rows(world.rows, "test")
    assert (len(rows), list(refused)) == (3, ["fixture__calc-none"])
    raw = [json.loads(line) for line in world.rows.read_text().splitlines()]
    for name, value in (("list.json", raw), ("object.json", {row["instance_id"]: row for row in raw})):
        (tmp_path / name).write_text(json.dumps(value))
        assert load_rows(tmp_path / name, "test") == (rows, refused)
    parquet = pytest.importorskip("pyarrow.parquet", reason="parquet is read with pyarrow")
    arrow = pytest.importorskip("pyarrow")
    parquet.write_table(arrow.Table.from_pylist(raw[:1]), tmp_path / "rows.parquet")
    assert load_rows(tmp_path / "rows.parquet", "test")[0] == {raw[0]["instance_id"]: rows[raw[0]["instance_id"]]}


def test_what_cannot_be_loaded_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match=r"\.jsonl or \.parquet file, or a data set OWNER/NAME"):
        load_rows(tmp_path, "test")
    (tmp_path / "twice.jsonl").write_text(2 * (json.dumps(ROW) + "\n"))
    with pytest.raises(ValueError, match="twice"):
        load_rows(tmp_path / "twice.jsonl", "test")


def test_pytest_ids_that_were_cut():
    book = Book("pytest")
    for name, status in {
        "t.py::x[a 'str' b]": "PASSED",
        "t.py::y[c - d]": "PASSED",
        "t.py::y[c - e]": "FAILED",
        "t.py::z[/a/b.py]": "PASSED",
        "t.py::w[[1] 2]": "PASSED",
        "t.py::v[a]": "FAILED",
        "t.py::v[ab]": "PASSED",
    }.items():
        book.add(name, status)
    assert book.find("t.py::x[a 'str' b]") == "PASSED"
    assert book.find("t.py::x[a") == "PASSED"
    assert book.find("t.py::y[c") is None  # its candidates do not agree
    assert book.find("t.py::z[/b.py]") == "PASSED"
    assert book.find("t.py::w[[1]") == "PASSED"
    assert book.find("t.py::v[a]") == "FAILED"  # exact before prefix
    assert book.find("t.py::x") is None  # a whole id is never a prefix


def test_django_ids():
    book = Book("unittest")
    book.add("test_a (m.C.test_a)", "PASSED")
    book.add("test_b (m.C)", "FAILED", doc="What b does.")
    assert book.find("test_a (m.C)") == book.find("test_a (m.C.test_a)") == "PASSED"
    assert book.find("test_b (m.C.test_b)") == book.find("What b does.") == "FAILED"
    assert plain("test_x (mod.test_xx)") == "test_x (mod.test_xx)"


def test_one_failing_test_of_a_name_that_several_have_counts():
    book = Book("bare")
    book.add("a/test_a.py::test_same", "FAILED")
    book.add("b/test_b.py::test_same", "PASSED")
    book.add("b/test_b.py::test_skipped", "SKIPPED")
    assert (book.find("test_same"), book.find("test_skipped")) == ("FAILED", "SKIPPED")


@pytest.mark.parametrize(
    ("status", "to_pass", "to_keep", "fail_only"),
    [
        ("PASSED", True, True, True),
        ("XFAIL", True, True, True),
        ("SKIPPED", False, True, True),
        ("FAILED", False, False, False),
        ("ERROR", False, False, True),
        ("XPASS", False, False, True),
        (None, False, False, True),
    ],
)
def test_what_a_status_means(status, to_pass, to_keep, fail_only):
    lists = judge(["f"], ["p"], {"f": status, "p": status}, "pass_and_fail")
    assert (lists.fail_to_pass["f"], lists.pass_to_pass["p"]) == (to_pass, to_keep)
    assert lists.resolved == (to_pass and to_keep)
    assert judge(["f"], ["p"], {"f": status, "p": status}, "fail_only").resolved == fail_only


@given(st.text(min_size=1), st.text(min_size=1))
def test_an_exact_id_finds_its_own_record(name, other):
    book = Book("pytest")
    book.add(name, "FAILED")
    if other != name:
        book.add(other, "PASSED")
    assert book.find(name) == "FAILED"


def test_recipes_and_what_has_none(world: World):
    row = read_row({**ROW, "repo": "django/django", "version": "4.2"})
    django = recipe_for(row)
    assert (django.runner, django.names, django.python[0]) == ("django", "unittest", "3.9")
    assert "4.2" in django.versions
    flask = recipe_for(read_row({**ROW, "repo": "pallets/flask", "version": "2.3"}))
    assert "src/Flask-2.3.dist-info/METADATA" in flask.files
    with pytest.raises(RecipeError, match=r"no environment for version '9\.9'"):
        recipe_for(read_row({**ROW, "repo": "pallets/flask", "version": "9.9"}))
    with pytest.raises(RecipeError, match=r"give recipes=FOLDER with a__b\.json"):
        recipe_for(read_row(ROW))
    assert recipe_for(read_row(ROW), image=True).runner == "pytest"
    log = read_row({**ROW, "log_parser": "parse_log_gotest"})
    with pytest.raises(RecipeError, match="leave only a printed log"):
        recipe_for(log)
    install = {"python": "3.9", "pip_packages": ["attrs"], "test_cmd": "pytest -rA"}
    rebench = recipe_for(read_row({**ROW, "install_config": install, "requirements": "# x\nsix==1.16.0\n"}))
    assert rebench.packages == ("six==1.16.0", "attrs", "pytest")
    for path in sorted(Path(recipes.__file__).with_name("recipes").glob("*.json")):
        assert {each.repo.replace("/", "__") for each in recipes._read(path)} == {path.stem}
