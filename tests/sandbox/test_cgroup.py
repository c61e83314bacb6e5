"""Control groups of version 2: on a folder that looks like one, and on a machine's own, whatever controllers it has."""

from __future__ import annotations

import errno
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import Limits, SandboxUnavailable, open_sandbox
from sandbox.namespaces import cgroup
from sandbox.namespaces.cgroup import Cgroup
from sandbox.probe import GUARANTEES, probe

NOT_LIMITS = ("cgroup.procs", "memory.events")


def write_text(self: Path, text: str, _plain=Path.write_text) -> int:
    """As the kernel: a process is in one group, and a group with a process in it gives no controllers to others."""
    if self.name == "cgroup.subtree_control" and self.with_name("cgroup.procs").read_text():
        raise OSError(errno.EBUSY, "Device or resource busy", str(self))
    if self.name == "cgroup.procs":
        before = self.parents[1] / "cgroup.procs"
        _plain(before, "".join(pid for pid in before.read_text().splitlines(keepends=True) if pid.strip() != text))
        text = self.read_text() + text + "\n"
    return _plain(self, text)


@pytest.fixture
def version_2(tmp_path, monkeypatch):
    """A delegated group; the kernel's files appear in a new one below it."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "mine").mkdir()
    for name, text in (("cgroup.subtree_control", "memory pids\n"), ("cgroup.procs", "")):
        (tmp_path / "mine" / name).write_text(text)
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path)
    monkeypatch.setattr(cgroup, "_own_groups", lambda: {"": "/mine"})
    make = Path.mkdir

    def mkdir(self: Path, exist_ok: bool = False) -> None:
        make(self, exist_ok=exist_ok)
        for name, text in (("cgroup.procs", ""), ("memory.swap.max", ""), ("memory.events", "low 0\noom_kill 3\n")):
            (self / name).write_bytes(text.encode())

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "write_text", write_text)
    return tmp_path / "mine"


def values(group: Cgroup) -> dict[str, str]:
    return {path.name: path.read_text() for path in group.folders["memory"].iterdir() if path.name not in NOT_LIMITS}


def test_limits_are_written(version_2):
    group = Cgroup.create(Limits(memory_bytes=16 << 20, pids=7))
    assert group.version == 2
    assert values(group) == {"memory.max": "16777216", "memory.swap.max": "0", "pids.max": "7"}
    assert (version_2 / "cgroup.subtree_control").read_text() == "memory pids\n"
    shared = Cgroup.create(Limits(memory_bytes=16 << 20, pids=7, cpus=0.25))
    assert values(shared)["cpu.max"] == "25000 100000"
    assert (version_2 / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    assert shared.oom_kills() == 3
    for fd in (*group.joining, *shared.joining, group._events, shared._events):
        os.close(fd)


@pytest.fixture
def crowded(version_2):
    """No controllers for groups below yet, and two processes in it."""
    (version_2 / "cgroup.subtree_control").write_text("")
    with (version_2 / "cgroup.procs").open("w") as file:
        file.write("41\n42\n")
    return version_2


def processes(group: Path) -> list[str]:
    return (group / "cgroup.procs").read_text().split()


@pytest.mark.parametrize("user", [1000, 0])
def test_the_processes_of_a_delegated_group_go_into_one_below(crowded, monkeypatch, user):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(cgroup, "_delegated", lambda group: group == crowded)
    assert cgroup._parents() == (2, {"memory": crowded, "pids": crowded})
    assert (crowded / "cgroup.subtree_control").read_text() == "+memory +pids"
    assert (processes(crowded), processes(crowded / "codegym")) == ([], ["41", "42"])
    monkeypatch.setattr(cgroup, "_own_groups", lambda: {"": "/mine/codegym"})  # where this process is by now
    assert cgroup._parents() == (2, {"memory": crowded, "pids": crowded})


def test_root_leaves_a_group_alone_that_is_not_its_own_to_arrange(crowded, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    top = crowded.parent
    for name in ("cgroup.subtree_control", "cgroup.procs"):
        (top / name).touch()
    assert cgroup._parents() == (2, {"memory": top, "pids": top})
    assert processes(crowded) == ["41", "42"]
    assert not (crowded / "codegym").exists()


def test_processes_that_keep_coming_are_given_up(crowded, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(Path, "write_text", functools.partialmethod(write_text, _plain=lambda *_: 0))
    with pytest.raises(OSError, match="busy"):
        cgroup._parents()


def test_groups_of_killed_processes_are_pruned(version_2):
    """Where groups are made, and at the top, where root may have made them; not those of the living, or in use."""
    dead = subprocess.Popen(["true"])
    dead.wait()
    for name in (f"codegym-{dead.pid}-0", f"codegym-{os.getpid()}-0", f"codegym-{dead.pid}-1", "codegym"):
        for parent in (version_2, version_2.parent):
            os.mkdir(parent / name)
            if name.endswith("-1"):
                os.mkdir(parent / name / "in use")
    assert cgroup.prune() == [str(parent / f"codegym-{dead.pid}-0") for parent in (version_2.parent, version_2)]
    assert cgroup.prune() == []


def test_the_command_prunes_without_docker():
    dead = subprocess.Popen(["true"])
    dead.wait()
    try:
        left = sorted(cgroup._parents()[1].values())[0] / f"codegym-{dead.pid}-0"
        left.mkdir()
    except OSError:
        left = None  # an ordinary user, who has no groups
    result = subprocess.run(
        [sys.executable, "-m", "sandbox", "prune"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | {"DOCKER_HOST": "unix:///nowhere"},
    )
    assert result.returncode == 0
    assert result.stderr.startswith("no containers were looked for: ")
    assert "no Docker daemon answers at unix:///nowhere" in result.stderr or "codegym[docker]" in result.stderr
    assert (f"removed control group {left}" if left else "nothing to remove") in result.stdout.splitlines()
    assert not left or not left.exists()


@functools.cache
def spare() -> tuple[Path, str] | None:
    """A hierarchy of version 2 of this machine that root may write to, and a controller that it has."""
    rows = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in [Path(row[1]) for row in rows if row[2] == "cgroup2" and "rw" in row[3].split(",")]:
        if os.geteuid() == 0 and (names := (place / "cgroup.controllers").read_text().split()):
            return place, names[0]
    return None


# In the group "/GROUP": finds where groups can be made, and says so, with where it is itself then.
_INSIDE = """
import json, os, sys
from pathlib import Path
from sandbox.namespaces import cgroup
place, name, own, user = sys.argv[1:]
cgroup._ROOT = Path(place)
(Path(place) / own / "cgroup.procs").write_text("0")
if os.fork() == 0:
    os.read(0, 1)  # another process of the group, till the end of stdin
    os._exit(0)
