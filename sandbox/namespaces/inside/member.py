"""PID 1 of a sandbox: starts commands, kills what they leave behind, keeps the workspace, and is out of their reach.

It answers datagrams on one socket (EOF ends it, and the kernel then ends everything inside). Requests are marshal of a
tuple, with descriptors:

    ("run", argv, cwd, env)          stdin, stdout, stderr: one command; all it started is killed when it ends
    ("job",)                         payload, stdout, stderr, emit, perhaps a link: a fresh workspace for one program
    ("shell", argv, cwd, env)        stdin, stdout, stderr and more: what it started stays when it ends
    ("namespaces",) ("source",) ("freeze", names) ("empty",) ("restore", names) ("replace", name) ("drop", names)
    b"kill"                          kill the command that runs now (of a shell: and all that started since b"mark")
    b"mark"                          what lives now in a shell is to survive the next b"kill", but for the shell

Answers: b"ready" with a descriptor of the workspace; then per request struct "<i" (0) and marshal of the result, with
descriptors, or (1) and text: the machine failed, or (2) and text: there is no room; to b"mark" (3).

What a command reads and writes passes by: it goes through descriptors of the host, never through this process, so the
memory that later commands are forked from holds nothing of earlier ones.
"""

from __future__ import annotations

import _signal as signal
import _socket
import marshal
import os
import select
import struct

from sandbox.namespaces.init import (
    _PR_SET_DUMPABLE,
    _check,
    _command,
    _drop_bounding,
    _kill_all,
    _libc,
    _place,
    _prctl,
    _reap,
    perform,
    prepare,
)
from sandbox.namespaces.init import _drop as drop
from sandbox.namespaces.inside.mounts import (
    WORK,
    Files,
    mount_fresh,
    mount_processes,
    raise_loopback,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_NEW_MOUNTS, _NEW_USERS, _NEW_NETWORK, _NEW_IPC = 0x20000, 0x10000000, 0x40000000, 0x8000000
_ENOSPC, _EDQUOT = 28, 122
_ROUNDS = 50  # of killing what is new; each sees what the one before missed


def receive(socket: _socket.socket, size: int = 1 << 20) -> tuple[bytes, list[int]]:
    """One datagram and its descriptors. EOF ends the process."""
    message, ancillary, _, _ = socket.recvmsg(size, _socket.CMSG_SPACE(253 * 4))
    if not message:
        os._exit(0)
    fds: list[int] = []
    for _, _, data in ancillary:
        fds += struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
    return message, fds


def send(socket: _socket.socket, message: bytes, fds: list[int]) -> None:
    """One datagram with descriptors."""
    data = struct.pack(f"{len(fds)}i", *fds)
    socket.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, data)] if fds else [])


