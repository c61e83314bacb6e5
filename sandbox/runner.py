"""The light runner: thousands of short graded programs, each in a fork of a warm interpreter inside a sandbox.

::

    with open_runner(workers=2) as runner:
        job = runner.run("import a; emit(repr(a.f(data)).encode())", files={"a.py": b"f = len"}, data=b"xyz")
        assert job.output == b"3"

The program is the caller's driver; what it imports from ``files`` is not trusted. It runs as ``__main__`` with the
globals ``data`` (bytes), ``emit`` (a function of bytes, whose messages reach the host at once) and ``link`` (a
descriptor that the caller gave, or None), in a fresh workspace that holds ``files`` and is first on ``sys.path``. Only
the standard library is there. Untrusted code shares the program's process, so it can forge or spoil the messages of
its own job: whatever decides a grade (expected values, comparisons) stays on the host.

Nothing survives a job: its processes are killed, its files vanish with its mount namespace, IPC that outlives processes
and network sockets are closed to it, and neither its data nor its output passes through the process that later jobs are
forked from. ``atexit`` handlers do not run.
"""

from __future__ import annotations

import abc
import functools
import marshal
import os
import queue
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

from sandbox.base import ExecResult, Limits, SandboxError, SandboxUnavailable, WorkspaceError, seconds
from sandbox.collect import Stream, anonymous
from sandbox.files import split

if TYPE_CHECKING:
    from sandbox.namespaces.family import Sight

#: Modules that drivers and graded programs import most. Loaded once, in the process that jobs are forked from.
PRELOAD = ("collections", "functools", "itertools", "json", "math", "re", "traceback")


@dataclass(frozen=True)
class JobResult:
    """How one program ended.

    Attributes:
        exec: its end; stdout and stderr are what the code printed.
        messages: what the program passed to ``emit``, in order: whole messages only, and of more than
            ``Limits.output_bytes`` the first ones.
    """

    exec: ExecResult
    messages: tuple[bytes, ...]

    @property
    def output(self) -> bytes:
        """All messages as one string of bytes."""
        return b"".join(self.messages)


def frames(raw: bytes) -> tuple[bytes, ...]:
    """The whole messages in what came over the descriptor of ``emit``; a cut or spoilt rest is left out."""
    found = []
    at = 0
    while at + 4 <= len(raw):
        end = at + 4 + int.from_bytes(raw[at : at + 4], "little")
        if end > len(raw):
            break
        found.append(raw[at + 4 : end])
        at = end
    return tuple(found)


@functools.lru_cache(maxsize=256)
def _compiled(program: str) -> CodeType:
    return compile(program, "<program>", "exec", dont_inherit=True)  # inside runs the same interpreter


class Link:
    """A descriptor on its way into a job: once the job has it, the host must let go of it, or no end is ever seen."""

    def __init__(self, fd: int | None) -> None:
        self.fds = [] if fd is None else [fd]

    def close(self) -> None:
        """Close the host's copy. May be called twice."""
        for fd in self.fds:
            os.close(fd)
        self.fds = []


class Worker(abc.ABC):
    """One place where jobs run, one after another."""

    @abc.abstractmethod
    def run(self, payload: int, timeout: float, link: Link) -> tuple[ExecResult, Stream]:
        """Run the job in this open file. Raises SandboxError when the machine failed."""

    @abc.abstractmethod
    def close(self) -> None:
        """Free it."""


class _NamespaceWorker(Worker):
    def __init__(self, limits: Limits, sight: Sight, network: bool) -> None:
        from sandbox.namespaces.box import Box

        self._box = Box(limits, "job", sight, network=network)

    def run(self, payload: int, timeout: float, link: Link) -> tuple[ExecResult, Stream]:
        started = time.monotonic()
        cap = self._box.limits.output_bytes
        pairs = [self._box.output(cap) for _ in range(3)]
        streams = [stream for stream, _ in pairs]
        try:
            try:
                self._box.start(("job",), [payload, *(write for _, write in pairs), *link.fds])
            finally:
                link.close()
                for _, write in pairs:
                    os.close(write)
            return self._box.finish(streams, timeout, started), streams[2]
        finally:
            for stream in streams:
                os.close(stream.fd)

    def close(self) -> None:
        self._box.close()


