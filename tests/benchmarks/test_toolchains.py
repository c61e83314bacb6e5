"""Other languages: the right solution resolves, the buggy one does not, attacks do not, and their honest twins do."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import benchmarks
from benchmarks.base import Grade, Task, reference
from benchmarks.humanevalfix import HumanEvalFix
from benchmarks.toolchains import LANGUAGES, ToolMissing, rust, toolchain
from benchmarks.toolchains.base import Refused, Suite
from benchmarks.toolchains.names import declared
from tests.benchmarks.foreign import ATTACKS, CALLED, ROWS, source


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pack")
    for language, short in (("javascript", "js"), *((name, name) for name in ("java", "go", "cpp", "rust"))):
        (place / f"humanevalpack_{short}.jsonl").write_text(json.dumps(ROWS[language]) + "\n")
    return place


@functools.cache
def prepared(folder: Path, language: str) -> tuple[HumanEvalFix, Task]:
    bench = benchmarks.load("humanevalfix", path=folder, language=language)
    assert isinstance(bench, HumanEvalFix)
    return bench, bench.task(ROWS[language]["task_id"])


def made(folder: Path, language: str) -> tuple[HumanEvalFix, Task]:
    try:
        toolchain(language).find("program")
        return prepared(folder, language)
    except ToolMissing as error:
        if language in os.environ.get("CODEGYM_TEST_TOOLS", "").split():  # so CI cannot lose its tools unnoticed
            raise
        pytest.skip(str(error))


def graded(folder: Path, language: str, files: dict[str, bytes]) -> Grade:
    bench, task = made(folder, language)
    grade = bench.grade(task, {**task.workspace, **files})
    assert grade.infra_error is None
    return grade


@pytest.mark.parametrize("language", LANGUAGES)
def test_right_and_buggy(folder: Path, language: str) -> None:
    _, task = made(folder, language)
    right = reference(task)
    assert right is not None
    assert graded(folder, language, dict(right)).resolved, graded(folder, language, dict(right))
    wrong = graded(folder, language, {})
    assert wrong.tests == {"tests": "failed"}
    assert wrong.details["tests"]
    assert [test.id for test in task.visible] == (["examples"] if "(" in ROWS[language]["example_test"] else [])
    assert "solution" in next(iter(task.workspace)).lower()
    broken = graded(folder, language, dict.fromkeys(right, b"this is no program {"))
    assert broken.tests == {"tests": "error"}


@pytest.mark.parametrize(("language", "name"), [(language, name) for language in ATTACKS for name in ATTACKS[language]])
def test_attacks(folder: Path, language: str, name: str) -> None:
    _, task = made(folder, language)
    (file,) = task.workspace
    call = CALLED.get((language, name), "")
    attack = source(language, ATTACKS[language][name][0], "buggy_solution", call=call)
    assert not graded(folder, language, {file: attack}).resolved


@pytest.mark.parametrize("language", LANGUAGES)
def test_honest_twins_of_the_attacks(folder: Path, language: str) -> None:
    """All of a language's at once: each uses the means of its attack, and the solution is right."""
    _, task = made(folder, language)
    (file,) = task.workspace
    twins = "\n".join(twin for _, twin in ATTACKS[language].values())
    calls = "".join(CALLED.get((language, name), "") for name in ATTACKS[language])
    honest = graded(folder, language, {file: source(language, twins, "canonical_solution", call=calls)})
    assert honest.resolved, honest