class Member:
    """One sandbox. ``groups``: open ``cgroup.procs`` files that every command joins."""

    def __init__(self, config: dict[str, Any], socket: _socket.socket, groups: list[int]) -> None:
        self._config, self._socket, self._groups = config, socket, groups
        self._wake, wake_write = os.pipe()
        for fd in (self._wake, wake_write):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        _check(_prctl(_PR_SET_DUMPABLE, 0), "dumpable")
        mount_processes()
        self._files = Files(config) if config["mode"] == "run" else None
        self._known: set[str] = set()

    def serve(self) -> NoReturn:
        """Answer requests until the host closes its end."""
        if self._files is None:
            self._socket.send(b"ready")
        else:
            send(self._socket, b"ready", [self._files.work])
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(self._socket.fileno(), select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll()]
            if self._wake in ready:  # a background process of a shell ended
                os.read(self._wake, 4096)
                _reap(0, None, 0.0, os.WNOHANG)
            if self._socket.fileno() in ready:
                self._answer(*receive(self._socket))

    def _answer(self, message: bytes, fds: list[int]) -> None:
        if message == b"kill":
            return  # came when its command had just ended
        if message == b"mark":
            self._mark()
            return
        name, *arguments = marshal.loads(message)
        given: list[int] = []
        try:
            if name in ("run", "job", "shell"):
                answer = self._perform(name, arguments, fds)
            else:
                result, given = self._keep(name, arguments, fds)
                answer = struct.pack("<i", 0) + marshal.dumps(result)
        except Exception as error:
            full = isinstance(error, OSError) and error.errno in (_ENOSPC, _EDQUOT)
            answer = struct.pack("<i", 2 if full else 1) + str(error).encode(errors="replace")[:4000]
        for fd in fds:
            os.close(fd)
        send(self._socket, answer, given)
        for fd in given:
            os.close(fd)

    def _keep(self, name: str, arguments: list[Any], fds: list[int]) -> tuple[Any, list[int]]:
        """The requests that start nothing: (result, descriptors to send and close)."""
        if name == "namespaces":
            kinds = ("mnt", "net", "ipc", "uts")
            return None, [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in kinds]
        files = self._files
        assert files is not None
        if name == "freeze":
            frozen = files.freeze(arguments[0], fds)
            return frozen, [os.dup(files.work)]
        if name == "source":
            return None, [os.open("/proc/self/ns/mnt", os.O_RDONLY), os.dup(files.store)]
        if name == "empty":
            layer, fd = files.empty()
            return layer, [fd]
        if name == "drop":
            files.drop(*arguments)
            return None, []
        if name == "restore":
            files.restore(arguments[0], fds)
        elif name == "replace":
            files.replace(*arguments)
        else:
            raise OSError(f"no request named {name!r}")
        return None, [os.dup(files.work)]

    def _perform(self, name: str, arguments: list[Any], fds: list[int]) -> bytes:
        failure, failure_write = os.pipe()
        try:
            main = os.fork()
        except OSError:
            os.close(failure)
            os.close(failure_write)
            raise
        if main == 0:
            self._child(name, arguments, fds, failure_write)
        os.close(failure_write)
        while fds:
            os.close(fds.pop())
        status, cpu = self._supervise(main, stays=name == "shell")
        text = os.read(failure, 4096)
        os.close(failure)
        if text:
            return struct.pack("<i", 2 if text[:1] == b"W" else 1) + text[1:]
        return struct.pack("<i", 0) + marshal.dumps((status, cpu))

    def _child(self, name: str, arguments: list[Any], fds: list[int], failure: int) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            for group in self._groups:
                os.write(group, b"0")  # this process joins
            if name == "job":
                self._job(fds, failure)
            os.chdir(WORK)
            failure = _place([*fds, failure])
            os.set_inheritable(failure, False)
            self._drop(failure + 1)
            _command(*arguments)
        except BaseException as error:
            os.write(failure, f"M{type(error).__name__}: {error}".encode(errors="replace")[:4000])
        os._exit(125)

    def _job(self, fds: list[int], failure: int) -> NoReturn:
        payload, stdout, stderr, emit, *link = fds
        fresh = _NEW_NETWORK | _NEW_IPC if self._config["network"] else 0
        _check(_libc.unshare(_NEW_MOUNTS | fresh), "making namespaces")
        mount_fresh(self._config)
        if fresh:
            raise_loopback()
        os.chdir(WORK)
        null = os.open("/dev/null", os.O_RDONLY)
        failure = _place([null, stdout, stderr, emit, *link, payload, failure])
        self._drop(failure + 1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            code, data = prepare(failure - 1)
        except OSError as error:
            os.write(failure, f"W{error}".encode(errors="replace")[:4000])
            os._exit(125)
        os.close(failure)
        perform(code, data, 3, 4 if link else None)

    def _drop(self, keep: int) -> None:
        if self._config["own_users"]:  # the kernel counts processes per user and user namespace
            _check(_libc.unshare(_NEW_USERS), "making a user namespace")
            _drop_bounding(self._config["last_capability"])  # a new user namespace fills the set again
            _check(_prctl(_PR_SET_DUMPABLE, 1), "dumpable")  # its own /proc files belong to it again
            uid, gid = self._config["uid"], self._config["gid"]
            for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
                fd = os.open(f"/proc/self/{name}", os.O_WRONLY)
                os.write(fd, text.encode())
                os.close(fd)
        drop(self._config, keep)

    def _supervise(self, main: int, *, stays: bool) -> tuple[int, float]:
        """Wait for the main process or for b"kill"; then leave nothing alive unless it ``stays``.

        Returns the wait status of the main process and the CPU seconds of all that ended.
        """
        kill = self._kill_new if stays else _kill_all
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(self._socket.fileno(), select.POLLIN)
        status, cpu = None, 0.0
        while status is None:
            for fd, _ in poll.poll():
                if fd == self._wake:
                    os.read(fd, 4096)
                    continue
                message, _ = receive(self._socket)
                if message == b"kill":
                    kill()
                elif message == b"mark":
                    self._mark(main)
            status, cpu = _reap(main, status, cpu, os.WNOHANG)
        if not stays:
            _kill_all()
            status, cpu = _reap(main, status, cpu, 0)
        return status or 0, cpu

    def _mark(self, main: int = 0) -> None:
        self._known = _processes() - {str(main)}
        self._socket.send(struct.pack("<i", 3))

    def _kill_new(self) -> None:
        """Kill what started since the mark, and the shell. If that has no end, kill all: a fork bomb among them."""
        killed: set[str] = set()
        for _ in range(_ROUNDS):
            new = _processes() - self._known - killed - {"1"}
            if not new:
                return  # what has a SIGKILL cannot fork any more
            for pid in new:
                try:  # noqa: SIM105 - contextlib is one more import a start
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            killed |= new
        _kill_all()


def _processes() -> set[str]:
    return {name for name in os.listdir("/proc") if name.isdigit()}