class Runner:
    """A fixed number of workers. Thread-safe; opened by :func:`open_runner`, used in the process that opened it.

    A fork of that process is refused before it touches a lock, which another thread may have held.
    """

    def __init__(self, limits: Limits, workers: int, open_worker: Callable[[], Worker]) -> None:
        self.limits = limits
        self._open = open_worker
        self._pid = os.getpid()
        self._closed = False
        self._free: queue.LifoQueue[Worker | None] = queue.LifoQueue()  # a worker that runs before one yet to start
        self._count = workers
        for _ in range(workers - 1):
            self._free.put(None)
        self._free.put(self._open())  # fails here where nothing works; the other workers start when they are needed

    def run(
        self,
        program: str,
        files: Mapping[str, bytes] | None = None,
        data: bytes = b"",
        timeout: float | None = None,
        *,
        link: int | None = None,
    ) -> JobResult:
        """Run one program to its end, or for ``timeout`` seconds (``Limits.wall_s`` if None). Blocks for a free worker.

        Code that exits, kills itself, or uses up its budgets gives a result that says so. ``link`` is a descriptor for
        the program, such as one end of a socket pair whose other end another job has; it is closed here in every case.

        Raises:
            SandboxError: the machine failed; the runner stays usable, with a new worker.
            SyntaxError: ``program`` does not compile.
            ValueError: a time-out that :meth:`sandbox.Sandbox.run` would not take.
            WorkspaceError: a path of ``files`` leads outside the workspace, or they do not fit into it.
        """
        given = Link(link)
        try:
            return self._run(program, files or {}, data, seconds(timeout, self.limits), given)
        finally:
            given.close()

    def _run(self, program: str, files: Mapping[str, bytes], data: bytes, timeout: float, link: Link) -> JobResult:
        if self._closed or os.getpid() != self._pid:
            raise SandboxError("this runner is closed or belongs to another process: open one here with open_runner")
        checked = {"/".join(split(path)): bytes(content) for path, content in files.items()}
        payload = anonymous(marshal.dumps((_compiled(program), checked, data)))
        worker: Worker | None = self._free.get()
        try:
            try:
                worker = worker or self._open()
            except SandboxUnavailable as error:
                raise SandboxError(f"a new worker could not start: {error}") from error
            result, emitted = worker.run(payload, timeout, link)
        except WorkspaceError:
            raise
        except BaseException:
            if worker is not None:
                worker.close()  # its state is unknown: the next job gets a new one
                worker = None
            raise
        finally:
            os.close(payload)
            self._free.put(worker)
        return JobResult(result, frames(emitted.data))

    def close(self) -> None:
        """Wait for the jobs that run, and free everything. May be called twice."""
        if self._closed or os.getpid() != self._pid:
            return  # in a fork a worker that was busy here never comes back
        self._closed = True
        for _ in range(self._count):
            if worker := self._free.get():
                worker.close()

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def open_runner(
    limits: Limits | None = None,
    workers: int = 1,
    backend: str = "auto",
    *,
    preload: Sequence[str] = PRELOAD,
    warm: str = "",
    packages: Sequence[str] = (),
    network: bool = False,
) -> Runner:
    """Open a runner of up to ``workers`` jobs at once, with the backends of :func:`sandbox.open_sandbox`.

    Args:
        limits: budgets of one job.
        preload: modules loaded once for all workers: their import is free in a job, each fork a bit dearer.
        warm: a trusted program that is run once for all workers, after that: what it leaves in modules every job has.
        packages: installed distributions that jobs can import, with what they require.
        network: every job has a network of its own (a loopback) and System V IPC, which take a millisecond to make.

    Raises:
        SandboxUnavailable: the backend does not work here; the message names the remedy.
        ValueError: an unknown backend, or no workers.
    """
    from sandbox.opening import check_backend

    check_backend(backend, ("auto", "namespaces", "unsafe"))
    if workers < 1:
        raise ValueError(f"workers must be at least 1, not {workers}")
    budgets = limits or Limits()
    if backend == "unsafe":
        from sandbox.unsafe import UnsafeWorker

        if packages or warm:
            raise ValueError("packages and warm have no meaning for backend='unsafe': leave them out")
        return Runner(budgets, workers, lambda: UnsafeWorker(budgets))
    from sandbox.namespaces.family import Sight

    sight = Sight(packages=tuple(packages), preload=tuple(preload), warm=warm)
    return Runner(budgets, workers, lambda: _NamespaceWorker(budgets, sight, network))
