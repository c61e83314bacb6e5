"""The bash of an episode: what carries over from one command to the next, and when it ends."""

from __future__ import annotations

import contextlib

import pytest

from benchmarks.base import Place, Task
from codegym.actions.base import Delete, Text, Write
from codegym.workspace import EpisodeFiles, Refused
from sandbox import Limits

FILES = {"src/a.py": b"print('a')\n", "b.txt": b"b\n"}


@pytest.fixture
def files():
    task = Task(
        "t",
        "b",
        "Do it.",
        "python",
        FILES,
        (),
        (),
        limits=Limits(wall_s=2.0),
        place=lambda: Place(env={"WORD": "it's"}),
    )
    with contextlib.closing(EpisodeFiles(task)) as opened:
        yield opened


def said(files: EpisodeFiles, command: str) -> str:
    return files.shell(command).stdout.decode()


def test_folder_variables_and_functions_carry_over(files):
    said(files, "cd src; x=1; export Y=2; f() { echo f $x $Y; }")
    assert said(files, "f; cat a.py; pwd | sed 's:.*/::'") == "f 1 2\nprint('a')\nsrc\n"
    assert said(files, "echo $WORD $PYTHONDONTWRITEBYTECODE") == "it's 1\n"


def test_edits_between_commands_are_seen_and_the_shell_stays(files):
    said(files, "cd src; x=1")
    files.edit([Write("src/a.py", Text(b"print('new')\n")), Delete("b.txt")])
    assert said(files, "cat a.py; ls ..; echo $x") == "print('new')\nsrc\n1\n"
    assert files.now == {"src/a.py": b"print('new')\n"}


def test_exit_and_time_out_keep_what_was_there(files):
    said(files, "cd src; x=1")
    assert files.shell("echo 2 > c.txt; exit 3").exit_code == 3
    assert said(files, "cat c.txt; echo $x") == "2\n1\n"
    assert files.shell("sleep 60").timed_out
    assert said(files, "echo $x; ls") == "1\na.py\nc.txt\n"


def test_a_job_in_the_background_writes_files_of_later_turns(files):
    said(files, "(until [ -e go ]; do sleep 0.02; done; echo late > late.txt) &")
    said(files, "touch go; wait")
    assert files.now["late.txt"] == b"late\n"


def test_too_much_left_drops_the_command_and_the_shell(files):
    said(files, "x=1")
    with pytest.raises(Refused, match="the next gets a new shell"):
        files.shell("mkdir -p $(printf 'd/%.0s' {1..300})")
    assert said(files, "echo [$x]; ls") == "[]\nb.txt\nsrc\n"
    assert files.now == FILES


def test_a_file_in_a_locked_folder_is_removed_all_the_same(files):
    said(files, "x=1; chmod a-w src")
    files.edit([Delete("src/a.py")])
    assert said(files, "echo [$x]; find . -name a.py") in ("[]\n", "[1]\n")  # root may remove it, others get a new one
    assert files.now == {"b.txt": b"b\n"}
