"""One bubblewrap with the keeper in it, which the sandboxes of a process share while any is open.

``join(...)`` gives the family of sandboxes that see the same files and modules, and starts it for the first of them;
``leave()`` ends it after the last. A cold start costs a bubblewrap and an interpreter (about 20 ms), each further
sandbox a few forks. Sandboxes of a family share nothing else: every one has namespaces, a tmpfs and limits of its own.
"""

from __future__ import annotations

import array
import contextlib
import functools
import marshal
import os
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from sandbox.base import SandboxError, SandboxUnavailable
from sandbox.collect import anonymous, readable
from sandbox.namespaces import bwrap
from sandbox.namespaces.inside.wire import send
from sandbox.packages import places

START_S = 20.0  # a cold start takes 30 ms; a loaded machine may need seconds
_USER_IDS = (1000, 1000)  # inside a user namespace; not 0, to which /proc/sys/net would belong
# As root, above those that systems and container tools hand out.
_UID_BASE, _UID_COUNT = 2_000_000_000, 1_000_000
_MODULES = (  # in the order of their imports
    *("init", "inside.wire", "inside.mounts", "inside.child", "inside.member", "inside.keeper"),
)
# The modules forget their names: code inside must not import them.
_BOOT = (
    "import marshal,sys;f=open({},'rb');codes,config=marshal.loads(f.read());f.close()\n"
    "for name,code in codes: sys.modules[name]=m=type(sys)(name); exec(code,m.__dict__)\n"
    "for name,code in codes: del sys.modules[name]\n"
    "m.boot(config,{})"
)


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
def codes() -> list[tuple[str, CodeType]]:
    """The programs that run inside, for this interpreter."""
    found = []
    for name in _MODULES:
        path = Path(__file__).parent.joinpath(*name.split(".")).with_suffix(".py")
        code = compile(path.read_text(), f"<{name}>", "exec", dont_inherit=True, optimize=2)  # no docstrings inside
        found.append((f"sandbox.namespaces.{name}", code))
    return found


def ids() -> tuple[int, int]:
    """The uid and gid of code inside. As root they are real ones, the same for all sandboxes of this process: one can
    use what is in a snapshot of another."""
    number = _UID_BASE + os.getpid() * 997 % _UID_COUNT
    return (number, number) if os.geteuid() == 0 else _USER_IDS


@functools.cache
def last_capability() -> int:
    """The highest number of a capability that this kernel knows."""
    return int(Path("/proc/sys/kernel/cap_last_cap").read_text())


@dataclass(frozen=True)
class Sight:
    """What the sandboxes of a family see.

    Attributes:
        read_only: more host paths, each at its own place.
        packages: installed distributions that can be imported, with all they require.
        preload: modules loaded once in the keeper, which everything is forked from.
        warm: a program that runs once in the keeper, after that.
    """

    read_only: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    warm: str = ""

    def environment(self) -> dict[str, str]:
        """The variables of commands inside; nothing is taken from the host's."""
        return {**environment(), **({"PYTHONPATH": bwrap.PACKAGES} if self.packages else {})}


_families: dict[tuple[int, Sight], Family] = {}
_lock = threading.RLock()


