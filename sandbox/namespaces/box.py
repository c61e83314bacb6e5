"""A running sandbox of namespaces: one bubblewrap with our PID 1 in it, and the socket to it.

Both users of it start commands the same way: ``NamespaceSandbox`` keeps one workspace over many commands,
``sandbox.runner`` gives every job a fresh one. PID 1 is ``init.py``, compiled here and run by the same interpreter.
"""

from __future__ import annotations

import array
import contextlib
import functools
import itertools
import marshal
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from types import CodeType
from typing import Any

from sandbox.base import ExecResult, Limits, SandboxError, SandboxUnavailable, WorkspaceError
from sandbox.collect import Stream, anonymous, collect, cpu_exhausted, exit_code, pipe
from sandbox.namespaces import bwrap, seccomp
from sandbox.namespaces.cgroup import Cgroup

_START_S = 20.0  # a cold start takes 30 ms; a loaded machine may need seconds
# As root every sandbox has a uid of its own, above those that systems and container tools hand out, so that the
# kernel's per-user budgets are per sandbox.
_UID_BASE, _UID_COUNT = 2_000_000_000, 1_000_000
_UIDS = itertools.count()
_USER_IDS = (1000, 1000)  # inside a user namespace; not 0, to which /proc/sys/net would belong
_BOOT = "import marshal,os;f=os.fdopen({},'rb');c,a=marshal.load(f);f.close();exec(c,globals());boot(a,{})"

ENVIRONMENT: Mapping[str, str] = {
    "HOME": "/box/work",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",  # exports hold what the code wrote, not caches
    "PYTHONHASHSEED": "0",  # the same command prints the same
}


def environment() -> dict[str, str]:
    """The variables of commands inside; nothing is taken from the host's."""
    return {**ENVIRONMENT, "PATH": bwrap.search_path()}


@functools.cache
def init_code() -> CodeType:
    """PID 1's program, for this interpreter."""
    path = Path(__file__).with_name("init.py")
    return compile(path.read_text(), "<init>", "exec", dont_inherit=True)


@functools.cache
def _last_capability() -> int:
    return int(Path("/proc/sys/kernel/cap_last_cap").read_text())


def _group(limits: Limits) -> Cgroup | None:
    try:
        return Cgroup.create(limits)
    except OSError:
        return None  # limits per process then; the probe tells the difference


def _rlimits(limits: Limits, grouped: bool) -> list[tuple[int, int, int]]:
    seconds = ceil(limits.cpu_s)
    rows = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, seconds, seconds + 1),
        (resource.RLIMIT_FSIZE, limits.disk_bytes, limits.disk_bytes),
        (resource.RLIMIT_NOFILE, 1024, 1024),
    ]
    if not grouped:  # without a control group: per process, and per user of this namespace
        rows.append((resource.RLIMIT_AS, limits.memory_bytes, limits.memory_bytes))
        rows.append((resource.RLIMIT_NPROC, limits.pids + 1, limits.pids + 1))  # PID 1 counts
    return rows


