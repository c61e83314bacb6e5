"""A machine without a control group for us: every promise but the memory and the CPU share of the whole tree holds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sandbox import ExecResult, Limits, SandboxError, SandboxUnavailable, open_runner, open_sandbox, opening, probe
from sandbox.namespaces.cgroup import Cgroup

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's sandbox is in a user namespace anyway")


def refuse(*_: object) -> Cgroup:
    raise PermissionError(13, "Permission denied", "/sys/fs/cgroup")


@pytest.fixture(autouse=True)
def no_group(monkeypatch):
    monkeypatch.setattr(Cgroup, "create", refuse)
    monkeypatch.setattr(probe, "probe", probe.probe.__wrapped__)  # what it finds is not to be kept


@pytest.fixture
def jail(no_group, nothing_left):
    with open_sandbox("namespaces", Limits(pids=20)) as opened:
        assert opened.cgroup_version == 0
        yield opened


def test_commands_shells_and_files(jail):
    assert jail.run(["sh", "-c", "echo 1; echo 2 > a; echo 3 > /dev/stdout; cat /dev/stdin"], stdin=b"4").stdout == (
        b"1\n3\n4"
    )
    jail.write({"b": b"5"})
    assert jail.run(["sh", "-c", "cat b && rm b"]).stdout == b"5"
    with jail.snapshot() as taken, jail.fork() as other:
        jail.run(["rm", "a"])
        jail.restore(taken)
        assert jail.export() == other.export() == {"a": b"2\n"}
    with jail.shell() as shell:
        shell.run("x=6; sleep 100 &")
        assert shell.run("echo $x; cat a").stdout == b"6\n2\n"
    assert jail.run(["sleep", "60"], timeout=0.2).timed_out


def test_rights_are_dropped(jail):
    script = "import json, os; print(json.dumps([os.getresuid(), os.getresgid(), os.getgroups()]))"
    uid, gid = jail._box.uid, jail._box.gid
    assert json.loads(jail.run(["python3", "-c", script]).stdout) == [[uid] * 3, [gid] * 3, []]
    status = dict(line.split(":\t", 1) for line in jail.run(["cat", "/proc/self/status"]).stdout.decode().splitlines())
    assert [int(status[s], 16) for s in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")] == [0] * 5
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    for name, number in (("uid", uid), ("gid", gid)):
        assert jail.run(["cat", f"/proc/self/{name}_map"]).stdout.split() == [b"%d" % number] * 2 + [b"1"]
    assert jail.run(["cat", "/proc/self/setgroups"]).stdout == b"deny\n"


def test_jobs():
    with open_runner(Limits(pids=10)) as runner:
        job = runner.run("import a, os; emit(repr([a.f(data), os.getuid()]).encode())", {"a.py": b"f = len"}, b"xyz")
        assert json.loads(job.output) == [3, runner._free.queue[-1]._box.uid]
        bomb = "import os\ntry:\n    while True: os.fork()\nexcept OSError: emit(b'full')"
        assert b"full" in runner.run(bomb).output
        assert runner.run("emit(open('/proc/self/maps').read(1).encode())").output  # its /proc files are its own


def test_fork_bomb(jail):
    jail.run(["sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 300"], timeout=0.5)
    assert len(jail.run(["sh", "-c", "echo /proc/[0-9]*"]).stdout.split()) <= 2  # PID 1 and this one
    count = (
        "import os, signal, sys\nn = 0\n"
        "try:\n    while os.fork(): n += 1\n    signal.pause()\n"
        "except OSError: print(n, flush=True)\n"
        "if len(sys.argv) > 1: signal.pause()"
    )
    with open_sandbox("namespaces", Limits(pids=20)) as other:  # of the same user, but it has room of its own
        full = threading.Thread(target=lambda: found.append(other.run(["python3", "-c", count, "stay"], timeout=0.8)))
        found: list[ExecResult] = []
        full.start()
        found += [jail.run(["python3", "-c", count]) for _ in range(3)]
        full.join()
    assert [f.stdout for f in found] == [b"19\n"] * 4


def test_what_the_probe_finds(monkeypatch):
    found = probe.probe("namespaces")
    assert {g.name for g in found if not g.holds} == {"memory", "cpus"}
    monkeypatch.setattr(probe, "probe", lambda _: found)
    with pytest.raises(SandboxUnavailable, match=r"not guaranteed .* memory .* delegated group"):
        open_sandbox("namespaces", require={"memory"})
    open_sandbox("namespaces", require={"pids", "syscalls", "fs"}).close()


def test_a_sandbox_that_opens_and_runs_nothing_is_no_reason_to_give_up(monkeypatch):
    """The doctor goes on to its next row, and "auto" with ``require`` to the next backend."""

    def fail(*_: object, **__: object) -> None:
        raise SandboxError("the sandbox failed: PermissionError")

    monkeypatch.setattr("sandbox.namespaces.NamespaceSandbox.run", fail)
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    text, works = probe.table()
    assert not works
    assert "namespaces: unavailable\n  the probe did not run: the sandbox failed: PermissionError\ndocker: " in text
    with pytest.raises(
        SandboxUnavailable, match=r"namespaces: the probe did not run: .*; or docker: (no Docker daemon|.*PyPI)"
    ):
        open_sandbox(require={"net"})


def test_auto_takes_docker_as_it_limits_the_whole_tree(docker_works, monkeypatch):
    with open_sandbox() as box:
        assert (box.backend, box.limits_tree) == ("docker", True)
        assert box.run(["echo", "1"]).stdout == b"1\n"
    with open_sandbox(packages=["pytest"]) as box:  # which Docker cannot show
        assert (box.backend, box.limits_tree) == ("namespaces", False)


def test_auto_stays_with_namespaces_where_docker_does_not_open(monkeypatch):
    asked = []

    def fail(*_: object, **__: object) -> None:
        asked.append("opened")
        raise SandboxUnavailable("the container does not start")

    monkeypatch.setattr("sandbox.docker.DockerSandbox", fail)
    with monkeypatch.context() as patch:
        patch.setattr(opening, "_docker_works", lambda _: True)
        with open_sandbox() as box:
            assert (box.backend, asked) == ("namespaces", ["opened"])
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    with open_sandbox() as box:
        assert (box.backend, asked) == ("namespaces", ["opened"])


# Runs "$@" as the root of a user namespace that knows every user of the machine, and may have no other below it.
_FORBIDDING = (
    'echo inside; read -r _; exec sh -c "echo 0 > /proc/sys/user/max_user_namespaces; exec \\"\\$@\\"" sh "$@"'
)


@AS_ROOT
def test_where_a_command_could_not_start_no_sandbox_opens():
    program = (
        "from sandbox import SandboxUnavailable, open_runner, open_sandbox\n"
        "from sandbox.namespaces.cgroup import Cgroup\n"
        "def refuse(limits): raise OSError('none here')\n"
        "Cgroup.create = refuse\n"
        "for opening in lambda: open_sandbox('namespaces'), open_runner:\n"
        "    try:\n"
        "        opening()\n"
        "    except SandboxUnavailable as error:\n"
        "        print('making a user namespace' in str(error), 'user.max_user_namespaces' in str(error))\n"
    )
    command = ["unshare", "--user", "sh", "-c", _FORBIDDING, "sh", sys.executable, "-c", program]
    pipe, root = subprocess.PIPE, Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=root) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == "inside\n"
        for kind in ("uid", "gid"):
            Path(f"/proc/{host.pid}/{kind}_map").write_text("0 0 4294967295")
        assert host.communicate("go\n", timeout=60)[0] == "True True\n" * 2


# Whether a process of this uid and gid, perhaps in a user namespace of its own, may write the memory of another.
_REACH = """
import ctypes, os, sys
uid, gid, pid, apart = map(int, sys.argv[1:])
os.setgroups([])
os.setresgid(gid, gid, gid)
os.setresuid(uid, uid, uid)
assert not apart or ctypes.CDLL(None).unshare(0x10000000) == 0
try:
    os.open(f"/proc/{pid}/mem", os.O_RDWR)
    print("reached")
