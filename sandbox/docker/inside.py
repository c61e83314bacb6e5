"""PID 1 of a container: runs commands, ends them and what they leave behind, serves the workspace's files.

The host sends this module and those it uses as text to the image's own ``python3``, so an image needs nothing but
Python 3.8 or newer. It talks with the host over its standard input and output, in the frames of ``frames.py``. End of
input ends it, and the kernel then ends everything inside.

    to it    CALL      marshal of (name, arguments...): run, write, append, read, export
             DATA      bytes for the call of this request that follows: stdin of a command
    from it  OUT, ERR  what a command printed, up to its cap, as it comes
             FILE      a path; the DATA frames after it are that file
             DONE      the end of a call; for a command RESULT
             FAIL      the end of a call that failed: "W", "N" or "M" (workspace, not found, machine) and a text

Time-outs are kept here, so they hold even when the host is slow. Memory is streamed through in pieces: the container's
memory limit counts this process too.
"""

from __future__ import annotations

import _signal as signal
import ctypes
import gc
import marshal
import os
import resource
import select
import time

from sandbox import files
from sandbox.base import WorkspaceError
from sandbox.docker import tree
from sandbox.docker.frames import DATA, DONE, ERR, FAIL, FILE, HEADER, OUT, PIECE, RESULT
from sandbox.namespaces import init, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_BOX, _WORK = "/box", "/box/work"
_OOM = (("/sys/fs/cgroup/memory.events", "oom_kill"), ("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill"))
_DRAIN = 64  # reads after the end: a pipe holds 64 KiB, or 1 MiB if enlarged


def _nameless() -> int:
    """A file in memory. By number: a Python built against an old C library lacks os.memfd_create."""
    number = {"x86_64": 319, "aarch64": 279}[os.uname().machine]
    fd = init._libc.syscall(ctypes.c_long(number), b"data", ctypes.c_uint(1))  # MFD_CLOEXEC
    init._check(0 if fd >= 0 else -1, "memfd_create")
    return int(fd)


def _send(request: int, kind: int, body: bytes = b"") -> None:
    rest = memoryview(HEADER.pack(request, kind, len(body)) + body)
    while rest:
        rest = rest[os.write(1, rest) :]


def _oom_kills() -> int:
    for path, word in _OOM:
        try:
            with open(path) as file:
                words = file.read().split()
        except OSError:
            continue
        if word in words:
            return int(words[words.index(word) + 1])
    return 0


class _Run:
    """A command that runs: its process, its two pipes, its deadline."""

    def __init__(self, request: int, main: int, pipes: dict[int, int], timeout: float, cap: int) -> None:
        self.request = request
        self.main = main
        self.kinds = pipes  # descriptor -> OUT or ERR
        self.room = dict.fromkeys(pipes, cap)
        self.readable = set(pipes)
        self.deadline = time.monotonic() + timeout
        self.truncated = self.expired = False
        self.status: int | None = None
        self.cpu = 0.0

    def take(self, fd: int) -> bool:
        """Read once and pass on what fits. False when the pipe has ended or is empty."""
        try:
            chunk = os.read(fd, 1 << 16)
        except BlockingIOError:
            return False
        kept = chunk[: self.room[fd]]
        self.room[fd] -= len(kept)
        self.truncated |= len(chunk) > len(kept)
        if kept:
            _send(self.request, self.kinds[fd], kept)
        return bool(chunk)


