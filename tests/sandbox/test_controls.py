"""Positive controls: what sandboxes deny works outside, so that no denial is an accident of the machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sandbox import Limits, files, open_sandbox

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="outside, an ordinary user is denied this too")


LIMITS = Limits(memory_bytes=128 << 20, disk_bytes=16 << 20, wall_s=120)

# Each act says ok(0), holds(True) or, where it would change the machine, reached() of a call that fails for a reason of
# its own. What it changes is its own process's, or put back. ``other`` is a child outside and PID 1 inside.
ACTS = {
    "make a user namespace": "ok(libc.unshare(0x10000000))",
    "trace itself": "ok(libc.ptrace(0, 0, 0, 0))",
    "open a netlink socket": "socket.socket(16, 3); ok(0)",
    "keep a keyring": "ok(min(libc.syscall(250, 0, -3, 1), 0))",
    "use io_uring": "p = (ctypes.c_uint32 * 30)(); ok(min(libc.syscall(425, 1, ctypes.byref(p)), 0))",
    "see the host's name": f"holds(socket.gethostname() == {socket.gethostname()!r})",
    "see the host's processes": f"holds(os.path.exists('/proc/{os.getpid()}/stat'))",
    "read memory by process id": "b = ctypes.create_string_buffer(b'x');"
    " v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 1); ok(libc.process_vm_readv(os.getpid(), v, 1, v, 1, 0) - 1)",
    "take a descriptor by process id": "ok(min(libc.syscall(438, os.pidfd_open(os.getpid()), 0, 0), 0))",
    "handle page faults": "ok(min(libc.syscall(323, 1), 0))",
    "read how the clock is tuned": "ok(min(libc.clock_adjtime(0, bytes(512)), 0))",
    "name a file by a handle": "h = ctypes.create_string_buffer(b'\\x78\\0\\0\\0', 128);"
    " ok(libc.name_to_handle_at(-100, b'/usr', h, ctypes.byref(ctypes.c_int()), 0))",
    "make a user namespace by clone": "p = libc.syscall(56, 0x10000011, 0, 0, 0, 0); p or os._exit(0); ok(min(p, 0))",
    "fork by clone3": "a = (ctypes.c_uint64 * 8)(0, 0, 0, 0, 17); p = libc.syscall(435, a, 64);"
    " p or os._exit(0); ok(min(p, 0))",
    "open a tree of mounts": "ok(min(libc.syscall(428, -100, b'/', 0), 0))",
    "add a key": "ok(min(libc.syscall(248, b'user', b'codegym', b'x', 1, -1), 0))",
    "set the clock": "reached(libc.syscall(227, 0, None))",
    "open the memory of another process": "os.open(f'/proc/{other}/mem', os.O_RDONLY); ok(0)",
    "read the variables of another process": "open(f'/proc/{other}/environ').read(); ok(0)",
    "see where another process maps what": "holds(open(f'/proc/{other}/maps').read())",
    "see the descriptors of another process": "os.listdir(f'/proc/{other}/fd'); ok(0)",
    "limit another process": "resource.prlimit(other, resource.RLIMIT_NOFILE, (64, 64)); ok(0)",
    "slow another process down": "os.setpriority(os.PRIO_PROCESS, other, 19); ok(0)",
    "move another process": "os.sched_setaffinity(other, os.sched_getaffinity(0)); ok(0)",
    "trace another process": "ok(libc.ptrace(16, other, 0, 0))",
    "open a vsock socket": "socket.socket(40, 1); ok(0)",
    "open a socket of the kernel's ciphers": "socket.socket(38, 5); ok(0)",
    "keep 100 processes": "p = []\ntry:\n for _ in range(100): p.append(os.fork() or time.sleep(300))\n"
    "finally: [(os.kill(q, 9), os.waitpid(q, 0)) for q in p]\nok(0)",
    "hold 200 MB": "child = os.fork()\nif not child:\n try: b'x' * (200 << 20); os._exit(0)\n"
    " except MemoryError: os._exit(1)\nok(os.waitpid(child, 0)[1])",
    "write 20 MB": "tempfile.TemporaryFile().write(bytes(20 << 20)); ok(0)",
    "read this file": f"open({str(Path(__file__).resolve())!r}); ok(0)",
}
AS_ROOT = {
    "mount": "ok(libc.unshare(0x20000) or libc.mount(b'x', b'/mnt', b'tmpfs', 0, None))",
    "make a device": "os.chdir(tempfile.mkdtemp()); os.mknod('n', 0o20600, os.makedev(1, 3)); os.unlink('n'); ok(0)",
    "become root": "os.setuid(0); ok(0)",
    "change the root": "ok(libc.chroot(b'/'))",
    "set the host's name": "ok(libc.unshare(0x4000000) or libc.sethostname(b'x', 1))",
    "load a bpf map": "a = (ctypes.c_uint32 * 20)(2, 4, 4, 1); ok(min(libc.syscall(321, 0, a, 80), 0))",
    "measure itself": "a = (ctypes.c_uint32 * 32)(1, 128); ok(min(libc.syscall(298, a, 0, -1, -1, 0), 0))",
    "type into a terminal": "fcntl.ioctl(os.openpty()[1], 0x5412, b'x'); ok(0)",
    "enter a namespace": "ok(libc.setns(os.open('/proc/self/ns/uts', os.O_RDONLY), 0x4000000))",
    "configure a file system": "ok(min(libc.syscall(430, b'tmpfs', 0), 0))",
    "open a file by a handle": "reached(libc.syscall(304, -1, bytes(16), 0))",
    "load another kernel": "reached(libc.syscall(246, 0, 0, 0, -1))",
    "open a packet socket": "socket.socket(17, 3); ok(0)",
    "read the shadow file": "open('/etc/shadow'); ok(0)",
    "write outside": "os.close(os.open('/usr/codegym-probe', os.O_CREAT)); os.unlink('/usr/codegym-probe'); ok(0)",
}
# Parts that not every kernel has.
MAY_LACK = {"open a vsock socket", "open a socket of the kernel's ciphers", "load another kernel"}
# Each act in a fork of its own. An answer is a byte in a pipe; none, where the process did not live to give it.
_PROGRAM = """
import ctypes, errno, fcntl, json, os, resource, socket, sys, tempfile, time
libc = ctypes.CDLL(None, use_errno=True)
inside = {inside}
def attempt(act):
    def holds(it):
        os.write(answer, b"1" if it else b"0")
    def ok(result):
        holds(result == 0)
    def reached(result):
        holds(result != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS))
    read, answer = os.pipe()
    os.set_blocking(read, False)
    child = os.fork()
    if not child:
        other = 1 if inside else os.fork() or time.sleep(300)
        try:
            exec(act)
        except OSError:
            holds(False)
        except BaseException as error:
            os.write(answer, repr(error).encode())
        finally:
            if not inside: os.kill(other, 9)
            os._exit(0)
    os.waitpid(child, 0)
    os.close(answer)
    said = os.read(read, 999).decode()
    os.close(read)
    return {{"1": True, "0": False}}.get(said, said)
