"""Where a task's commands run: variables, modes, a history of one commit."""

from __future__ import annotations

import contextlib

from benchmarks.base import Place, Task
from codegym import feedback
from codegym.actions.base import Text, Write
from codegym.workspace import EpisodeFiles

FILES = {"run.sh": b"#!/bin/sh\necho $WORD\n", "a.txt": b"old\n"}


def _task(place: Place, files: dict[str, bytes] = FILES) -> Task:
    return Task("t", "b", "Do it.", "python", files, (), (), place=lambda: place)


def test_variables_and_modes():
    place = Place(env={"WORD": "hello"}, executable=("run.sh", "not-there"))
    with contextlib.closing(EpisodeFiles(_task(place))) as files:
        assert files.shell("./run.sh").stdout == b"hello\n"
        assert files.now == FILES


def test_history_is_one_commit_of_the_tasks_files():
    with contextlib.closing(EpisodeFiles(_task(Place(git=True)))) as files:
        files.edit([Write("a.txt", Text(b"new\n"))])
        result = files.shell("git log --all --oneline | wc -l; git status --short; git reflog | wc -l")
        assert result.stdout.split() == [b"1", b"M", b"a.txt", b"1"]
        first = files.shell("git rev-parse HEAD").stdout
        assert set(files.now) == set(FILES)
        files.close()
        assert files.shell("git rev-parse HEAD").stdout == first  # it comes back with the files
    with contextlib.closing(EpisodeFiles(_task(Place(git=True)))) as files:
        assert files.shell("git rev-parse HEAD").stdout == first  # the same files make the same commit


def test_many_files_are_not_listed():
    many = {f"src/f{number}.py": b"" for number in range(feedback.LISTED_FILES + 1)}
    text = feedback.first_observation(_task(Place(), many | {"README.md": b"hi"}))
    assert text.splitlines() == [
        "Do it.",
        f'<folder path="src"/> ({feedback.LISTED_FILES + 1} files)',
        '<file path="README.md"/> (2 bytes)',
    ]