os.setresuid(int(user), int(user), int(user))
found = [str(cgroup._parents([name])[1][name]) for _ in range(2)]
left = (Path(found[0]) / "cgroup.procs").read_text().split()
print(json.dumps([found, cgroup._own_groups()[""], len(left)]), flush=True)
os.read(0, 1)
"""


@pytest.fixture
def real(monkeypatch):
    """(hierarchy, its controller, a new group of it for a process to be in)."""
    found = spare()
    if found is None:
        pytest.skip("this machine has no hierarchy of version 2 with a controller that is root's to give")
    place, name = found
    granted = place / "cgroup.subtree_control"
    before = granted.read_text().split()
    granted.write_text(f"+{name}")
    group = place / f"test-{os.getpid()}"
    group.mkdir()
    yield place, name, group
    for folder in (group / "codegym", group):
        Cgroup(2, {name: folder}).remove()
    assert not group.exists()
    if name not in before:
        granted.write_text(f"-{name}")


@pytest.mark.parametrize("who", ["user", "root", "root in a delegated group"])
def test_on_a_real_hierarchy(real, who):
    place, name, group = real
    user = 65534 if who == "user" else 0
    if user:
        for path in (group, group / "cgroup.procs", group / "cgroup.subtree_control"):
            os.chown(path, user, user)
    if "delegated" in who:
        os.setxattr(group, "trusted.delegate", b"1")
    command = [sys.executable, "-S", "-c", _INSIDE, str(place), name, group.name, str(user)]
    pipe, project = subprocess.PIPE, Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=project) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
    found, own, left = json.loads(said)
    if who == "root":
        assert (found, own) == ([str(place)] * 2, f"/{group.name}")
    else:
        assert (found, own, left) == ([str(group)] * 2, f"/{group.name}/codegym", 0)


def test_no_group_no_share_of_the_cpu(version_2, monkeypatch):
    def refuse(limits: Limits) -> Cgroup:
        raise PermissionError(13, "Permission denied", str(version_2))

    monkeypatch.setattr(Cgroup, "create", refuse)
    with pytest.raises(SandboxUnavailable, match=r"Limits\.cpus=2 needs a control group .* delegated"):
        open_sandbox("namespaces", Limits(cpus=2))
    with open_sandbox("namespaces") as box:
        assert box.cgroup_version == 0


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.environ.get("CODEGYM_TEST_CGROUP"),
    reason="there may be no control groups for us here",
)
def test_what_needs_a_group_holds():
    """Asked for by .ci/run: where groups are broken the sandbox works all the same, with less."""
    holds = {g.name: g.holds for g in probe("namespaces")}
    assert holds == dict.fromkeys(GUARANTEES, True)
