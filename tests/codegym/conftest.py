"""A benchmark of two tasks and a sandbox without isolation: fast, and all their code is our own."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

import benchmarks.base as registry
import codegym
import sandbox
from benchmarks.base import Benchmark, Grade, Task, Test
from sandbox.base import ExecResult, Limits, Sandbox, Shell

ADD = Task(
    id="toy/add",
    benchmark="toy",
    prompt="Make add right.",
    language="python",
    workspace={"a.py": b"def add(a, b):\n    return a - b\n", "keep.py": b"LOCKED = 1\n"},
    visible=(Test("v0", "add(2, 3) == 5"), Test("v1", "add(0, 0) == 0")),
    hidden=(Test("h0", "add(1, 1) == 2"), Test("h1", "add(-1, 4) == 3")),
    protected=("keep.py",),
)
TWICE = Task(
    id="toy/twice",
    benchmark="toy",
    prompt="Make twice right.",
    language="python",
    workspace={"a.py": b"def twice(a):\n    return a\n"},
    visible=(Test("v0", "twice(2) == 4"),),
    hidden=(Test("h0", "twice(3) == 6"),),
)
FIX_ADD = '<edit path="a.py"><search>a - b</search><replace>a + b</replace></edit>'
FIX_TWICE = '<edit path="a.py"><search>return a</search><replace>return a * 2</replace></edit>'


class Toy(Benchmark):
    """Tests are expressions. ``broken`` names the verdict (check or grade) for which the machine fails."""

    name = "toy"

    def __init__(self, *, broken: str = "") -> None:
        self.broken = broken
        self.calls: list[str] = []
        self.closed = 0

    def tasks(self, split):
        if split not in ("train", "test"):
            raise ValueError(f"split={split!r} is unknown; there are: train, test")
        return (ADD, TWICE)

    def task(self, task_id):
        for task in (ADD, TWICE):
            if task.id == task_id:
                return task
        raise KeyError(f"no task {task_id!r}; ids look like toy/add")

    def check(self, task, workspace):
        return self._run("check", task.visible, workspace)

    def grade(self, task, workspace):
        return self._run("grade", task.hidden, workspace)

    def close(self):
        self.closed += 1

    def _run(self, kind, tests, workspace):
        self.calls.append(kind)
        if self.broken == kind:
            return Grade(False, 0.0, {}, infra_error="the image is missing")
        names: dict = {}
        verdicts, details = {}, {}
        try:
            exec(workspace["a.py"].decode(), names)
        except Exception as error:
            names["error"] = error
        for test in tests:
            try:
                right = eval(test.body, names)
            except Exception:
                right = False
            verdicts[test.id] = "passed" if right else "failed"
            if not right:
                details[test.id] = f"{test.body} is false"
        score = sum(v == "passed" for v in verdicts.values()) / len(tests)
        return Grade(score == 1, score, verdicts, details)


class LocalShell(Shell):
    """Runs each command in a bash of its own."""

    def __init__(self, box):
        self.box = box

    def run(self, command, *, timeout=None):
        return self.box.run(["bash", "-c", command])

    def close(self):
        pass


class LocalBox(Sandbox):
    """Runs in a temporary folder."""

    opened: list = []

    def __init__(self, limits=None):
        self.limits = limits or Limits()
        self.folder = tempfile.TemporaryDirectory()
        self.closed = False
        LocalBox.opened.append(self)

    def run(self, argv, *, stdin=b"", timeout=None, cwd=".", env=None):
        done = subprocess.run(argv, input=stdin, capture_output=True, cwd=Path(self.folder.name, cwd))
        return ExecResult(done.returncode, done.stdout, done.stderr, False, False, False, 0.0, 0.0)

    def write(self, files):
        for path, data in files.items():
            target = Path(self.folder.name, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    def read(self, path):
        return Path(self.folder.name, path).read_bytes()

    def export(self):
        root = Path(self.folder.name)
        return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}

    def shell(self):
        return LocalShell(self)

    def close(self):
        self.closed = True
        self.folder.cleanup()


@pytest.fixture(scope="session", autouse=True)
def _toy_environment():
    registry.register("toy")(Toy)
    codegym.register_environment("toy/Toy-v0", benchmark="toy")


@pytest.fixture
def local_box(monkeypatch):
    """Commands run in a :class:`LocalBox`; gives the boxes opened."""
    monkeypatch.setattr(sandbox, "open_sandbox", LocalBox, raising=False)
    LocalBox.opened = []
    return LocalBox.opened


@pytest.fixture
def toy():
    return Toy()


@pytest.fixture
def fixes():
    """Replies that solve the tasks."""
    return {"toy/add": FIX_ADD, "toy/twice": FIX_TWICE}