LOOPS = {
    "javascript": "for (;;) {}",
    "java": "while (numbers != null) {}",
    "go": "_ = os.Args; sort.Ints(nil); for { }",
    "cpp": "for (;;) {}",
    "rust": "loop {}",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_endless_loop_ends_with_its_cpu_time(folder: Path, language: str) -> None:
    bench, task = made(folder, language)
    (file,) = task.workspace
    suite = replace(task.meta["suite"], run_s=1.0)
    loop = source(language, "", "canonical_solution", call=LOOPS[language])
    grade = bench.grader(suite).grade(suite, task.hidden, {file: loop})
    assert grade.tests == {"tests": "timeout"}, grade
    assert "ran out of time" in grade.details["tests"]


def test_what_an_agent_is_shown(folder: Path) -> None:
    for language in LANGUAGES:
        bench = HumanEvalFix(path=folder, language=language, spec="docs")
        task = bench.make(ROWS[language])
        (text,) = task.workspace.values()
        assert b"largest" in text
        assert task.language == language
        tests = HumanEvalFix(path=folder, language=language, spec="tests").make(ROWS[language])
        (text,) = tests.workspace.values()
        assert b"largest" not in text
        assert ROWS[language]["test"].strip() in tests.prompt


def test_a_missing_tool_names_its_package(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None)
    with pytest.raises(ToolMissing, match="apt-get install golang-go"):
        benchmarks.load("humanevalfix", path=folder, language="go").tasks("test")
    with pytest.raises(ValueError, match="there are: python, javascript"):
        benchmarks.load("humanevalfix", language="cobol")


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("cpp", "#define A 1\nvoid f() {\n#define B(x) x\n}\nint c;", {"A", "B"}),
        ("java", "class A { class B {} }\n enum C { X }", {"A", "C"}),
        (
            "go",
            "package p\nconst (\n a = 1\n b = 2\n)\nvar c, d int\nfunc e() { var f int }\ntype g = int",
            set("abcdeg"),
        ),
        ("rust", "macro_rules! a { () => {} }\nstruct b;\nmod c { fn d() {} }\nimpl b { fn e() {} }", {"a", "b", "c"}),
    ],
)
def test_what_is_declared_at_the_top(language: str, text: str, names: set[str]) -> None:
    assert declared(language, text.encode()) == names


def test_a_header_cannot_redefine_what_tests_say() -> None:
    files = {"test/catch.hpp": b"", "a_test.cpp": b'#include "a.h"\nTEST_CASE("one") { REQUIRE(f() == 1); }'}
    chain = toolchain("cpp")
    assert chain.tests(files) == ["one"]
    timed = b'#if defined(EXERCISM_INCLUDE_BENCHMARK)\nTEST_CASE("speed") {}\n#endif\nTEST_CASE("two") {}\n'
    assert chain.tests({"a_test.cpp": files["a_test.cpp"] + b"\n" + timed}) == ["one", "two"]
    suite = Suite("exercise", "cpp", ("a.cpp", "a.h"), files)
    for macro in ("REQUIRE(x)", "INTERNAL_CATCH_TEST(x)"):
        with pytest.raises(Refused):
            chain.build(suite, {}, (), {**files, "a.h": f"#define {macro}".encode(), "a.cpp": b""})


@pytest.mark.parametrize("online", [True, False])
def test_crates_are_those_the_rows_were_written_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, online: bool
) -> None:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path / "home"))
    debian, programs = tmp_path / "debian", tmp_path / "bin"
    (debian / "rand-0.8.5").mkdir(parents=True)
    programs.mkdir()
    offline = 'case "$*" in *--offline*) exit 0;; esac; echo "error: no network" >&2; exit 101'
    (programs / "cargo").write_text("#!/bin/sh\n" + ("exit 0" if online else offline))
    (programs / "rustc").write_text("#!/bin/sh\necho rustc 1.2.3\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(rust, "_DEBIAN", debian)
    rust._folder.cache_clear()
    try:
        said = toolchain("rust").prepare()
        listed = (tmp_path / "home" / "toolchains" / "rust-1.2.3" / "program" / "Cargo.toml").read_text()
        assert ('rand = "0.4"' in listed, 'rand = "*"' in listed) == (online, not online)
        assert ("without regex, md5" in said, "error: no network" in said) == (not online, not online)
        assert "is ready" in toolchain("rust").prepare()
        (folder := tmp_path / "home" / "toolchains" / "rust-1.2.3" / "exercise" / "target" / "release" / "deps").mkdir(
            parents=True
        )
        (folder / "libnum_bigint-0a.rlib").touch()
        assert rust._linked("exercise", [b"extern crate num_bigint;"])[1].startswith("num_bigint=")
        assert rust._linked("exercise", [b"fn number() {}"]) == []
    finally:
        rust._folder.cache_clear()
