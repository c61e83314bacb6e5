"""What is guaranteed on this machine, found out by trying.

``probe(backend)`` opens a sandbox and attacks it; ``demand`` turns a missing guarantee into an error. The names:

==========  =========================================================================================
fs          files of the host are unreadable but for the system's programs; nothing outside is writable
net         no network, not even the host's loopback
pids        the number of processes is limited
memory      the memory of all processes together is limited
cpu         the CPU time of a process is limited
cpus        the share of the processors that all processes together get can be limited
disk        bytes and files written are limited, /tmp and /dev/shm included
kill_tree   whatever a command started is dead when it returns
syscalls    a system-call filter, no capabilities, no new privileges
pid1        the sandbox's own process cannot be killed, traced or read from inside
==========  =========================================================================================
"""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, replace

from sandbox.base import Limits, Sandbox, SandboxError, SandboxUnavailable
from sandbox.docker import DockerSandbox
from sandbox.namespaces import NamespaceSandbox
from sandbox.namespaces.cgroup import REMEDY
from sandbox.opening import AUTO, open_sandbox

GUARANTEES = ("fs", "net", "pids", "memory", "cpu", "cpus", "disk", "kill_tree", "syscalls", "pid1")

_LIMITS = Limits(wall_s=30, cpu_s=1, memory_bytes=160 << 20, pids=16, disk_bytes=4 << 20, files=200)


@dataclass(frozen=True)
class Guarantee:
    """One promise: whether it holds here, by what, and what to do where it does not."""

    name: str
    holds: bool
    mechanism: str
    remedy: str = ""


_ATTACKS = r"""
import ctypes, errno, json, os, signal, socket, sys
secret, (port, pids, disk, files) = sys.argv[1], map(int, sys.argv[2:])
libc = ctypes.CDLL(None, use_errno=True)
found = {}

def refused(act):
    try:
        act()
    except OSError:
        return True
    return False

def denied(*call):
    return libc.syscall(*map(ctypes.c_long, call)) == -1 and ctypes.get_errno() == errno.EPERM

def create(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))

places = ("/probe", "/usr/probe", "/etc/probe", "/dev/probe", "/proc/sys/kernel/hostname")
found["fs"] = refused(lambda: open(secret)) and all(refused(lambda p=p: create(p)) for p in places[:4]) and \
    refused(lambda: open(places[4], "w"))
found["net"] = refused(lambda: socket.create_connection(("127.0.0.1", port), 2))

children = []
try:
    while len(children) < 4 * pids:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError:
    pass
found["pids"] = len(children) <= pids
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

written = 0
for folder in (".", "/tmp", "/dev/shm"):
    try:
        with open(folder + "/fill", "wb", buffering=0) as file:
            while written <= 4 * disk:
                written += file.write(bytes(1 << 16))
    except OSError:
        pass
for folder in (".", "/tmp", "/dev/shm"):
    os.unlink(folder + "/fill")
made = 0
try:
    while made <= 2 * files:
        create("/tmp/probe%d" % made)
        made += 1
except OSError:
    pass
for number in range(made):
    os.unlink("/tmp/probe%d" % number)
found["disk"] = written <= disk and made <= files
status = dict(line.split(":\t", 1) for line in open("/proc/self/status"))
# ptrace(PTRACE_TRACEME), unshare(CLONE_NEWUSER), by the numbers of the machine
ptrace, unshare = {"x86_64": (101, 272), "aarch64": (117, 97)}[os.uname().machine]
found["syscalls"] = (
    status["Seccomp"].strip() == "2" and status["NoNewPrivs"].strip() == "1"
    and all(int(status[s], 16) == 0 for s in ("CapEff", "CapPrm", "CapBnd", "CapAmb", "CapInh"))
    and denied(ptrace, 0, 0, 0, 0) and denied(unshare, 0x10000000)
)
try:
    os.kill(1, signal.SIGKILL)
except PermissionError:
    pass
found["pid1"] = all(refused(lambda n=n: open("/proc/1/" + n, "rb")) for n in ("mem", "environ", "maps"))
print(json.dumps(found))
"""
# Three processes of half the limit each. It ends when one was killed, or when all hold their memory.
_MEMORY = """
import os, select, signal
ready, held = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        block = b"x" * (80 << 20)
        os.write(held, b".")
        signal.pause()
count = 0
while count < 3 and os.waitpid(-1, os.WNOHANG)[0] == 0:
    if select.select([ready], [], [], 0.02)[0]:
        count += len(os.read(ready, 3))
"""


@functools.cache
def probe(backend: str) -> tuple[Guarantee, ...]:
    """Every guarantee, in the order of ``GUARANTEES``. Takes about two seconds; asked once per process.

    Raises:
        SandboxUnavailable: the backend does not work here at all.
    """
    if backend == "unsafe":
        return tuple(Guarantee(name, False, "none", "use backend='namespaces'") for name in GUARANTEES)
    try:
        box, holds = _attack(backend)
    except SandboxError as error:  # as good as none: it opens, and what is run in it fails
        raise SandboxUnavailable(f"the probe did not run: {error}") from error
    mechanism = _mechanisms(box)
    remedy = {"pids": REMEDY, "memory": REMEDY, "cpus": REMEDY} if backend == "namespaces" else {}
    if isinstance(box, DockerSandbox) and box.podman:
        remedy["disk"] = "use Docker, or count on the memory limit, which a tmpfs is under"
    return tuple(
        Guarantee(n, holds[n], mechanism[n], "" if holds[n] else remedy.get(n, "report it: the sandbox is broken here"))
        for n in GUARANTEES
    )


