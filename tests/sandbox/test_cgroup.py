"""Control groups of version 2, on a folder that looks like one: a machine of version 1 has no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox import Limits, SandboxUnavailable, open_sandbox
from sandbox.namespaces import cgroup
from sandbox.namespaces.cgroup import Cgroup

NOT_LIMITS = ("cgroup.procs", "memory.events")


@pytest.fixture
def version_2(tmp_path, monkeypatch):
    """A delegated group; the kernel's files appear in a new one below it."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "cgroup.subtree_control").write_text("memory pids\n")
    monkeypatch.setattr(cgroup, "_ROOT", tmp_path)
    monkeypatch.setattr(cgroup, "_own_groups", lambda: {"": "/mine"})
    make = Path.mkdir

    def mkdir(self: Path) -> None:
        make(self)
        for name, text in (("cgroup.procs", ""), ("memory.swap.max", ""), ("memory.events", "low 0\noom_kill 3\n")):
            (self / name).write_text(text)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    return tmp_path / "mine"


def values(group: Cgroup) -> dict[str, str]:
    return {path.name: path.read_text() for path in group.folders["memory"].iterdir() if path.name not in NOT_LIMITS}


def test_limits_are_written(version_2):
    group = Cgroup.create(Limits(memory_bytes=1 << 20, pids=7))
    assert group.version == 2
    assert values(group) == {"memory.max": "1048576", "memory.swap.max": "0", "pids.max": "7"}
    assert (version_2 / "cgroup.subtree_control").read_text() == "memory pids\n"
    shared = Cgroup.create(Limits(memory_bytes=1 << 20, pids=7, cpus=0.25))
    assert values(shared)["cpu.max"] == "25000 100000"
    assert (version_2 / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    assert shared.oom_kills() == 3
    for fd in (*group.joining, *shared.joining, group._events, shared._events):
        os.close(fd)


def test_no_group_no_share_of_the_cpu(version_2, monkeypatch):
    def refuse(limits: Limits) -> Cgroup:
        raise PermissionError(13, "Permission denied", str(version_2))

    monkeypatch.setattr(Cgroup, "create", refuse)
    with pytest.raises(SandboxUnavailable, match=r"Limits\.cpus=2 needs a control group .* delegated"):
        open_sandbox("namespaces", Limits(cpus=2))
    with open_sandbox("namespaces") as box:
        assert box.cgroup_version == 0
