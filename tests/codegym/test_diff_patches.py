"""Unified patches: what git says to them, and that they say what the diff does."""

import random
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.diff import Diff, diff_files, unified
from tests.codegym.patching import patched


def git(where: Path, *argv: str, patch: str = "") -> None:
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *argv],
        cwd=where, input=patch.encode("utf-8", "surrogateescape"), capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def write(where: Path, files: dict[str, bytes]) -> None:
    for path, data in files.items():
        (where / path).parent.mkdir(parents=True, exist_ok=True)
        (where / path).write_bytes(data)


def read(where: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(where)): path.read_bytes()
        for path in where.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(where).parts
    }


MANY = b"".join(b"line %d\n" % k for k in range(40))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"café.py": b"x\n", "sp ace.py": b"x\n", 't\tab"q\\.py': b"x\n", "n\newline": b"x\n"},
         {"café.py": b"y\n", "sp ace.py": b"y\n", 't\tab"q\\.py': b"y\n", "n\newline": b"y\n"}),
        ({"sp ace": b"gone\n"}, {"new one": b"", "d/e f": b"come\n"}),
        ({"a": b"x\ny"}, {"a": b"x\nz"}),
        ({"a": b"x\ny"}, {"a": b"x\ny\n"}),
        ({"a": b"x\ny\n"}, {"a": b"x\ny"}),
        ({"a": b"x\ny"}, {"a": b"x\ny\nz"}),
        ({"a": b""}, {"a": b"x"}),
        ({"a": b"x"}, {"a": b""}),
        ({"a": b"x\n", "e": b""}, {"b": b"x\n"}),
        ({"a": b"x\0y" * 100, "c": b"text\n"}, {"a": b"x\0z" * 90, "b": b"\0", "c": b"\0text\n"}),
        ({"a": b"x\0"}, {"b": b"x\0"}),
        ({"a": b"a\r\nb\rc\x0c\n\xff\x85\n"}, {"a": b"a\r\nb\rd\x0c\n\xff\x86\n"}),
        ({"a": MANY}, {"a": MANY.replace(b"line 3\n", b"").replace(b"line 9\n", b"9\n10\n")[:-1]}),
        ({"a": MANY}, {"a": b"top\n" + MANY.replace(b"line 20", b"line xx") + b"end\n"}),
    ],
)  # fmt: skip
def test_git_takes_our_patch(tmp_path, old, new):
    git(tmp_path, "init", "-q")
    write(tmp_path, old)
    patch = unified(diff_files(old, new), old)
    git(tmp_path, "apply", "--whitespace=nowarn", "-", patch=patch)
    assert read(tmp_path) == new


@settings(deadline=None)
@given(st.lists(st.sampled_from([b"a\n", b"b\n", b"a", b"\r\n"])).map(b"".join), st.integers(0, 10**6))
def test_patches_of_edits_count_their_lines(old, seed):
    rng = random.Random(seed)
    lines = old.split(b"\n")
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(lines))
        lines[at : at + rng.randint(0, 2)] = [b"c", b"a"][: rng.randint(0, 2)]
    new = b"\n".join(lines)
    patch = unified(diff_files({"a": old}, {"a": new}), {"a": old}).encode()
    assert patched(old, patch) == new


def test_binary_files_are_declared():
    diff = diff_files({"a": b"\0"}, {"a": b"\0\0"})
    assert diff.files[0].note == "binary"
    assert "GIT binary patch" in unified(diff, {"a": b"\0"})


def test_a_patch_needs_no_syntax():
    old, new = {"a.py": b"def f():\n    return 1\n\n\nx = f()\n"}, {"a.py": b"def f():\n    yield 1\n\n\nx = f(2)\n"}
    full, bare = (diff_files(old, new, syntax=syntax).files[0] for syntax in (True, False))
    assert [(hunk.old, hunk.new, hunk.text) for hunk in bare.hunks] == [(h.old, h.new, h.text) for h in full.hunks]
    assert (bare.changes, bare.parsed, bare.note) == ((), False, "syntax was not asked for")
    assert unified(Diff((bare,)), old) == unified(Diff((full,)), old)
