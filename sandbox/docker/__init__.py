"""The sandbox in Docker, or behind podman's socket: one container, one workspace, many commands.

It keeps the contract of the sandbox of namespaces with the same PID 1 inside, and needs the PyPI package ``docker``
(``pip install 'codegym[docker]'``), a daemon, and an image with Python. docs/sandbox.md lists its promises.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence

from sandbox import files
from sandbox.base import ExecResult, Limits, Sandbox, SandboxError, Snapshot, WorkspaceError, command, seconds
from sandbox.collect import cpu_exhausted, exit_code
from sandbox.docker import image as images
from sandbox.docker.container import Container
from sandbox.docker.daemon import client, is_podman, prune_once
from sandbox.docker.frames import DATA, ERR, FILE, OUT, PIECE, RESULT
from sandbox.docker.shell import DockerShell
from sandbox.docker.snapshot import DockerSnapshot
from sandbox.namespaces import bwrap
from sandbox.namespaces.family import ENVIRONMENT

_GRACE_S = 20.0  # from the time-out, which PID 1 keeps, to its word of it
_STDIN_BYTES = 8 << 20  # kept in PID 1's part of the container's memory while a command runs


class DockerSandbox(Sandbox):
    """A long-lived container. Thread-safe: commands run one after another; ``read`` and ``export`` do not wait.

    Args:
        image: a name or the path of a tar, see :func:`sandbox.docker.image.find`.
        network: the Docker network it joins; "none" has no device but a loopback of its own.
        read_only: paths of the daemon's machine that code inside may read, each shown at its own place.

    Raises:
        SandboxUnavailable: no client, no daemon, no image, or the container does not start.
    """

    backend = "docker"

    def __init__(
        self, limits: Limits, *, image: str | None = None, network: str = "none", read_only: Sequence[str] = ()
    ) -> None:
        bwrap.check_shown(read_only)
        self.limits = limits
        self._image, self._network, self._read_only = image, network, tuple(read_only)
        self._lock = threading.Lock()
        self._shells: weakref.WeakSet[DockerShell] = weakref.WeakSet()
        self._pid = os.getpid()
        self._dead = ""
        api = client()
        try:
            prune_once(api)
            found = images.find(api, image)
            self._environment = _image_environment(api, found) | dict(ENVIRONMENT)
            self.podman = is_podman(api)
            self._container = Container(api, found, limits, network=network, read_only=read_only)
        except BaseException:
            api.close()
            raise

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
        if len(stdin) > _STDIN_BYTES:
            raise ValueError(f"stdin holds {len(stdin)} bytes, Docker takes {_STDIN_BYTES}: write it to a file instead")
        self._check()  # before a lock that in a fork of the opener may never be free
        with self._lock:
            started = time.monotonic()
            cap = self.limits.output_bytes
            kept: dict[int, list[bytes]] = {OUT: [], ERR: []}
            last = b""
            request = ("run", asked, folder, {**self._environment, **variables}, wall, cap)
            for kind, body in self._call(*request, data=[stdin], patience=wall + _GRACE_S):
                if kind in kept:
                    kept[kind].append(body)
                last = body
            status, cpu, expired, oom, truncated = RESULT.unpack(last)
        code = exit_code(status)
        return ExecResult(
            exit_code=code,
            stdout=b"".join(kept[OUT])[:cap],
            stderr=b"".join(kept[ERR])[:cap],
            timed_out=bool(expired) or cpu_exhausted(code),
            oom=bool(oom),
            truncated=bool(truncated),
            wall_s=time.monotonic() - started,
            cpu_s=cpu,
        )

    def _check(self) -> None:
        if self._dead:
            raise SandboxError(f"this sandbox is dead ({self._dead}): open another")
        if os.getpid() != self._pid:
            raise SandboxError("this sandbox was opened by another process: open one in each process")

    def _call(
        self, name: str, *arguments: object, data: Sequence[bytes] = (), patience: float = 60.0
    ) -> Iterator[tuple[int, bytes]]:
        self._check()
        try:
            yield from self._container.channel.call(name, *arguments, data=data, patience=patience)
        except SandboxError as error:
            self._dead = self._dead or str(error)
            self._container.close()
            raise

    def write(self, files_: Mapping[str, bytes]) -> None:
        self._check()
        for path in files_:
            files.split(path)  # all are refused before any is written
        for batch in _batches(files_):
            for _ in self._call("write", {path: data[:PIECE] for path, data in batch.items()}):
                pass
            for path, data in batch.items():
                for at in range(PIECE, len(data), PIECE):
                    for _ in self._call("append", path, data[at : at + PIECE]):
                        pass

    def read(self, path: str) -> bytes:
        self._check()
        files.split(path)
        return b"".join(body for kind, body in self._call("read", path) if kind == DATA)

    def export(self) -> dict[str, bytes]:
        found: dict[str, list[bytes]] = {}
        path, left = "", self.limits.disk_bytes
        for kind, body in self._call("export"):
            if kind == FILE:
                path = body.decode(errors="surrogateescape")
                found[path] = []
            elif kind == DATA:
                left -= len(body)
                if left < 0:
                    raise WorkspaceError("the workspace exports more than its budget: raise Limits.disk_bytes")
                found[path].append(body)
        return {path: b"".join(pieces) for path, pieces in sorted(found.items())}

    def snapshot(self) -> DockerSnapshot:
        self._check()
        with self._lock:
            return self._pack()

    def _pack(self) -> DockerSnapshot:
        taken = DockerSnapshot()
        try:
            for kind, body in self._call("pack"):
                if kind == DATA:
                    taken.add(body)
        except BaseException:
            taken.close()
            raise
        return taken

    def restore(self, snapshot: Snapshot) -> None:
        if not isinstance(snapshot, DockerSnapshot):
            raise ValueError(f"{type(snapshot).__name__} is no snapshot of backend='docker': it restores only its own")
        snapshot.check()
        self._check()
        self._end_shells()
        # What is there goes first, as both may not fit at once; it comes back if the other does not.
        with self._lock, self._pack() as before:
            try:
                self._unpack(snapshot)
            except WorkspaceError as error:
                self._unpack(before)
                raise SandboxError(f"the snapshot was not restored: {error}") from error

    def _unpack(self, snapshot: DockerSnapshot) -> None:
        for first, last, piece in snapshot.pieces():
            for _ in self._call("unpack", first, last, piece):
                pass

    def fork(self) -> DockerSandbox:
        with self.snapshot() as snapshot:
            other = DockerSandbox(self.limits, image=self._image, network=self._network, read_only=self._read_only)
            try:
                other._unpack(snapshot)
            except BaseException:
                other.close()
                raise
            return other

    def shell(self) -> DockerShell:
        opened = DockerShell(self._call, self.limits, self._environment, _GRACE_S)
        self._shells.add(opened)
        return opened

    def _end_shells(self) -> None:
        """Their processes are in the workspace that is about to go."""
        for opened in list(self._shells):
            opened.close()

    def close(self) -> None:
        for opened in list(self._shells):
            opened.closed = True
        self._dead = self._dead or "it was closed"
        self._container.close()


def _batches(files_: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """The files in order, in groups of about one frame."""
    batch: dict[str, bytes] = {}
    size = 0
    for path, data in files_.items():
        batch[path] = data
        size += min(len(data), PIECE) + len(path)
        if size >= PIECE:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


def _image_environment(api: object, image: str) -> dict[str, str]:
    """The variables that the image sets, PATH among them."""
    rows = api.images.get(image).attrs["Config"].get("Env") or []  # type: ignore[attr-defined]
    return dict(row.split("=", 1) for row in rows if "=" in row)


def describe() -> str:
    """The daemon and the image that ``open_sandbox("docker")`` uses, in words."""
    api = client()
    try:
        version = api.version()
        platform = (version.get("Platform") or {}).get("Name") or "Docker"
        return f"{platform.strip() or 'Docker'} {version['Version']} and image {images.default()}"
    finally:
        api.close()