class Box:
    """One sandbox process tree.

    Args:
        mode: "run" for commands in one workspace, "job" for a fresh workspace per job.
        read_only: more host paths to show.
        preload: modules imported once in PID 1, which jobs are forked from.

    Raises:
        SandboxUnavailable: it cannot start here; the message says why and what to do.
        ValueError: a path of ``read_only`` cannot be shown.
    """

    def __init__(
        self, limits: Limits, mode: str, *, read_only: Sequence[str] = (), preload: Sequence[str] = ()
    ) -> None:
        program = bwrap.find()
        bwrap.check_shown(read_only)
        filter_program = seccomp.program(network=mode == "run", ipc=mode == "run")
        root = os.geteuid() == 0
        number = _UID_BASE + (os.getpid() * 997 + next(_UIDS)) % _UID_COUNT
        self.uid, self.gid = (number, number) if root else _USER_IDS
        self.owner = (self.uid, self.gid) if root else None
        self.limits = limits
        self.cgroup = _group(limits)
        self.dirfd = self._pidfd = -1
        self._pid = os.getpid()
        self._dead = ""
        self._oom_seen = 0
        groups = self.cgroup.procs if self.cgroup else []
        config = {
            "mode": mode,
            "uid": self.uid,
            "gid": self.gid,
            "drop_uid": root,
            "disk_bytes": limits.disk_bytes,
            "files": limits.files,
            "cgroup": groups,
            "rlimits": _rlimits(limits, self.cgroup is not None),
            "last_capability": _last_capability(),
            "filter": filter_program,
            "preload": list(preload),
        }
        self._socket, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # tells PID 1's id out here
        self._log = os.memfd_create("stderr")
        etc = {path: anonymous(data) for path, data in bwrap.etc_files(self.uid, self.gid).items()}
        args = bwrap.arguments(user=None if root else _USER_IDS, read_only=read_only, etc=etc)
        # Through a descriptor: /proc/1/cmdline would show host paths to the code inside.
        args_fd = anonymous("".join(a + "\0" for a in args).encode(errors="surrogateescape"))
        boot = anonymous(marshal.dumps((init_code(), config)))
        given = [boot, args_fd, inner.fileno(), *etc.values()]
        python = [bwrap.interpreter(), "-s", "-P", "-S", "-X", "utf8", "-c", _BOOT.format(boot, inner.fileno())]
        self._process: subprocess.Popen[bytes] | None = None
        try:
            try:
                self._process = subprocess.Popen(
                    [program, "--args", str(args_fd), *python],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._log,
                    env=environment(),
                    cwd="/",
                    pass_fds=[*given, *groups],
                    start_new_session=True,
                )
            finally:
                inner.detach()
                for fd in given:
                    os.close(fd)
            self._await_ready(mode)
        except BaseException:
            if self._process is not None:
                self._process.kill()
            self._finisher()()
            raise
        self._finish = self._finisher()

    def _finisher(self) -> weakref.finalize[..., Box]:
        fds = [fd for fd in (self._log, self.dirfd) if fd >= 0]
        return weakref.finalize(self, _end, self._pid, self._socket, self._pidfd, self._process, self.cgroup, fds)

    def _await_ready(self, mode: str) -> None:
        message, ancillary = b"", list[tuple[int, int, bytes]]()
        if select.select([self._socket], [], [], _START_S)[0]:
            message, ancillary, _, _ = self._socket.recvmsg(16, socket.CMSG_SPACE(12) + socket.CMSG_SPACE(4))
        if message != b"ready":
            reason = self._stderr() or "no answer from PID 1"
            raise SandboxUnavailable(
                f"namespaces do not work here ({reason}): {bwrap.INSTALL}, and allow user namespaces "
                "(sysctl kernel.apparmor_restrict_unprivileged_userns=0; in Docker --security-opt seccomp=unconfined "
                "--security-opt systempaths=unconfined --cap-add SYS_ADMIN)"
            )
        for _, kind, data in ancillary:
            if kind == socket.SCM_CREDENTIALS:
                self._pidfd = os.pidfd_open(struct.unpack("3i", data[:12])[0])
            elif kind == socket.SCM_RIGHTS:
                (self.dirfd,) = array.array("i", data)
        if self._pidfd < 0 or (mode == "run") != (self.dirfd >= 0):
            raise SandboxError("PID 1 of the sandbox answered without its descriptors")

    def _stderr(self) -> str:
        text = os.pread(self._log, 2000, max(0, os.fstat(self._log).st_size - 2000))
        return " | ".join(text.decode(errors="replace").strip().splitlines()[-3:])

    def start(self, request: tuple[Any, ...], fds: Sequence[int]) -> None:
        """Send a request to PID 1; ``finish`` must follow."""
        self.check()
        try:
            self._socket.sendmsg(
                [marshal.dumps(request)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            )
        except OSError as error:
            raise self._failed(f"PID 1 is gone ({error.strerror})") from error

    def check(self) -> None:
        """Raises SandboxError when nothing can be run in it any more."""
        if self._dead:
            raise SandboxError(f"this sandbox is dead ({self._dead}): open another")
        if os.getpid() != self._pid:
            raise SandboxError("this sandbox was opened by another process: open one in each process")

    def _failed(self, reason: str) -> SandboxError:
        error = SandboxError(f"the sandbox failed: {reason} {self._stderr()}".rstrip())
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
            expired = collect(streams, self._socket.fileno(), timeout, self._kill)
            reply = self._socket.recv(1 << 13)
        except (OSError, SandboxError) as error:
            raise self._failed(str(error)) from error
        if not reply:
            raise self._failed("PID 1 died")
        kind = struct.unpack_from("<i", reply)[0]
        if kind == 2:
            text = reply[4:].decode(errors="replace")
            raise WorkspaceError(f"the files do not fit ({text}): raise Limits.disk_bytes or Limits.files")
        if kind != 0:
            raise self._failed(reply[4:].decode(errors="replace"))
        _, status, cpu = struct.unpack("<iid", reply)
        code = exit_code(status)
        return ExecResult(
            exit_code=code,
            stdout=streams[0].data,
            stderr=streams[1].data,
            timed_out=expired or cpu_exhausted(code),
            oom=self._oom_since_last(),
            truncated=streams[0].truncated or streams[1].truncated,
            wall_s=time.monotonic() - started,
            cpu_s=cpu,
        )

    def _kill(self) -> None:
        self._socket.send(b"kill")

    def _oom_since_last(self) -> bool:
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


def _end(
    pid: int,
    control: socket.socket,
    pidfd: int,
    process: subprocess.Popen[bytes] | None,
    cgroup: Cgroup | None,
    fds: Sequence[int],
) -> None:
    control.close()
    if os.getpid() == pid:  # a fork of the opener only lets go of its copies
        if pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)  # PID 1's end is everyone's
        if process is not None:
            process.wait()
        if cgroup is not None:
            cgroup.remove()
    for fd in (*fds, pidfd):
        if fd >= 0:
            os.close(fd)
