"""Data that are not what they should be: one line says where, what is wrong, and what to do; never zero tasks."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks.data import MissingField, read_rows
from benchmarks.swebench.rows import load_rows
from benchmarks.toolchains import ToolMissing, golang, rust, toolchain

FILES = ("humaneval", "humaneval-plus", "humanevalfix", "mbpp", "mbpp-plus", "classeval", "bigcodebench", "apps")
FILES += ("code-contests", "livecodebench", "stdio")
FOLDERS = ("exercism", "aider-polyglot", "quixbugs", "classeval", "humanevalfix")
FOLDERS += ("apps", "code-contests", "livecodebench")
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def f(x):\n    '''x.'''\n",
    "canonical_solution": "    return x\n",
    "test": "def check(c):\n    assert c(1) == 1\n",
    "entry_point": "f",
}
STDIO = {"id": "a", "statement": "Print it.", "cases": [["1\n", "1\n"]]}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path / "home"))


def tasks(name: str, **options: Any) -> Any:
    return benchmarks.load(name, **options).tasks("test")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("file", "content", "error"),
    [
        ("a.jsonl", b"", "a.jsonl has no rows: get it again"),
        ("a.jsonl", b'{"a": \n', "a.jsonl, line 1 is no JSON"),
        ("a.jsonl", b"[1]", "a.jsonl, line 1: a row is a JSON object"),
        ("a.json", b'{"a": 1}', "a.json, row 1: a row is a JSON object"),
        ("a.json", b"[1, ", "a.json is no JSON"),
        ("a.json", b"3", "a.json holds no list of rows"),
        ("a.jsonl", b'{"a": "\xe9"}', "a.jsonl cannot be read after 0 rows"),
        ("a.jsonl.gz", b"no", "a.jsonl.gz cannot be read after 0 rows"),
        ("a.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 99, mtime=0)[:-9], "a.jsonl.gz"),
        ("a.txt", b"", "ends in .jsonl, .jsonl.gz, .json or .parquet"),
        ("a.jsonl", b'{"zzz": 1}\n', "a.jsonl, line 1 has no "),
    ],
)
def test_a_file_that_is_no_data_set(tmp_path: Path, name: str, file: str, content: bytes, error: str) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises((ValueError, MissingField)) as caught:
        tasks(name, path=tmp_path / file)
    assert error in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [*FILES, "exercism", "aider-polyglot", "quixbugs"])
def test_a_path_that_is_not_there_and_a_folder_of_something_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=r"give path="):
        tasks(name, path=tmp_path / "none")
    (tmp_path / "other").mkdir()
    with pytest.raises((FileNotFoundError, ValueError)) as caught:
        tasks(name, path=tmp_path / "other")
    if name in FOLDERS:
        assert re.search("the data of .* is not at .*: run `.*give path=", str(caught.value))
    else:
        assert "is a folder: give a file that ends in .jsonl" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "row", "error"),
    [
        (
            "humaneval",
            {**HUMANEVAL, "test": "def ("},
            "line 2 cannot be read as one of humaneval: SyntaxError",
        ),
        ("humaneval", {**HUMANEVAL, "prompt": 3}, "line 2 cannot be read as one of humaneval: TypeError"),
        ("humaneval", {**HUMANEVAL, "canonical_solution": None}, "line 2 cannot be read"),
        ("stdio", {**STDIO, "cases": [[1, 2]]}, r"line 2 .* both text"),
        ("stdio", {**STDIO, "cases": [["1"]]}, "line 2 cannot be read"),
        ("stdio", {**STDIO, "statement": 3}, "line 2 cannot be read"),
        ("stdio", {**STDIO, "time_limit": "long"}, "line 2 cannot be read"),
        ("stdio", {"statement": "x", "cases": [["1", "1"]]}, "line 2 has no 'id', which rows of stdio have"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path: Path, name: str, row: dict[str, Any], error: str) -> None:
    good = {**HUMANEVAL, "task_id": "HumanEval/1"} if name == "humaneval" else STDIO
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (good, row)))
    with pytest.raises((ValueError, MissingField), match=error):
        tasks(name, path=path)


def test_two_rows_of_one_id_and_rows_of_another_language(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(2 * (json.dumps(STDIO) + "\n"))
    with pytest.raises(ValueError, match=r"line 2 .*a is there twice"):
        tasks("stdio", path=path)
    path.write_text(json.dumps({**HUMANEVAL, "task_id": "CPP/0"}) + "\n")
    with pytest.raises(ValueError, match="CPP/0 is not in python: give language="):
        tasks("humanevalfix", path=path)


def test_no_task_in_a_split_is_an_error_but_another_split_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "mbpp.jsonl"
    row = {"task_id": 11, "text": "Write f.", "code": "def f(): return 1", "test_list": ["assert f() == 1"]}
    path.write_text(json.dumps(row) + "\n")
    bench = benchmarks.load("mbpp", path=path)
    with pytest.raises(ValueError, match=r"no task of split 'train' in path='.*mbpp.jsonl'"):
        bench.tasks("train")
    assert bench.task("mbpp/11").id == "mbpp/11"
    (tmp_path / "apps").mkdir()
    case = {"inputs": ["1\n"], "outputs": ["1\n"]}
    apps = {"id": 7, "question": "Print it.", "solutions": "", "input_output": json.dumps(case), "starter_code": ""}
    (tmp_path / "apps" / "test.jsonl").write_text(json.dumps(apps) + "\n")
    assert benchmarks.load("apps", path=tmp_path / "apps").task("apps/7").id == "apps/7"


def test_missing_fields_of_a_row_read_like_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"x": {"a": 1}, "y": {"b": 2}}')
    first, second = read_rows(tmp_path / "a.json")
    assert (first["a"], second.get("a")) == (1, None)
    with pytest.raises(KeyError) as caught:
        second["a"]
    assert str(caught.value).endswith("a.json, row 2 has no 'a'")


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("mbpp", {"pth": "x"}, "mbpp has no option 'pth'; there are: subset, path"),
        ("mbpp", {"workers": "two"}, "workers='two': needs a whole number"),
        ("stdio", {"tolerance": -1}, "tolerance=-1: needs a number, 0 or more"),
        ("stdio", {"tolerance": "a"}, "tolerance='a'"),
        ("livecodebench", {"since": "soon"}, "since='soon': write a date"),
        ("livecodebench", {"until": 2025}, "until=2025: write a date"),
        ("bigcodebench", {"python": "/tmp"}, "is no program: give the path of an interpreter"),
    ],
)
def test_options_that_cannot_be_are_named(name: str, options: dict[str, Any], error: str) -> None:
    with pytest.raises((ValueError, TypeError), match=error):
        benchmarks.load(name, **options)


@pytest.mark.parametrize("language", ["go", "cpp", "java", "rust", "javascript"])
def test_a_tool_chain_that_is_not_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match=rf"{language} needs its tools: apt-get install \w+"):
        toolchain(language).find()


@pytest.mark.parametrize(("language", "tool"), [("go", "go"), ("rust", "rustc")])
def test_a_tool_that_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str, tool: str) -> None:
    for name in (tool, "cargo"):
        (tmp_path / name).write_text("#!/bin/sh\necho no such luck >&2\nexit 3\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for kept in (golang._prepared, rust._sysroot, rust._folder):
        kept.cache_clear()
    with pytest.raises(ToolMissing, match="does not run here: no such luck"):
        toolchain(language).place()


def test_swebench_rows_of_which_none_can_be_judged(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"instance_id": "a__b-1", "repo": "a/b"}\n')
    with pytest.raises(ValueError, match=r"no row of .*rows.jsonl can be judged; of a__b-1: .*lists no test"):
        load_rows(path, "test")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_rows(tmp_path / "none.jsonl", "test")
