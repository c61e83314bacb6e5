"""PID 1 of a sandbox: starts commands, kills what they leave behind, keeps the workspace, and is out of their reach.

It answers datagrams on one socket (EOF ends it, and the kernel then ends everything inside). Requests are marshal of a
tuple, with descriptors:

    ("job",)                         payload, stdout, stderr, emit, perhaps a link: a fresh workspace for one program
    ("shell", argv, cwd, env)        stdin, stdout, stderr and more: what it started stays when it ends
    ("waiting",)                     the socket to the process that waits is dead: another one, by (4) before the answer
    ("namespaces",) ("source",) ("freeze", names) ("empty",) ("restore", names) ("replace", name) ("drop", names)
    ("lend", names)
    b"kill"                          kill the job that runs now (of a shell: and all that started since b"mark")
    b"kill" and struct "<i"          kill the command of this number, and all that it started
    b"mark"                          what lives now in a shell is to survive the next b"kill", but for the shell

Answers: b"ready" with a descriptor of the workspace; then per request struct "<i" (0) and marshal of the result, with
descriptors, or (1) and text: the machine failed, or (2) and text: there is no room; to b"mark" (3).

Commands in a workspace are not asked for here: a process waits for each one, forked while none runs, and the host has
the socket to it (see child.py). When such a process has ended, all it started is killed and the host gets (4) and
marshal of (status, CPU seconds); with that, as with b"ready", the socket to the next one. They are numbered from 1.

What a command is, reads and writes passes by: it goes to descriptors of the host, never through this process, so the
memory that later commands are forked from holds nothing of earlier ones.
"""

from __future__ import annotations

import _signal as signal
import _socket
import _struct as struct
import marshal
import posix as os
import select

from sandbox.namespaces.init import _PR_SET_DUMPABLE, _check, _kill_all, _prctl, _reap
from sandbox.namespaces.inside.child import job, rehearse_users, shell, wait
from sandbox.namespaces.inside.mounts import Files, detached, mount_processes
from sandbox.namespaces.inside.wire import receive, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

_ENOSPC, _EDQUOT = 28, 122
_DONE, _MARKED, _ENDED = (struct.pack("<i", kind) for kind in (0, 3, 4))
_ROUNDS = 50  # of killing what is new; each sees what the one before missed


class Member:
    """One sandbox. ``groups``: open files by which every command joins control groups."""

    def __init__(self, config: dict[str, Any], socket: _socket.socket, groups: list[int]) -> None:
        self._config, self._socket, self._groups = config, socket, groups
        self._wake, wake_write = os.pipe()
        for fd in (self._wake, wake_write):
            os.set_blocking(fd, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        _check(_prctl(_PR_SET_DUMPABLE, 0), "dumpable")
        mount_processes()
        if config["own_users"] and config["drop_uid"]:  # an ordinary user's bubblewrap has made one already
            rehearse_users(config)
        self._files = Files(config) if config["mode"] == "run" else None
        self._known: set[str] = set()
        self._main, self._cpu = 0, 0.0  # the command, job or shell, or what waits for a command; 0 if there is none
        self._number = 0  # of the last one that waited
        self._failure = -1  # where a job or a shell says what kept it from starting

    def serve(self) -> NoReturn:
        """Answer requests until the host closes its end."""
        if self._files is None:
            self._socket.send(b"ready")
        else:
            self._offer(b"ready", self._files.work)
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        poll.register(self._socket.fileno(), select.POLLIN)
        while True:
            ready = [fd for fd, _ in poll.poll()]
            if self._wake in ready:
                os.read(self._wake, 4096)
                self._reap(os.WNOHANG)
            if self._socket.fileno() in ready:
                self._take(*receive(self._socket))

    def _reap(self, flags: int) -> None:
        """Something has ended. With the main process all else ends, but for what a shell leaves."""
        status, self._cpu, left = _reap(self._main, None, self._cpu, flags)
        if status is None:
            return
        if left and self._config["mode"] != "shell":
            _kill_all()
            _, self._cpu, _ = _reap(0, None, self._cpu, 0)
        self._main = 0
        result = marshal.dumps((status, self._cpu))
        if self._config["mode"] == "run":
            self._offer(_ENDED + result)
            return
        failed = os.read(self._failure, 4096)
        os.close(self._failure)
        self._socket.send(_error(failed[1:], full=failed[:1] == b"W") if failed else _DONE + result)

    def _offer(self, message: bytes, *fds: int) -> None:
        """Send this and the socket of a process for the next command, which is forked while the host goes on."""
        here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        send(self._socket, message, [*fds, here.fileno()])
        here.close()
        os.sched_yield()  # the host first, where it has no other core
        self._number, self._cpu = self._number + 1, 0.0
        try:
            self._main = os.fork()
        except OSError:  # the machine is full: the host sees that the other end is closed, and asks for another
            there.close()
            return
        if self._main == 0:
            wait(self._config, self._groups, there.fileno())
        there.close()

    def _take(self, message: bytes, fds: list[int]) -> None:
        """One message of the host."""
        if message == b"kill":
            if self._main:  # else it came when that had just ended
                self._kill_new() if self._config["mode"] == "shell" else _kill_all()
        elif message[:4] == b"kill":
            if message[4:] == struct.pack("<i", self._number):
                _kill_all()
        elif message == b"mark":
            self._known = _processes() - {str(self._main)}
            self._socket.send(_MARKED)
        else:
            self._answer(fds, *marshal.loads(message))
        for fd in fds:
            os.close(fd)

    def _answer(self, fds: list[int], name: str, *arguments: Any) -> None:
        given: list[int] = []
        try:
            if name in ("job", "shell"):
                self._start(name, arguments, fds)
                return  # its end is the answer
            result, given = self._keep(name, arguments, fds)
            answer = _DONE + marshal.dumps(result)
        except Exception as error:
            full = isinstance(error, OSError) and error.errno in (_ENOSPC, _EDQUOT)
            answer = _error(str(error).encode(errors="replace")[:4000], full=full)
        send(self._socket, answer, given)
        for fd in given:
            os.close(fd)

    def _start(self, name: str, arguments: Sequence[Any], fds: list[int]) -> None:
        failure, failure_write = os.pipe()
        try:
            main = os.fork()
            if main == 0 and name == "job":
                job(self._config, self._groups, fds, failure_write)
            if main == 0:
                shell(self._config, self._groups, [*fds, failure_write], arguments)
        except OSError:
            os.close(failure)
            raise
        finally:
            os.close(failure_write)
        self._main, self._cpu, self._failure = main, 0.0, failure

    def _keep(self, name: str, arguments: Sequence[Any], fds: list[int]) -> tuple[Any, list[int]]:
        """The requests that start nothing: (result, descriptors to send and close)."""
        if name == "waiting":
            if self._main:  # it is dying, or is a command that the host gave up
                _kill_all()
                self._reap(0)
            else:
                self._offer(_ENDED + marshal.dumps((0, 0.0)))
            return None, []
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


def _error(text: bytes, *, full: bool) -> bytes:
    return struct.pack("<i", 2 if full else 1) + text


def _processes() -> set[str]:
    return {name for name in os.listdir("/proc") if name.isdigit()}