def _after_fork() -> None:
    """In a fork of this process: another of its threads may have held the lock, and will never give it back there."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def join(sight: Sight) -> Family:
    """The family of this process with this sight, which may still be starting. Every call needs one ``leave()``.

    Raises:
        SandboxUnavailable: there is no bubblewrap here; the message says what to do.
        ValueError: a path of ``read_only`` cannot be shown.
    """
    key = (os.getpid(), sight)
    with _lock:
        family = _families.get(key)
        if family is None or family.dead:
            family = _families[key] = Family(sight)
        family.members += 1
        return family


class Family:
    """A running bubblewrap. Use :func:`join`."""

    def __init__(self, sight: Sight) -> None:
        program = bwrap.find()
        bwrap.check_shown(sight.read_only)
        shown = places(sight.packages)
        root = os.geteuid() == 0
        self.members, self.dead, self._starting = 0, False, threading.Lock()
        self._proven = False  # a sandbox of it has started: if another does not, that is the machine's failure
        self._key = (os.getpid(), sight)
        self._socket, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)  # tells the keeper's id out here
        self.log, self._pidfd = os.memfd_create("stderr"), -1
        etc = {path: anonymous(data) for path, data in {**bwrap.etc_files(), **bwrap.names(*ids())}.items()}
        args = bwrap.arguments(user=None if root else _USER_IDS, read_only=sight.read_only, packages=shown, etc=etc)
        # Through a descriptor: /proc/PID/cmdline would show host paths to the code inside.
        args_fd = anonymous("".join(a + "\0" for a in args).encode(errors="surrogateescape"))
        warm = compile(sight.warm, "<warm>", "exec", dont_inherit=True) if sight.warm else None
        config = {"last_capability": last_capability(), "preload": sight.preload, "warm": warm}
        boot = anonymous(marshal.dumps((codes(), config)))
        given = [boot, args_fd, inner.fileno(), *etc.values()]
        python = [bwrap.interpreter(), "-s", "-P", "-S", "-X", "utf8", "-c", _BOOT.format(boot, inner.fileno())]
        self._process: subprocess.Popen[bytes] | None = None
        try:
            try:
                self._process = subprocess.Popen(
                    [program, "--args", str(args_fd), *python],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self.log,
                    env=sight.environment(),
                    cwd="/",
                    pass_fds=given,
                    start_new_session=True,
                )
            finally:
                inner.detach()
                for fd in given:
                    os.close(fd)
        except BaseException:
            self._end()
            raise

    def _await_start(self) -> None:
        with self._starting:
            if self._pidfd < 0:
                try:
                    self._pidfd, _ = await_ready(self._socket, self.stderr)
                except SandboxError as error:
                    self.dead = True
                    raise unavailable(str(error)) from error

    def stderr(self) -> str:
        """The last lines that bubblewrap or the processes of ours inside wrote."""
        text = os.pread(self.log, 2000, max(0, os.fstat(self.log).st_size - 2000))
        return " | ".join(text.decode(errors="replace").strip().splitlines()[-3:])

    def spawn(self, order: dict[str, Any] | list[str], fds: Sequence[int]) -> None:
        """Have the keeper do something, which is answered on the socket that is the first of ``fds``.

        It may still be starting, which ``admit`` waits for. Raises SandboxError; SandboxUnavailable if it cannot start.
        """
        try:
            send(self._socket, marshal.dumps(order), list(fds))
        except OSError as error:
            self.dead = True  # the next sandbox starts another
            self._await_start()
            raise SandboxError(f"the sandboxes' keeper is gone ({error.strerror}) {self.stderr()}".rstrip()) from error

    def admit(self, control: socket.socket) -> tuple[int, list[int]]:
        """Wait for a sandbox that was spawned: a pidfd of its PID 1, and its descriptors.

        Raises:
            SandboxUnavailable: it did not start.
            SandboxError: it did not either, but others of this family did.
        """
        self._await_start()
        try:
            found = await_ready(control, self.stderr)
        except SandboxError as error:
            if self._proven:
                raise SandboxError(f"a sandbox did not start: {error}") from error
            raise unavailable(str(error)) from error
        self._proven = True
        return found

    def lend(self, names: Sequence[str], source: Sequence[int]) -> list[int]:
        """Layers of one of its sandboxes, detached; ``source`` are the mount namespace and the tmpfs of that one.

        Raises SandboxError.
        """
        here, inner = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with here:
            with inner:
                self.spawn(list(names), [inner.fileno(), *source])
            here.settimeout(START_S)
            try:
                message, fds, _, _ = socket.recv_fds(here, 4096, len(names), socket.MSG_CMSG_CLOEXEC)
            except OSError as error:
                raise SandboxError(f"a snapshot cannot be read: {error}") from error
        if len(fds) != len(names):
            raise SandboxError(f"a snapshot cannot be read: {message.decode(errors='replace')}")
        return fds

    def leave(self) -> None:
        """One sandbox fewer; the last one ends the family."""
        with _lock:
            self.members -= 1
            if self.members:
                return
            if _families.get(self._key) is self:
                del _families[self._key]
        self._end()

    def _end(self) -> None:
        self._socket.close()
        if self._pidfd >= 0:
            kill(self._pidfd)
            os.close(self._pidfd)
        elif self._process is not None:
            self._process.kill()
        if self._process is not None:
            self._process.wait()
        os.close(self.log)


def await_ready(control: socket.socket, stderr: Callable[[], str]) -> tuple[int, list[int]]:
    """Wait for b"ready" from a process inside: a pidfd of it, and the descriptors that came with it.

    Raises SandboxError with the reason when it does not come.
    """
    message, ancillary = b"", list[tuple[int, int, bytes]]()
    if readable(control.fileno(), START_S):
        space = socket.CMSG_SPACE(12) + socket.CMSG_SPACE(8)
        with contextlib.suppress(ConnectionResetError):  # the other side ended before it read an order
            message, ancillary, _, _ = control.recvmsg(4096, space, socket.MSG_CMSG_CLOEXEC)
    if message != b"ready":
        raise SandboxError(message.decode(errors="replace") or stderr() or "no answer from inside")
    pidfd, fds = -1, array.array("i")
    for _, kind, data in ancillary:
        if kind == socket.SCM_CREDENTIALS:
            pidfd = os.pidfd_open(struct.unpack("3i", data[:12])[0])
        elif kind == socket.SCM_RIGHTS:
            fds.frombytes(data)
    return pidfd, fds.tolist()


def kill(pidfd: int) -> None:
    """End a PID 1 and with it everything in its namespace; back when all of that is dead."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    readable(pidfd, START_S)


def unavailable(reason: str) -> SandboxUnavailable:
    """What to say where namespaces do not work."""
    return SandboxUnavailable(
        f"namespaces do not work here ({reason}): {bwrap.INSTALL}, and allow user namespaces "
        "(sysctl kernel.apparmor_restrict_unprivileged_userns=0 user.max_user_namespaces=10000; in Docker "
        "--security-opt seccomp=unconfined --security-opt systempaths=unconfined --cap-add SYS_ADMIN)"
    )
