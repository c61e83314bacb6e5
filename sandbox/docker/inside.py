"""PID 1 of a container: runs commands, ends them and what they leave behind, serves the workspace's files.

The host sends this module and those it uses as text to the image's own ``python3``, so an image needs nothing but
Python 3.8 or newer. It talks with the host over its standard input and output, in the frames of ``frames.py``. End of
input ends it, and the kernel then ends everything inside.

    to it    CALL      marshal of (name, arguments...): run, write, append, read, export, pack, unpack, shell,
             shell_run, shell_kill, shell_close
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
import _socket
import errno
import gc
import marshal
import os
import resource
import select

from sandbox import files
from sandbox.base import WorkspaceError
from sandbox.docker import tree
from sandbox.docker.command import Command, send
from sandbox.docker.frames import DATA, DONE, FAIL, FILE, HEADER, PIECE
from sandbox.namespaces import init, seccomp
from sandbox.processes import below, end, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_DATAGRAM = 1 << 16
_BOX, _WORK = "/box", "/box/work"


def _nameless() -> int:
    """A file in memory. By number: a Python built against an old C library lacks os.memfd_create."""
    number = {"x86_64": 319, "aarch64": 279}[os.uname().machine]
    fd = init._libc.syscall(init.Long(number), b"data", 1)  # MFD_CLOEXEC
    init._check(0 if fd >= 0 else -1, "memfd_create")
    return int(fd)


class _Server:
    def __init__(self, config: dict[str, Any], load: Callable[[list[tuple[str, str]]], Any]) -> None:
        self.config, self.load = config, load
        self.shells: dict[int, list[Any]] = {}  # the descriptor of its socket: socket, process, call that it answers
        self.incoming = bytearray()
        self.data: dict[int, int] = {}  # request -> descriptor of what its DATA frames gave
        self.running: Command | None = None
        self.wake, wake_write = os.pipe()
        for fd in (self.wake, wake_write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.setgroups([])
        for capability in range(config["last_capability"] + 1):
            if init._prctl(init._PR_CAPBSET_DROP, capability) != 0:
                if init._libc.error() == errno.EINVAL:
                    break  # the first number that this kernel does not know
                raise OSError(init._libc.error(), "dropping the bounding set")
        os.umask(0o022)
        uid, gid = config["uid"], config["gid"]
        for name in ("work", "tmp", "shm"):
            os.makedirs(f"{_BOX}/{name}", 0o755, exist_ok=True)  # podman mounts a tmpfs of its own where /tmp leads
            os.chown(f"{_BOX}/{name}", uid, gid)
        os.symlink(f"{_BOX}/shm", "/dev/shm")
        if os.path.isdir("/dev/mqueue"):
            os.chmod("/dev/mqueue", 0o755)  # a queue is a file outside the workspace's budget
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
        send(0, DONE)
        gc.freeze()
        while True:
            run = self.running
            poll = select.poll()
            for fd in (0, self.wake, *self.shells, *(run.readable if run else ())):
                poll.register(fd, select.POLLIN)
            ready = [fd for fd, _ in poll.poll(run.wait_ms if run else None)]
            if run is not None:
                for fd in run.readable.intersection(ready):
                    run.take(fd)
                run.expire()
            if self.wake in ready:
                os.read(self.wake, 4096)
                self._reap()
            for fd in list(self.shells):
                if fd in ready:
                    self._pass_on(fd)
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
            send(request, FAIL, b"W" + str(error).encode(errors="surrogateescape"))
        except FileNotFoundError as error:
            send(request, FAIL, b"N" + str(error).encode(errors="surrogateescape"))
        except Exception as error:
            send(request, FAIL, b"M" + f"{type(error).__name__}: {error}".encode(errors="surrogateescape"))
        finally:
            os.close(data)

    def _run(self, request: int, data: int, *what: Any) -> None:
        *command, timeout, cap = what
        os.fchmod(self.work, 0o755)  # an earlier command may have closed its own workspace
        shells = {process for _, process, _ in self.shells.values()}
        self.running = Command(self.config, request, self.work, data, tuple(command), timeout, cap, shells)
        self._reap()

    def _reap(self) -> None:
        if self.running is None:
            init._reap(0, None, 0.0, os.WNOHANG)  # what a command left behind, or the keeper of a shell
        elif self.running.ended():
            self.running = None

    def _shell(self, request: int, data: int, modules: list[tuple[str, str]], env: dict[str, str]) -> None:
        """Fork the process that keeps a shell (sandbox/docker/inside_shell.py), and tell its number."""
        here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        process = os.fork()
        if process == 0:
            try:
                for fd in (here.fileno(), self.wake, data, *self.shells):
                    os.close(fd)
                null = os.open("/dev/null", os.O_RDWR)
                for fd in (0, 1):
                    os.dup2(null, fd)
                self.load(modules).serve(self.config, self.work, env, there)
            finally:
                os._exit(1)
        there.close()
        self.shells[here.fileno()] = [here, process, 0]
        send(request, DONE, here.fileno().to_bytes(4, "little"))

    def _shell_run(self, request: int, data: int, shell: int, command: bytes, timeout: float) -> None:
        if shell not in self.shells:
            raise OSError("the process that keeps the shell is gone")
        socket = self.shells[shell][0]
        self.shells[shell][2] = request
        socket.send(marshal.dumps((len(command), timeout)))
        for at in range(0, len(command), _DATAGRAM):
            socket.send(command[at : at + _DATAGRAM])

    def _shell_kill(self, request: int, data: int, shell: int) -> None:
        """End what runs in a shell, and with it the call that waits for that."""
        if shell in self.shells:
            keeper = {self.shells[shell][1]}
            end(lambda: below(keeper, table()))
        send(request, DONE)

    def _shell_close(self, request: int, data: int, shell: int) -> None:
        if shell in self.shells:
            self.shells.pop(shell)[0].close()
        send(request, DONE)

    def _pass_on(self, shell: int) -> None:
        """What a shell says is the answer to its call."""
        socket, _, request = self.shells[shell]
        said = socket.recv(1 << 17)
        if said:
            send(request, said[0], said[1:])
            return
        self.shells.pop(shell)[0].close()
        if request:
            send(request, FAIL, b"Mthe process that keeps the shell is gone")

    def _write(self, request: int, data: int, content: dict[str, bytes]) -> None:
        files.write(self.work, content)
        send(request, DONE)

    def _append(self, request: int, data: int, path: str, piece: bytes) -> None:
        tree.append(self.work, path, piece)
        send(request, DONE)

    def _read(self, request: int, data: int, path: str) -> None:
        for piece in tree.read(self.work, path, self.config["disk_bytes"], PIECE):
            send(request, DATA, piece)
        send(request, DONE)

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
            send(request, FILE, path.encode(errors="surrogateescape"))
            for piece in tree.pieces(fd, name, left, PIECE):
                left -= len(piece)
                send(request, DATA, piece)
        send(request, DONE)

    def _pack(self, request: int, data: int) -> None:
        for piece in tree.pack(self.work, PIECE):
            send(request, DATA, piece)
        send(request, DONE)

    def _unpack(self, request: int, data: int, first: bool, last: bool, piece: bytes) -> None:
        """One piece of a tree that replaces the workspace."""
        if first:
            tree.clear(self.work)
            self.unpacker = tree.Unpacker(self.work)
        try:
            self.unpacker.feed(piece)
            if last and not self.unpacker.complete:
                raise WorkspaceError("the packed tree is cut")
        except BaseException:
            self.unpacker.close()
            raise
        send(request, DONE)


def boot(config: dict[str, Any], load: Callable[[list[tuple[str, str]]], Any]) -> NoReturn:
    """Serve on the standard streams until the host closes its end. ``load`` loads modules and gives the last one."""
    _Server(config, load).serve()