def _attack(backend: str) -> tuple[Sandbox, dict[str, bool]]:
    """A sandbox, closed now, and whether each guarantee held in it. Raises SandboxUnavailable and SandboxError."""
    with contextlib.ExitStack() as stack:
        box = stack.enter_context(open_sandbox(backend, _LIMITS))
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        secret = stack.enter_context(tempfile.NamedTemporaryFile())
        numbers = (listener.getsockname()[1], _LIMITS.pids, _LIMITS.disk_bytes, _LIMITS.files)
        attacks = box.run(["python3", "-c", _ATTACKS, secret.name, *map(str, numbers)])
        try:
            holds = json.loads(attacks.stdout)
        except ValueError:
            raise SandboxUnavailable(
                f"the probe did not run: exit {attacks.exit_code}, {attacks.stderr[-300:].decode(errors='replace')!r}"
            ) from None
        spinning = box.run(["python3", "-c", "while True: pass"], timeout=15)
        holds["cpu"] = spinning.timed_out and spinning.cpu_s < 5
        box.run(["sh", "-c", "setsid sleep 1000 & sleep 1000 & true"])
        alive = box.run(["sh", "-c", "echo /proc/[0-9]*"]).stdout.split()
        holds["kill_tree"] = len(alive) <= 2  # PID 1 and the shell itself
        holds["cpus"] = _shares(backend)
        holds["memory"] = box.run(["python3", "-c", _MEMORY], timeout=15).oom
    return box, holds


def _shares(backend: str) -> bool:
    """Whether a fifth of a processor's time makes a tenth of a second of work take half a second, about."""
    try:
        with open_sandbox(backend, replace(_LIMITS, cpus=0.2)) as box:
            work = "import time\nwhile time.process_time() < 0.1: pass"
            return box.run(["python3", "-c", work]).wall_s > 0.25
    except SandboxUnavailable:
        return False


def _mechanisms(box: Sandbox) -> dict[str, str]:
    """By what each guarantee holds, where it does."""
    if isinstance(box, DockerSandbox):
        return {
            "fs": "container, read-only root, own uid",
            "net": "network namespace",
            "pids": "control group of the container",
            "memory": "control group of the container (32 MiB more than the limit, for PID 1)",
            "cpu": "RLIMIT_CPU",
            "cpus": "control group of the container",
            "disk": "sized tmpfs, read-only root" + (", podman: /tmp beside it, no inodes" if box.podman else ""),
            "kill_tree": "PID namespace, own PID 1",
            "syscalls": "seccomp profile and filter",
            "pid1": "not dumpable, PID namespace",
        }
    assert isinstance(box, NamespaceSandbox)
    version = f"control group v{box.cgroup_version}" if box.cgroup_version else ""
    return {
        "fs": "mount namespace, read-only root" + (", own uid" if box.own_uid else ", user namespace"),
        "net": "network namespace",
        "pids": version or "RLIMIT_NPROC in a user namespace",
        "memory": version or "RLIMIT_AS, per process only",
        "cpu": "RLIMIT_CPU",
        "cpus": version or "none",
        "disk": "sized tmpfs",
        "kill_tree": "PID namespace, own PID 1",
        "syscalls": "seccomp filter",
        "pid1": "not dumpable, PID namespace",
    }


def demand(backend: str, require: Collection[str]) -> None:
    """Raises SandboxUnavailable naming each guarantee in ``require`` that does not hold; ValueError for other names."""
    if unknown := sorted(set(require) - set(GUARANTEES)):
        raise ValueError(f"no guarantee named {', '.join(unknown)}: there are {', '.join(GUARANTEES)}")
    missing = [g for g in probe(backend) if g.name in require and not g.holds]
    if missing:
        reasons = "; ".join(f"{g.name} ({g.mechanism}): {g.remedy}" for g in missing)
        raise SandboxUnavailable(f"not guaranteed by backend {backend!r} here: {reasons}")


def table() -> tuple[str, bool]:
    """What ``python -m sandbox doctor`` prints, and whether a backend that isolates works."""
    lines: list[str] = []
    works = [_rows(backend, lines) for backend in AUTO]
    lines.append("unsafe: works, guarantees nothing; only taken when asked for by that name")
    return "\n".join(lines), any(works)


def _rows(backend: str, lines: list[str]) -> bool:
    try:
        found = probe(backend)
    except SandboxUnavailable as error:
        lines.append(f"{backend}: unavailable\n  {error}")
        return False
    lines.append(f"{backend}: works, with {_equipment(backend)}")
    for g in found:
        remedy = f"  -> {g.remedy}" if g.remedy else ""
        lines.append(f"  {'yes' if g.holds else 'NO':4}{g.name:11}{g.mechanism}{remedy}")
    return True


def _equipment(backend: str) -> str:
    if backend == "docker":
        from sandbox.docker import describe

        return describe()
    from sandbox.namespaces import bwrap

    return f"{bwrap.find()} and {bwrap.interpreter()} (Python {sys.version.split()[0]})"
