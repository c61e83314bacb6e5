"""PID 1 of a sandbox: starts commands, kills what they leave behind, keeps the workspace, and is out of their reach.

It answers datagrams on one socket (EOF ends it, and the kernel then ends everything inside). Requests are marshal of a
tuple, with descriptors:

    ("run", argv, cwd, env)          stdin, stdout, stderr: one command; all it started is killed when it ends
    ("job",)                         payload, stdout, stderr, emit, perhaps a link: a fresh workspace for one program
    ("shell", argv, cwd, env)        stdin, stdout, stderr and more: what it started stays when it ends
    ("namespaces",) ("source",) ("freeze", names) ("empty",) ("restore", names) ("replace", name) ("drop", names)
    ("lend", names)
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

from sandbox.namespaces.init import _PR_SET_DUMPABLE, _check, _kill_all, _prctl, _reap
from sandbox.namespaces.inside.child import job, wait
from sandbox.namespaces.inside.mounts import Files, detached, mount_processes
from sandbox.namespaces.inside.wire import receive, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_ENOSPC, _EDQUOT = 28, 122
_ROUNDS = 50  # of killing what is new; each sees what the one before missed


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
        self._next: tuple[int, _socket.socket] | None = None

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
        if name == "run":
            self._fork_in_advance()

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
        if name == "lend":
            return None, [detached(files.store, layer) for layer in arguments[0]]
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
            if name == "job":
                main = os.fork()
                if main == 0:
                    job(self._config, self._groups, fds, failure_write)
            else:
                main = self._command(arguments, [*fds, failure_write])
        except OSError:
            os.close(failure)
            raise
        finally:
            os.close(failure_write)
        while fds:
            os.close(fds.pop())
        status, cpu = self._supervise(main, stays=name == "shell")
        text = os.read(failure, 4096)
        os.close(failure)
        if text:
            return struct.pack("<i", 2 if text[:1] == b"W" else 1) + text[1:]
        return struct.pack("<i", 0) + marshal.dumps((status, cpu))

    def _command(self, arguments: list[Any], fds: list[int]) -> int:
        """Hand a command to the process that waits for one; its id."""
        if self._next is None or not _lives(self._next[0]):
            self._next = self._waiting()
        (main, socket), self._next = self._next, None
        send(socket, marshal.dumps(arguments), fds)
        socket.close()
        return main

    def _fork_in_advance(self) -> None:
        """What a command costs before it runs is mostly a fork and dropping rights: done while none is asked for."""
        try:  # noqa: SIM105 - contextlib is one more import a start
            self._next = self._waiting()
        except OSError:
            pass  # the machine is full: the next command will try again, and fail by name

    def _waiting(self) -> tuple[int, _socket.socket]:
        """Fork a process that waits for a command, its rights dropped: its id, and the socket to it."""
        here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        main = os.fork()
        if main == 0:
            wait(self._config, self._groups, there.fileno())
        there.close()
        return main, here

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
            for number in (signal.SIGSTOP, signal.SIGKILL):  # none is to go on because another died first
                for pid in new:
                    try:  # noqa: SIM105 - contextlib is one more import a start
                        os.kill(int(pid), number)
                    except ProcessLookupError:
                        pass
            killed |= new
        _kill_all()


def _lives(child: int) -> bool:
    """Whether it has not ended; the kernel may have killed it for the memory that a shell took."""
    try:
        return os.waitpid(child, os.WNOHANG)[0] == 0
    except ChildProcessError:
        return False


def _processes() -> set[str]:
    return {name for name in os.listdir("/proc") if name.isdigit()}
