"""Rows D of the table of inputs that broke public tools: file names, line ends, kinds of files, hard texts."""

import subprocess
import tracemalloc

import gymnasium
import pytest

from codegym.diff import Diff, apply, diff_files, reading, unified
from codegym.diff.script import edit_script
from codegym.spans import reply_bytes
from tests.pace import at_most

CHANGED = {
    "D1-names": (
        {"café.py": b"x = 1\n", "sp ace.py": b"x = 1\n", "t\tab": b"x\n", 'q"uote': b"x\n"},
        {"café.py": b"x = 2\n", "sp ace.py": b"x = 2\n", "t\tab": b"y\n", 'q"uote': b"y\n"},
    ),
    "D2-line-ends": (
        {"a.py": b"x = 1\x0c\ny = '\x1c\xc2\x85\xe2\x80\xa8'\nz\rz = 2\n"},
        {"a.py": b"x = 1\x0c\ny = '\x1c\xc2\x85\xe2\x80\xa8!'\nz\rz = 2\n"},
    ),
    "D3-rename": ({"a.py": b"x = 1\n"}, {"b.py": b"x = 1\n"}),
    "D3-new-and-empty": ({"k": b"1\n"}, {"k": b"1\n", "d/empty": b"", "d/new.py": b"x\n"}),
    "D3-deleted": ({"a.py": b"x = 1\n", "k": b"1\n"}, {"k": b"1\n"}),
    "D3-binary": ({"a": b"\0\1\2" * 50}, {"a": b"\0\1\3" * 50}),
    "D5-half-written": ({"a.py": b"def f():\n    return 1\n"}, {"a.py": b"def f(:\n    retur\n"}),
    "D5-tabs": ({"a.py": b"if x:\n\ty = 1\n"}, {"a.py": b"if x:\n        y = 1\n\tz = 2\n"}),
}


@pytest.mark.parametrize("row", CHANGED)
def test_the_patch_and_the_script_give_the_new_files(row, tmp_path):
    old, new = CHANGED[row]
    diff = diff_files(old, new)
    assert apply(diff, old) == new
    assert Diff.from_dict(diff.to_dict()) == diff
    paths = {file.path for file in diff.files} | {file.old_path for file in diff.files} - {None}
    assert paths == {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    for file in diff.files:
        before, after = old.get(file.old_path or "", b""), new.get(file.path, b"")
        assert edit_script(before, after, file.path).replay(before) == after
        assert file.parsed or file.note
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for path, data in old.items():
        (tmp_path / path).write_bytes(data)
    apply_patch = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(apply_patch, cwd=tmp_path, input=reply_bytes(unified(diff, old)), check=True)
    there = [path for path in tmp_path.rglob("*") if path.is_file() and ".git" not in path.relative_to(tmp_path).parts]
    assert {str(path.relative_to(tmp_path)): path.read_bytes() for path in there} == new


def test_d5_half_written_code_says_so():
    (file,) = diff_files(*CHANGED["D5-half-written"]).files
    assert not file.parsed
    assert file.note == "a syntax error in the new file at line 1, compared by lines there"
    assert {change.node for change in file.changes} == {"line"}


DEEP = b"x = " + b"(" * 5_000 + b"1" + b")" * 5_000 + b"\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"x = 1\n" * 10_000, b"x = 1\n" * 9_999 + b"y = 1\n"),
        (b"s = '" + b"x" * 1_000_000 + b"'\n", b"s = '" + b"y" * 1_000_000 + b"'\n"),
        (DEEP, DEEP.replace(b"1", b"2")),
    ],
    ids=["equal-lines", "one-line", "deep"],
)
def test_d5_hard_texts_take_bounded_time_and_memory(old, new):
    with at_most(140):
        (file,) = diff_files({"a.py": old}, {"a.py": new}).files
    assert apply(Diff((file,)), {"a.py": old}) == {"a.py": new}
    reading.forget()
    tracemalloc.start()
    diff_files({"a.py": old}, {"a.py": new})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20


GIT = "git -c user.name=a -c user.email=a@b.c"
CLEAN_SLATE = "rm -rf .git; git init -q .; git add -A"


def test_d4_the_diff_is_against_the_task_whatever_becomes_of_git(tmp_path):
    """Commits, resets and rewritten history; D3's ignored and untracked files, modes and links beside them."""
    env = gymnasium.make("codegym/Repair-v0", level="tiny", n_bugs=1, feedback="exec", max_turns=20)
    _, info = env.reset(seed=0)
    base = dict(env.unwrapped.files)
    (path,) = base
    turns = [  # command, files that the turn changed, files that differ from the task's since
        (f"{CLEAN_SLATE}; {GIT} commit -qm base; echo '*.log' > .gitignore", {".gitignore"}, {".gitignore"}),
        (f"echo 'x = 1' >> {path}; {GIT} commit -qam work", {path}, {".gitignore", path}),
        ("echo 1 > a.log; : > empty; chmod +x empty; ln -s empty link", {"a.log", "empty"}, None),
        (
            f"{GIT} add -A; {GIT} commit -q --amend -m other; {GIT} checkout -q --orphan o; {GIT} commit -qm o",
            set(),
            None,
        ),
        ("git rm -qrf . ; git status > /dev/null", {".gitignore", path, "empty"}, {path, "a.log"}),
        (f"{CLEAN_SLATE}; {GIT} commit -qm all; {GIT} branch -D master main; git gc -q --prune=now", set(), None),
    ]
    expected: set[str] = set()
    for command, changed, since in turns:
        before = dict(env.unwrapped.files)
        *_, info = env.step(f"<shell>{command}</shell>")
        files = env.unwrapped.files
        assert {file.path for file in info["diff"].files} == changed, command
        assert all(not hunk.source and not hunk.place for file in info["diff"].files for hunk in file.hunks)
        assert apply(info["diff"], before) == files
        expected = expected | changed if since is None else since
        assert {p for p in files.keys() | base.keys() if files.get(p) != base.get(p)} == expected
        folder = tmp_path / str(info["turn"])
        folder.mkdir()
        for name, data in base.items():
            (folder / name).write_bytes(data)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        if info["patch"]:
            subprocess.run(["git", "apply", "-"], cwd=folder, input=reply_bytes(info["patch"]), check=True)
        there = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
        assert there == files
    env.close()
