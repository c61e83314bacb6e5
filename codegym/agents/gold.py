"""An agent that knows the answer: it proves that a benchmark's tasks can be solved through the environment.

It reads the reference solution, ``task.meta["fixed"]``, which no honest agent sees; whoever uses it must hand it
the benchmark, e.g. ``env.unwrapped.benchmark``.
"""

from __future__ import annotations

import base64
import posixpath
import re
import shlex
from collections.abc import Mapping
from typing import Any, Literal

from benchmarks.base import Benchmark, Task, Workspace
from codegym.actions import base


class GoldAgent:
    """Writes the fixed files in its first reply and submits in the next. Keeps no state."""

    def __init__(self, benchmark: Benchmark, *, action_format: str = "xml") -> None:
        self._benchmark = benchmark
        self._format = base.get(action_format)

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        if info["turn"] > 0:
            return self._format.render(base.Action("submit"))
        task = self._benchmark.task(info["task_id"])
        return base.say(self._format, *_ways(task.workspace, fixed_files(task)))


def _ways(old: Workspace, changes: Mapping[str, bytes | None]) -> list[base.Action]:
    """The actions that make these changes, for formats that can say one thing or another."""
    files = {path: data for path, data in sorted(changes.items()) if data is not None and old.get(path) != data}
    gone = [path for path, data in sorted(changes.items()) if data is None]
    deleted = [base.Delete(path, None) for path in gone]
    written = [base.Write(path, base.Text(data)) for path, data in files.items()]
    replaced = [
        base.Replace(path, base.Text(old[path]), base.Text(data))
        if old.get(path)
        else base.Write(path, base.Text(data), new=True)
        for path, data in files.items()
    ]
    patched = [
        base.Patch(path, (base.Hunk((*_lines(old[path], "-"), *_lines(data, "+"))),))
        if old.get(path)
        else base.Write(path, base.Text(data), new=True)
        for path, data in files.items()
    ]
    # The last resort of a format without edits. base64, because a heredoc cannot hold every file.
    commands = [
        f"mkdir -p {shlex.quote(posixpath.dirname(path) or '.')}\n"
        f"base64 -d > {shlex.quote(path)} <<'END'\n{base64.encodebytes(data).decode()}END"
        for path, data in files.items()
    ]
    commands += [f"rm -f -- {shlex.quote(path)}" for path in gone]
    edits = [base.Action("edit", (*edits, *deleted)) for edits in (written, replaced, patched)]
    return [*edits, base.Action("shell", command="\n".join(commands))]


def _lines(data: bytes, mark: Literal["-", "+"]) -> list[tuple[Literal["-", "+"], base.Text]]:
    return [(mark, base.Text(line)) for line in re.findall(rb"[^\n]*\n|[^\n]+", data)]


def fixed_files(task: Task) -> dict[str, bytes | None]:
    """The changes of the reference solution: path -> bytes, None for a file that is removed.

    Raises ValueError for a task that comes without one.
    """
    fixed = task.meta.get("fixed")
    if isinstance(fixed, Mapping):
        return dict(fixed)
    raise ValueError(f"task {task.id!r} has no reference solution: its meta holds no 'fixed' files")
