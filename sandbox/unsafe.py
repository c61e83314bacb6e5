"""No isolation: plain subprocesses in a temporary folder, for code that you trust and machines without namespaces.

It keeps the interface: workspace, time-outs, output caps, exit codes. It promises nothing against code that means
harm: no limits on memory, CPU, disk or processes, the machine's files and network open, and a process that leaves its
process group (``setsid``) outlives its command. Taken only when asked for by name.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sandbox import archive, files
from sandbox.base import ExecResult, Limits, Sandbox, SandboxError, Snapshot, command, seconds
from sandbox.collect import Stream, anonymous, collect, pipe
from sandbox.ground import ProcessGround, descriptors
from sandbox.namespaces.family import codes
from sandbox.runner import Link, Worker
from sandbox.session import ShellSession

_CHILDREN = resource.RUSAGE_CHILDREN


def _environment(home: str) -> dict[str, str]:
    path = f"{os.path.dirname(sys.executable)}:{os.environ.get('PATH', os.defpath)}"
    fixed = {"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    return {"HOME": home, "TMPDIR": home, "PATH": path, **fixed}


def _watch(process: subprocess.Popen[bytes], done: socket.socket) -> None:
    process.wait()
    done.close()  # readable at the other end


def _finish(process: subprocess.Popen[bytes], streams: Sequence[Stream], timeout: float) -> ExecResult:
    """Wait for the main process, then kill its process group. The first two streams are stdout and stderr."""
    started, before = time.monotonic(), resource.getrusage(_CHILDREN)
    done, done_inner = socket.socketpair()

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # all gone, or (macOS) only zombies left
            os.killpg(process.pid, signal.SIGKILL)

    watcher = threading.Thread(target=_watch, args=(process, done_inner), daemon=True)
    watcher.start()
    try:
        expired = collect(streams, done.fileno(), timeout, kill)
    finally:
        kill()
        watcher.join()
        done.close()
    after = resource.getrusage(_CHILDREN)  # of all threads of this process: an estimate when several commands run
    return ExecResult(
        exit_code=process.returncode,
        stdout=streams[0].data,
        stderr=streams[1].data,
        timed_out=expired,
        oom=False,
        truncated=streams[0].truncated or streams[1].truncated,
        wall_s=time.monotonic() - started,
        cpu_s=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    )


def _streams(cap: int, count: int) -> tuple[list[Stream], list[int]]:
    pairs = [pipe() for _ in range(count)]
    return [Stream(read, cap) for read, _ in pairs], [write for _, write in pairs]


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


def _spawn(
    argv: Sequence[str],
    cwd: str,
    stdio: tuple[int, int, int],
    home: str,
    env: Mapping[str, str],
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        cwd=cwd,
        stdin=stdio[0],
        stdout=stdio[1],
        stderr=stdio[2],
        pass_fds=pass_fds,
        env={**_environment(home), **env},
        start_new_session=True,
    )


_BOOT = (
    "import marshal,os;f=os.fdopen({},'rb');c=marshal.load(f);f.close();exec(c,globals());perform(*prepare({}),{},{})"
)


@dataclass
class UnsafeSnapshot(Snapshot):
    """A copy; None when closed."""

    copy: archive.Archive | None

    def close(self) -> None:
        self.copy = None


def _remove(pid: int, folder: str) -> None:
    if os.getpid() == pid:  # not in a fork of the opener
        shutil.rmtree(folder, ignore_errors=True)


class UnsafeSandbox(Sandbox):
    """The contract of :class:`sandbox.Sandbox` for trusted code."""

    backend = "unsafe"
    limits_tree = False

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._pid = os.getpid()
        self._folder = tempfile.mkdtemp(prefix=f"codegym-unsafe-{self._pid}-")
        self._remove = weakref.finalize(self, _remove, self._pid, self._folder)
        self._work = os.path.join(self._folder, "work")
        os.mkdir(self._work)
        self._dirfd = os.open(self._work, os.O_RDONLY | os.O_DIRECTORY)
        self._lock = threading.Lock()
        self._swapping = threading.Lock()  # held while the descriptor is another one's, or is copied
        self._shells: weakref.WeakSet[ShellSession] = weakref.WeakSet()

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout: float | None = None,
        cwd: str | os.PathLike[str] = ".",
        env: Mapping[str, str] | None = None,
    ) -> ExecResult:
        asked, folder, variables = command(argv, cwd, env)
        wall = seconds(timeout, self.limits)
        self._check()  # before a lock that in a fork of the opener may never be free
        with self._lock:
            self._check()
            streams, (out, err) = _streams(self.limits.output_bytes, 2)
            given = anonymous(stdin)
            try:
                try:
                    process = _spawn(asked, os.path.join(self._work, folder), (given, out, err), self._work, variables)
                except (OSError, ValueError) as error:
                    code = 127 if isinstance(error, FileNotFoundError) else 126
                    return ExecResult(code, b"", f"{asked[0]}: {error}\n".encode(), False, False, False, 0.0, 0.0)
                finally:
                    _close([given, out, err])
                return _finish(process, streams, wall)
            finally:
                _close([stream.fd for stream in streams])

    def _check(self) -> None:
        if self._dirfd < 0:
            raise SandboxError("this sandbox is closed: open another")
        if os.getpid() != self._pid:
            raise SandboxError("this sandbox was opened by another process: open one in each process")

    @contextlib.contextmanager
    def _root(self) -> Iterator[int]:
        """A descriptor of the workspace, which stays what it is meanwhile."""
        self._check()  # before a lock that in a fork of the opener may never be free
        with self._swapping:
            self._check()  # it may have been closed meanwhile
            root = os.dup(self._dirfd)
        try:
            yield root
        finally:
            os.close(root)

    def write(self, files_: Mapping[str, bytes]) -> None:
        with self._root() as root:
            files.write(root, files_)

    def read(self, path: str) -> bytes:
        with self._root() as root:
            return files.read(root, path, self.limits.disk_bytes)

    def export(self) -> dict[str, bytes]:
        with self._root() as root:
            return files.export(root, self.limits.disk_bytes, self.limits.files)

    def snapshot(self) -> UnsafeSnapshot:
        self._check()  # before a lock that in a fork of the opener may never be free
        with self._lock:
            self._check()
            return UnsafeSnapshot(archive.save(self._dirfd, self.limits.disk_bytes, self.limits.files))

    def restore(self, snapshot: Snapshot) -> None:
        if not isinstance(snapshot, UnsafeSnapshot) or snapshot.copy is None:
            raise ValueError("restore needs an open snapshot of a sandbox with backend='unsafe'")
        self._check()  # before a lock that in a fork of the opener may never be free
        with self._lock:
            self._check()
            self._end_shells()
            fresh = tempfile.mkdtemp(dir=self._folder)
            root = os.open(fresh, os.O_RDONLY | os.O_DIRECTORY)
            try:
                archive.load(root, snapshot.copy)
            except BaseException:
                os.close(root)
                shutil.rmtree(fresh, ignore_errors=True)
                raise
            os.rename(self._work, tempfile.mkdtemp(dir=self._folder))
            os.rename(fresh, self._work)
            with self._swapping:
                os.close(self._dirfd)
                self._dirfd = root

    def fork(self) -> UnsafeSandbox:
        other = UnsafeSandbox(self.limits)
        try:
            other.restore(self.snapshot())
        except BaseException:
            other.close()
            raise
        return other

    def shell(self) -> ShellSession:
        def spawn(fds: Sequence[int]) -> int:
            given = (fds[0], fds[1], fds[2])
            process = _spawn(descriptors(fds), self._work, given, self._work, {}, fds[3:])
            process.returncode = 0  # this object is not the one that waits for it
            return process.pid

        self._check()  # before a lock that in a fork of the opener may never be free
        with self._lock:
            self._check()
            opened = ShellSession(ProcessGround(self.limits, spawn, _in_sessions))
            self._shells.add(opened)
            return opened

    def _end_shells(self) -> None:
        for opened in list(self._shells):
            opened.close()

    def close(self) -> None:
        self._end_shells()
        if self._dirfd >= 0:
            os.close(self._dirfd)
            self._dirfd = -1
            self._remove()


def _in_sessions(processes: dict[int, tuple[int, int]], shells: set[int]) -> set[int]:
    """The processes in the sessions of these shells. That of an ended shell lasts as long as a process is in it."""
    return {pid for pid, (_, session) in processes.items() if session in shells}


class UnsafeWorker(Worker):
    """Runs each job in a new interpreter, in a temporary folder."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def run(self, payload: int, timeout: float, link: Link) -> tuple[ExecResult, Stream]:
        streams, (out, err, emit) = _streams(self._limits.output_bytes, 3)
        init = anonymous(marshal.dumps(codes()[0][1]))
        null = os.open(os.devnull, os.O_RDONLY)
        folder = tempfile.TemporaryDirectory(prefix=f"codegym-unsafe-{os.getpid()}-", ignore_cleanup_errors=True)
        try:
            argv = [
                sys.executable,
                "-s",
                "-P",
                "-S",
                "-X",
                "utf8",
                "-c",
                _BOOT.format(init, payload, emit, (*link.fds, None)[0]),
            ]
            try:
                process = _spawn(argv, folder.name, (null, out, err), folder.name, {}, (init, payload, emit, *link.fds))
            except OSError as error:
                raise SandboxError(f"cannot start {sys.executable}: {error}") from error
            finally:
                _close([null, init, out, err, emit])
                link.close()
            return _finish(process, streams, timeout), streams[2]
        finally:
            _close([stream.fd for stream in streams])
            folder.cleanup()

    def close(self) -> None:
        pass  # nothing lives between jobs