except PermissionError:
    print("refused")
"""


@AS_ROOT
def test_a_process_is_out_of_reach_of_other_commands(jail):
    """Even where it is dumpable, as each is for the moment in which the kernel asks it: they are in other user
    namespaces. And it is so for that moment only."""
    jail.run(["true"])
    text = Path(f"/proc/self/fdinfo/{jail._box._pidfd}").read_text()
    pid = dict(line.split(":\t", 1) for line in text.splitlines())["Pid"]
    while not (found := Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        pass
    process = Path(f"/proc/{found[0]}")
    while "Seccomp:\t2" not in (process / "status").read_text():
        pass  # it drops its rights, and waits
    running = threading.Thread(target=jail.run, args=(["sleep", "0.6"],))
    assert (process / "mem").stat().st_uid == 0
    running.start()
    while "sleep" not in (process / "cmdline").read_text():
        pass
    assert (process / "mem").stat().st_uid == jail._box.uid

    def reach(apart: int) -> str:
        arguments = [str(n) for n in (jail._box.uid, jail._box.gid, process.name, apart)]
        return subprocess.run([sys.executable, "-S", "-c", _REACH, *arguments], capture_output=True, text=True).stdout

    assert (reach(apart=0), reach(apart=1)) == ("reached\n", "refused\n")
    running.join()
