"""The first process inside bubblewrap: it makes sandboxes by forking itself, each with namespaces of its own.

The host compiles the modules of this folder and ``init.py`` and runs them here (see sandbox/namespaces/family.py). The
keeper reads one datagram per order: marshal of a sandbox's configuration, with the sandbox's own socket,
``config["groups"]`` open files to join control groups by, and for a shell the namespaces of the sandbox that it
joins; or else marshal of the names of layers to lend (see ``_lend``). A fork costs a tenth of a new bubblewrap and
interpreter. No untrusted code ever runs in this process's namespaces: it sees the keeper neither in /proc nor by a
process id. EOF ends the keeper, and the kernel then ends all that was made here.
"""

from __future__ import annotations

import _signal as signal
import _socket
import gc
import marshal
import posix as os

from sandbox.namespaces.init import (
    _AMBIENT_CLEAR_ALL,
    _PR_CAP_AMBIENT,
    _PR_SET_DUMPABLE,
    _check,
    _drop_bounding,
    _libc,
    _prctl,
)
from sandbox.namespaces.inside.member import Member
from sandbox.namespaces.inside.mounts import BOX, WORK, detached, mount_fresh, raise_loopback, unmount
from sandbox.namespaces.inside.wire import receive, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, NoReturn

_NEW_MOUNTS, _NEW_PIDS, _NEW_NETWORK, _NEW_IPC, _NEW_HOST = 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000


def boot(config: dict[str, Any], fd: int) -> NoReturn:
    """Make sandboxes until the host closes its end of the socket ``fd``."""
    socket = _socket.socket(fileno=fd)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what ended is reaped by the kernel
    _check(_prctl(_PR_SET_DUMPABLE, 0), "dumpable")  # no ptrace, no /proc/PID/mem, even with the same uid
    _drop_bounding(config["last_capability"])  # for what is forked from here; its own stay
    _check(_prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL), "dropping the ambient set")
    os.environ.pop(b"PWD", None)  # bubblewrap's; commands have none, so jobs have none
    os.unsetenv(b"PWD")
    for name in config["preload"]:
        __import__(name)
    if config["warm"] is not None:
        _warm(config["warm"])
    if config["preload"] or config["warm"] is not None:
        gc.collect()
    gc.disable()
    gc.freeze()  # a collection in a child would copy every page of the shared heap
    socket.send(b"ready")
    while True:
        message, fds = receive(socket)
        try:
            child = os.fork()
        except OSError as error:  # the machine is full: that fails this order, not every sandbox there is
            child = _refuse(fds[0], error)
        if child == 0:
            os.close(socket.detach())
            order = marshal.loads(message)
            if isinstance(order, dict):
                _start(order, fds)
            _lend(order, *fds)
        for given in fds:
            os.close(given)


def _warm(program: CodeType) -> None:
    """Run a program of the caller's in a workspace that is gone afterwards."""
    mount_fresh({"disk_bytes": 16 << 20, "files": 1000, "uid": os.getuid(), "gid": os.getgid()})
    os.chdir(WORK)
    exec(program, {"__name__": "warm"})
    os.chdir("/")
    unmount(BOX)


def _refuse(answer: int, error: OSError) -> int:
    try:  # noqa: SIM105 - contextlib is one more import a start
        os.write(answer, str(error).encode())
    except OSError:
        pass  # nobody waits for it any more
    return -1


def _lend(names: list[str], answer: int, namespace: int, store: int) -> NoReturn:
    """In a child: send layers of a sandbox, which may have ended: its mount namespace is held by the host."""
    socket = _socket.socket(fileno=answer)
    try:
        _check(_libc.setns(namespace, 0), "entering a sandbox")
        send(socket, b"", [detached(store, name) for name in names])
    except BaseException as error:
        socket.send(f"{type(error).__name__}: {error}".encode(errors="replace")[:4000])
    os._exit(0)


def _start(config: dict[str, Any], fds: list[int]) -> NoReturn:
    """In a child: enter the sandbox's namespaces, and leave its PID 1 running there."""
    socket = _socket.socket(fileno=fds[0])
    groups, joined = fds[1 : 1 + config["groups"]], fds[1 + config["groups"] :]
    try:
        for namespace in joined:
            _check(_libc.setns(namespace, 0), "joining a sandbox")
            os.close(namespace)
        fresh = _NEW_PIDS | _NEW_MOUNTS | (0 if joined else _NEW_NETWORK | _NEW_IPC | _NEW_HOST)
        _check(_libc.unshare(fresh), "making namespaces")
        if not joined:
            raise_loopback()
        if os.fork() == 0:
            Member(config, socket, groups).serve()
    except BaseException as error:
        socket.send(f"{type(error).__name__}: {error}".encode(errors="replace")[:4000])
    os._exit(0)