class _Server:
    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.incoming = bytearray()
        self.data: dict[int, int] = {}  # request -> descriptor of what its DATA frames gave
        self.running: _Run | None = None
        self.wake, wake_write = os.pipe()
        for fd in (self.wake, wake_write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.setgroups([])
        for capability in range(config["last_capability"] + 1):
            if init._prctl(init._PR_CAPBSET_DROP, capability) != 0:
                break  # the first number that this kernel does not know
        os.umask(0o022)
        uid, gid = config["uid"], config["gid"]
        for name in ("work", "tmp", "shm"):
            os.mkdir(f"{_BOX}/{name}", 0o755)
            os.chown(f"{_BOX}/{name}", uid, gid)
        os.symlink(f"{_BOX}/shm", "/dev/shm")
        config["filter"] = seccomp.program(network=True, ipc=True)
        config["rlimits"] = [
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_CPU, config["cpu_s"], config["cpu_s"] + 1),
            (resource.RLIMIT_FSIZE, config["disk_bytes"], config["disk_bytes"]),
            (resource.RLIMIT_NOFILE, 1024, 1024),
        ]
        self.work = os.open(_WORK, os.O_RDONLY | os.O_DIRECTORY)
        # Files are touched with the rights of the code inside, never with root's: what this process makes is theirs.
        init._libc.setfsgid(gid)
        init._libc.setfsuid(uid)
        init._check(init._prctl(init._PR_SET_DUMPABLE, 0), "dumpable")

    def serve(self) -> NoReturn:
        _send(0, DONE)
        gc.freeze()
        while True:
            run = self.running
            poll = select.poll()
            for fd in (0, self.wake, *(run.readable if run else ())):
                poll.register(fd, select.POLLIN)
            wait = None if run is None or run.expired else max(0.0, run.deadline - time.monotonic()) * 1000
            ready = [fd for fd, _ in poll.poll(wait)]
            if run is not None:
                for fd in run.readable.intersection(ready):
                    if not run.take(fd):
                        run.readable.discard(fd)
                if not run.expired and time.monotonic() >= run.deadline:
                    run.expired = True
                    init._kill_all()
            if self.wake in ready:
                os.read(self.wake, 4096)
                self._reap()
            if 0 in ready:
                self._receive()

    def _receive(self) -> None:
        chunk = os.read(0, 1 << 16)
        if not chunk:
            os._exit(0)
        self.incoming += chunk
        while len(self.incoming) >= HEADER.size:
            request, kind, length = HEADER.unpack_from(self.incoming)
            end = HEADER.size + length
            if len(self.incoming) < end:
                return
            body = bytes(self.incoming[HEADER.size : end])
            del self.incoming[:end]
            if kind == DATA:
                fd = self.data.setdefault(request, -1)
                if fd < 0:
                    fd = self.data[request] = _nameless()
                rest = memoryview(body)
                while rest:
                    rest = rest[os.write(fd, rest) :]
            else:
                self._call(request, *marshal.loads(body))

    def _call(self, request: int, name: str, *arguments: Any) -> None:
        data = self.data.pop(request, -1)
        if data < 0:
            data = _nameless()
        os.lseek(data, 0, os.SEEK_SET)
        try:
            getattr(self, f"_{name}")(request, data, *arguments)
        except WorkspaceError as error:
            _send(request, FAIL, b"W" + str(error).encode(errors="surrogateescape"))
        except FileNotFoundError as error:
            _send(request, FAIL, b"N" + str(error).encode(errors="surrogateescape"))
        except Exception as error:
            _send(request, FAIL, b"M" + f"{type(error).__name__}: {error}".encode(errors="surrogateescape"))
        finally:
            os.close(data)

    def _run(
        self, request: int, data: int, argv: list[str], cwd: str, env: dict[str, str], timeout: float, cap: int
    ) -> None:
        os.fchmod(self.work, 0o755)  # an earlier command may have closed its own workspace
        (out, out_write), (err, err_write) = os.pipe(), os.pipe()
        reads, writes = (out, err), (out_write, err_write)
        for fd in reads:
            os.set_blocking(fd, False)
        failure, failure_write = os.pipe()
        self.oom_before = _oom_kills()
        try:
            main = os.fork()
            if main == 0:
                self._child([data, *writes, failure_write], argv, cwd, env)
        except OSError:
            for fd in (*reads, failure):
                os.close(fd)
            raise
        finally:
            for fd in (*writes, failure_write):
                os.close(fd)
        self.failure = failure
        self.running = _Run(request, main, {out: OUT, err: ERR}, timeout, cap)
        self._reap()

    def _child(self, fds: list[int], argv: list[str], cwd: str, env: dict[str, str]) -> NoReturn:
        failure = fds[-1]
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            init._libc.setfsuid(0)
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("1000")  # the kernel takes commands for memory, not PID 1
            os.fchdir(self.work)
            failure = init._place(fds)
            os.set_inheritable(failure, False)
            init._drop(self.config, failure + 1)
            init._command(argv, cwd, env)
        except BaseException as error:
            os.write(failure, f"{type(error).__name__}: {error}".encode(errors="replace")[:4000])
        os._exit(125)

    def _reap(self) -> None:
        run = self.running
        if run is None:
            return
        run.status, run.cpu = init._reap(run.main, run.status, run.cpu, os.WNOHANG)
        if run.status is None:
            return
        init._kill_all()
        run.status, run.cpu = init._reap(run.main, run.status, run.cpu, 0)
        for fd in run.kinds:
            budget = _DRAIN
            while budget and run.take(fd):
                budget -= 1
            os.close(fd)
        text = os.read(self.failure, 4096)
        os.close(self.failure)
        self.running = None
        if text:
            _send(run.request, FAIL, b"M" + text)
            return
        oom = _oom_kills() > self.oom_before
        _send(run.request, DONE, RESULT.pack(run.status or 0, run.cpu, run.expired, oom, run.truncated))

    def _write(self, request: int, data: int, content: dict[str, bytes]) -> None:
        files.write(self.work, content)
        _send(request, DONE)

    def _append(self, request: int, data: int, path: str, piece: bytes) -> None:
        tree.append(self.work, path, piece)
        _send(request, DONE)

    def _read(self, request: int, data: int, path: str) -> None:
        for piece in tree.read(self.work, path, self.config["disk_bytes"], PIECE):
            _send(request, DATA, piece)
        _send(request, DONE)

    def _export(self, request: int, data: int) -> None:
        files._own(self.work)
        left, entries = self.config["disk_bytes"], 0
        for path, name, parent in files._walk(self.work, "", 0):
            entries += 1
            if entries > self.config["files"]:
                raise WorkspaceError(
                    f"the workspace holds more than {self.config['files']} entries: raise Limits.files"
                )
            try:
                fd = tree.regular(name, parent, left)
            except OSError:
                continue  # it went away, or became a symlink, since it was listed
            if fd is None:
                continue
            _send(request, FILE, path.encode(errors="surrogateescape"))
            for piece in tree.pieces(fd, name, left, PIECE):
                left -= len(piece)
                _send(request, DATA, piece)
        _send(request, DONE)


def boot(config: dict[str, Any]) -> NoReturn:
    """Serve on the standard streams until the host closes its end."""
    _Server(config).serve()
