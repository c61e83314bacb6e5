"""Positive controls: what the sandbox denies works outside, so that no denial is an accident of the machine."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import files, open_sandbox

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="outside, an ordinary user is denied this too")


def outside(code: str, *argv: str) -> object:
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, check=True)
    return json.loads(done.stdout)


def inside(jail, code: str, *argv: str) -> object:
    result = jail.run(["python3", "-c", code, *argv], timeout=60)
    assert result.exit_code == 0, result.stderr.decode()
    return json.loads(result.stdout)


# The acts print true when they succeed. What they change is their own process's, or put back.
ACTS = {
    "make a user namespace": "ok(libc.unshare(0x10000000))",
    "trace itself": "ok(libc.ptrace(0, 0, 0, 0))",
    "open a netlink socket": "socket.socket(16, 3); ok(0)",
    "keep a keyring": "ok(min(libc.syscall(250, 0, -3, 1), 0))",
    "use io_uring": "p = (ctypes.c_uint32 * 30)(); ok(min(libc.syscall(425, 1, ctypes.byref(p)), 0))",
    "see the host's name": f"print(json.dumps(socket.gethostname() == {socket.gethostname()!r}))",
    "see the host's processes": f"print(json.dumps(os.path.exists('/proc/{os.getpid()}/stat')))",
    "read memory by process id": "b = ctypes.create_string_buffer(b'x');"
    " v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 1); ok(libc.process_vm_readv(os.getpid(), v, 1, v, 1, 0) - 1)",
    "take a descriptor by process id": "ok(min(libc.syscall(438, os.pidfd_open(os.getpid()), 0, 0), 0))",
    "handle page faults": "ok(min(libc.syscall(323, 1), 0))",
    "read how the clock is tuned": "ok(min(libc.clock_adjtime(0, bytes(512)), 0))",
    "name a file by a handle": "h = ctypes.create_string_buffer(b'\\x78\\0\\0\\0', 128);"
    " ok(libc.name_to_handle_at(-100, b'/usr', h, ctypes.byref(ctypes.c_int()), 0))",
    "open a vsock socket": "socket.socket(40, 1); ok(0)",
    "open a socket of the kernel's ciphers": "socket.socket(38, 5); ok(0)",
    "keep 100 processes": "p = [os.fork() or time.sleep(300) for _ in range(100)]; [os.kill(q, 9) for q in p]; ok(0)",
    "hold 600 MB": "child = os.fork()\nif not child:\n try: b'x' * (600 << 20); os._exit(0)\n"
    " except MemoryError: os._exit(1)\nok(os.waitpid(child, 0)[1])",
    "write 70 MB": "tempfile.TemporaryFile().write(bytes(70 << 20)); ok(0)",
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
    "open a packet socket": "socket.socket(17, 3); ok(0)",
    "read the shadow file": "open('/etc/shadow'); ok(0)",
    "write outside": "os.close(os.open('/usr/codegym-probe', os.O_CREAT)); os.unlink('/usr/codegym-probe'); ok(0)",
}
MAY_LACK = {"open a vsock socket", "open a socket of the kernel's ciphers"}  # modules that not every kernel has
_START = """
import ctypes, fcntl, json, os, socket, tempfile, time
libc = ctypes.CDLL(None, use_errno=True)
def ok(result):
    print(json.dumps(result == 0))
try:
    exec(%r)
except OSError:
    print("false")
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of the calls are those of x86_64")
@pytest.mark.parametrize("name", [*ACTS, *(pytest.param(name, marks=root_only) for name in AS_ROOT)])
def test_it_works_outside_and_not_inside(jail, name):
    code = _START % (ACTS | AS_ROOT)[name]
    if outside(code) is not True:
        assert name in MAY_LACK, "this machine lacks it, so that it is denied inside says nothing"
    assert inside(jail, code) is False


@root_only
def test_a_setuid_program_gives_nothing(jail):
    folder = Path("/opt/codegym-setuid")
    folder.mkdir()
    try:
        program = folder / "id"
        program.write_bytes(Path("/usr/bin/id").read_bytes())
        program.chmod(0o4755)
        user = subprocess.run(["setpriv", "--reuid=1234", "--clear-groups", program, "-u"], capture_output=True)
        assert user.stdout == b"0\n"
        with open_sandbox("namespaces", read_only=[str(folder)]) as box:
            assert int(box.run([str(program), "-u"], timeout=60).stdout) != 0
    finally:
        program.unlink()
        folder.rmdir()


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
