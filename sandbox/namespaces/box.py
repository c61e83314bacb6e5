"""A running sandbox of namespaces: its PID 1, the socket to it, and its limits.

Its users start commands the same way: ``NamespaceSandbox`` keeps one workspace over many commands, its shell is a box
that shares the namespaces of another, and ``sandbox.runner`` gives every job a fresh workspace. PID 1 is
``inside/member.py``.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import socket
import struct
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from sandbox.base import ExecResult, Limits, SandboxError, WorkspaceError
from sandbox.collect import Stream, collect, cpu_exhausted, exit_code, pipe, readable
from sandbox.namespaces import budgets, seccomp
from sandbox.namespaces.cgroup import Cgroup
from sandbox.namespaces.family import Family, Sight, ids, join, kill, last_capability
from sandbox.namespaces.inside.wire import send
from sandbox.namespaces.waiting import Waiting

_MARKED, _ENDED = struct.pack("<i", 3), struct.pack("<i", 4)
_MAX_FDS = 32  # of an answer; the layers of a workspace are 16
_ANSWER_S = 60.0  # for a request that starts nothing; milliseconds on a healthy machine


class Box:
    """One sandbox process tree.

    Args:
        mode: "run" for commands in one workspace, "job" for a fresh workspace per job.
        network: a job has a network namespace with a loopback of its own, instead of no sockets but UNIX pairs.
        partner: the box whose namespaces, uid and limits this one shares; only its processes are its own.

    Raises:
        SandboxUnavailable: it cannot start here, or not with these limits; the message says why and what to do.
        SandboxError: it did not start, but others that see the same did.
        ValueError: a path of ``read_only`` cannot be shown.
    """

    def __init__(
        self, limits: Limits, mode: str, sight: Sight, *, network: bool = True, partner: Box | None = None
    ) -> None:
        filter_program = seccomp.program(network=network, ipc=network)
        root = os.geteuid() == 0
        self.uid, self.gid = ids()
        self.owner = (self.uid, self.gid) if root else None
        self.limits, self.sight = limits, sight
        self._pidfd = -1
        self._work_lock = threading.RLock()
        self._work: list[int] = []  # the descriptor of the workspace, if there is one
        self._waiting = Waiting()
        self._running = False  # a command that `finish` has not seen the end of
        self._pid = os.getpid()
        self._dead = ""
        self.unused: deque[str] = deque()  # layers to delete (see layers.py)
        self.family = join(sight)
        self.cgroup: Cgroup | None = partner.cgroup if partner else None
        self._oom_seen = self.cgroup.oom_kills() if self.cgroup else 0
        joined: list[int] = []
        self._socket, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            if partner is None:
                self.cgroup = budgets.group(limits)
            groups = self.cgroup.joining if self.cgroup else []
            if partner is not None:
                joined = partner.request(("namespaces",))[1]
            config = {
                "mode": "shell" if partner else mode,
                "uid": self.uid,
                "gid": self.gid,
                "user": not root,
                "drop_uid": root,
                "last_capability": last_capability(),
                "network": network,
                "filter": filter_program,
                **budgets.config(limits, self.cgroup),
            }
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # tells PID 1's id out here
            with inner:
                self.family.spawn(config, [inner.fileno(), *groups, *joined])
            self._pidfd, given = self.family.admit(self._socket)
            self._work += given[:1]
            self._waiting.replace(given[1:])
            if self._pidfd < 0 or len(given) != (2 if config["mode"] == "run" else 0):
                raise SandboxError("PID 1 of the sandbox answered without its descriptors")
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
        except BaseException:
            self._finisher(partner is None)()
            raise
        finally:
            for fd in joined:
                os.close(fd)
        self._finish = self._finisher(partner is None)

    @contextlib.contextmanager
    def workspace(self) -> Iterator[int]:
        """A descriptor of the workspace, which stays what it is meanwhile."""
        self.check()
        with self._work_lock:
            self.check()
            yield self._work[0]

    def exchange(self, request: tuple[Any, ...], fds: Sequence[int] = ()) -> Any:
        """A request after which the workspace is another one. Raises as ``request``; then it is as before."""
        with self._work_lock:
            result, work = self.request(request, fds)
            os.close(self._work.pop())
            self._work += work
            return result

    def _finisher(self, own_group: bool) -> weakref.finalize[..., Box]:
        held = (self._pidfd, self.family, self.cgroup if own_group else None, self._work, self._waiting)
        return weakref.finalize(self, _end, self._pid, self._socket, *held)

    def start(self, request: tuple[Any, ...], fds: Sequence[int]) -> None:
        """Send a request to PID 1; ``finish`` must follow."""
        self.check()
        try:
            send(self._socket, marshal.dumps(request), list(fds))
        except OSError as error:
            raise self._failed(f"PID 1 is gone ({error.strerror})") from error

    def command(self, what: tuple[list[str], str, dict[str, str]], fds: Sequence[int]) -> None:
        """Start a command (arguments, folder, variables) with these stdin, stdout and stderr; ``finish`` must follow.

        It goes to the process that waits for it, past PID 1. Raises SandboxError.
        """
        self.check()
        if self._running:  # an exception came between: its end would be taken for the next one's
            raise self._failed("a command was interrupted")
        self._running = True
        try:
            if self._waiting.become(what, fds):
                return
            self._running = False  # it has begun nowhere
            self.request(("waiting",))
            self._running = True
            if self._waiting.become(what, fds):
                return
            self._running = False
        except OSError as error:
            raise self._failed(f"a command cannot be sent ({error.strerror})") from error
        raise SandboxError("no process can be started inside: the machine is full")

    def check(self) -> None:
        """Raises SandboxError when nothing can be run in it any more."""
        if self._dead:
            raise self._gone()
        if os.getpid() != self._pid:
            raise SandboxError("this sandbox was opened by another process: open one in each process")

    def _gone(self) -> SandboxError:
        return SandboxError(f"this sandbox is dead ({self._dead}): open another")

    def _failed(self, reason: str) -> SandboxError:
        if self._dead:
            return self._gone()  # closed meanwhile by another thread, and with it perhaps the family's log
        error = SandboxError(f"the sandbox failed: {reason} {self.family.stderr()}".rstrip())
        self._dead = reason
        self._finish()
        return error

    def finish(self, streams: Sequence[Stream], timeout: float, started: float) -> ExecResult:
        """Wait for the end of what was started. The first two streams are stdout and stderr.

        Raises:
            SandboxError: the machine failed; the box is dead then.
            WorkspaceError: a job's files do not fit.
        """
        try:
            expired = collect(streams, self._socket.fileno(), timeout, self.kill)
            status, cpu = self._end_of_command() if self._waiting else self.answer()[0]
        except WorkspaceError:
            raise
        except (OSError, ValueError) as error:  # ValueError: another thread has closed the box
            raise self._failed(str(error)) from error
        except SandboxError as error:
            if self._dead:
                raise
            raise self._failed(str(error)) from error
        self._running = False
        code = exit_code(status)
        return ExecResult(
            exit_code=code,
            stdout=streams[0].data,
            stderr=streams[1].data,
            timed_out=expired or cpu_exhausted(code),
            oom=self.oom_since_last(),
            truncated=streams[0].truncated or streams[1].truncated,
            wall_s=time.monotonic() - started,
            cpu_s=cpu,
        )

    def _end_of_command(self) -> tuple[int, float]:
        message, fds = self._receive()
        failure = self._waiting.failure()
        self._waiting.replace(fds)
        if failure:
            raise SandboxError(failure)
        status, cpu = marshal.loads(message[4:])
        return status, cpu

    def answer(self) -> tuple[Any, list[int]]:
        """Read one answer of PID 1: its result and descriptors.

        Raises:
            SandboxError: the machine failed. If no answer came the box is dead: it would be taken for the next one's.
            WorkspaceError: what the request would write does not fit.
        """
        while True:
            message, fds = self._receive()
            if message[:4] != _ENDED:
                return _result(message, fds)
            self._waiting.replace(fds)  # the one that waited was killed

    def _receive(self) -> tuple[bytes, list[int]]:
        try:
            if not readable(self._socket.fileno(), _ANSWER_S):
                raise TimeoutError("timed out")
            message, fds, _, _ = socket.recv_fds(self._socket, 1 << 16, _MAX_FDS, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            raise self._failed(f"no answer from PID 1 ({error})") from error
        if not message:
            raise self._failed("PID 1 died")
        return message, fds

    def request(self, request: tuple[Any, ...], fds: Sequence[int] = ()) -> tuple[Any, list[int]]:
        """Ask PID 1 for something that starts nothing. Raises as ``answer``; after a refusal the box lives on."""
        self.start(request, fds)
        return self.answer()

    def kill(self) -> None:
        """Kill the command that runs now; its end is answered as usual."""
        self._socket.send(b"kill" + (struct.pack("<i", self._waiting.number) if self._waiting else b""))

    def mark(self) -> bool:
        """What lives now in a shell is to survive the next kill, but for the shell. False if the shell has ended."""
        self._socket.send(b"mark")
        ended = False
        while (answer := self._receive())[0] != _MARKED:
            _result(*answer)
            ended = True
        return not ended

    def fileno(self) -> int:
        """Readable when an answer has come."""
        return self._socket.fileno()

    def oom_since_last(self) -> bool:
        if self.cgroup is None:
            return False
        before, self._oom_seen = self._oom_seen, self.cgroup.oom_kills()
        return self._oom_seen > before

    def output(self, cap: int) -> tuple[Stream, int]:
        """A stream to read, and the descriptor for the writer, who may also open it again by /dev/stdout."""
        read, write = pipe()
        if self.owner is not None:
            os.fchown(write, *self.owner)
        return Stream(read, cap), write

    def close(self) -> None:
        """Kill everything inside and free it."""
        self._dead = self._dead or "it was closed"
        self._finish()


def _result(message: bytes, fds: list[int]) -> tuple[Any, list[int]]:
    kind = struct.unpack_from("<i", message)[0]
    if kind == 0:
        return marshal.loads(message[4:]), fds
    text = message[4:].decode(errors="replace")
    if kind == 2:
        raise WorkspaceError(f"the files do not fit ({text}): raise Limits.disk_bytes or Limits.files")
    raise SandboxError(text)


def _end(
    pid: int,
    control: socket.socket,
    pidfd: int,
    family: Family,
    cgroup: Cgroup | None,
    work: list[int],
    waiting: Waiting,
) -> None:
    control.close()
    waiting.close()
    while work:
        os.close(work.pop())
    if os.getpid() != pid:  # a fork of the opener only lets go of its copies
        if pidfd >= 0:
            os.close(pidfd)
        return
    if pidfd >= 0:
        kill(pidfd)
        os.close(pidfd)
    family.leave()
    if cgroup is not None:
        cgroup.remove()