print(json.dumps({{name: attempt(act) for name, act in {acts}.items()}}))
"""


@pytest.fixture(params=["namespaces", "docker"], scope="module")
def backend(request):
    """Those that isolate."""
    if request.param == "docker":
        request.getfixturevalue("docker_works")
    return request.param


@pytest.fixture(scope="module")
def works_outside():
    code = _PROGRAM.format(inside=False, acts=_acts())
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)


@pytest.fixture(scope="module")
def works_inside(backend):
    with open_sandbox(backend, LIMITS) as box:
        result = box.run(["python3", "-c", _PROGRAM.format(inside=True, acts=_acts())])
    assert result.exit_code == 0, result.stderr.decode()
    return json.loads(result.stdout)


def _acts() -> dict[str, str]:
    return ACTS | (AS_ROOT if os.geteuid() == 0 else {})


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86_64")
@pytest.mark.parametrize("name", [*ACTS, *(pytest.param(name, marks=root_only) for name in AS_ROOT)])
def test_it_works_outside_and_not_inside(works_outside, works_inside, name):
    if name not in MAY_LACK:
        assert works_outside[name] is True, "this machine lacks it, so that it is denied inside says nothing"
    assert works_inside[name] is False


@pytest.fixture(scope="session")
def setuid_program():
    """One that prints the effective uid, and is root's."""
    if os.geteuid() != 0:  # test_as_user.py made one
        if "CODEGYM_TEST_SETUID" not in os.environ:
            pytest.skip("only root can make one")
        yield Path(os.environ["CODEGYM_TEST_SETUID"])
        return
    folder = Path(tempfile.mkdtemp(prefix="codegym-setuid-", dir="/opt"))
    try:
        folder.chmod(0o755)
        program = folder / "id"
        program.write_bytes(Path("/usr/bin/id").read_bytes())
        program.chmod(0o4755)
        yield program
    finally:
        shutil.rmtree(folder)


def test_a_setuid_program_gives_nothing(backend, setuid_program):
    command = [str(setuid_program), "-u"]
    by_a_user = ["setpriv", "--reuid=1234", "--clear-groups"] if os.geteuid() == 0 else []
    assert subprocess.run([*by_a_user, *command], capture_output=True).stdout == b"0\n"
    with open_sandbox(backend, read_only=[str(setuid_program.parent)]) as box:
        assert int(box.run(command, timeout=60).stdout) != 0


# B8, without chance: the swap happens at the worst moment.
def test_a_folder_swapped_while_it_is_listed_leads_nowhere(jail, tmp_path, monkeypatch):
    (tmp_path / "f").write_bytes(b"SECRET")
    jail.write({"d/f": b"mine", "e": b""})
    jail.run(["ln", "-s", str(tmp_path), "link"], timeout=60)
    with jail._box.workspace() as root:
        os.rename("d", "real", src_dir_fd=root, dst_dir_fd=root)
        os.rename("link", "d", src_dir_fd=root, dst_dir_fd=root)
        naive = os.open("d/f", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=root)  # of the last component alone
        assert os.read(naive, 99) == b"SECRET"
        os.close(naive)
        os.rename("d", "link", src_dir_fd=root, dst_dir_fd=root)
        os.rename("real", "d", src_dir_fd=root, dst_dir_fd=root)
        listed = os.listdir

        def swap(folder: int) -> list[str]:
            names = listed(folder)
            if "f" in names:  # the folder d has just been listed
                os.rename("d", "real", src_dir_fd=root, dst_dir_fd=root)
                os.rename("link", "d", src_dir_fd=root, dst_dir_fd=root)
            return names

        monkeypatch.setattr(files.os, "listdir", swap)
        assert files.export(root, 1 << 20, 100)["d/f"] == b"mine"
        monkeypatch.undo()
        assert "d/f" not in files.export(root, 1 << 20, 100)
