"""What PID 1 of a sandbox forks: a process that drops its rights and becomes a command or a job.

A process for the next command is forked in advance. By the time it is asked for it has joined the control groups and
has no rights any more; it waits at a socket for one datagram of the host, marshal of (argv, cwd, env) with the
descriptors of stdin, stdout and stderr, and of a file that holds the marshal if no datagram does. There it says what
kept the command from starting; else the socket just ends.
"""

from __future__ import annotations

import _signal as signal
import _socket
import marshal
import posix as os

from sandbox.namespaces.init import (
    _PR_SET_DUMPABLE,
    _change_user,
    _check,
    _command,
    _drop_bounding,
    _libc,
    _place,
    _prctl,
    become,
    perform,
    prepare,
)
from sandbox.namespaces.init import _drop as drop
from sandbox.namespaces.inside.mounts import WORK, mount_fresh, raise_loopback
from sandbox.namespaces.inside.wire import receive, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

_PR_SET_SECUREBITS, _NO_SETUID_FIXUP = 28, 4
_NEW_MOUNTS, _NEW_USERS, _NEW_NETWORK, _NEW_IPC = 0x20000, 0x10000000, 0x40000000, 0x8000000


def wait(config: dict[str, Any], groups: list[int], socket: int) -> NoReturn:
    """Become a command when one comes; end with the host's end of the socket."""
    broken = b""
    try:
        _begin(groups)
        socket = _place([0, 1, 2, socket])
        os.set_inheritable(socket, False)
        _drop(config, socket + 1)
        _rehearse()
    except BaseException as error:
        broken = _said(error)
    try:
        host = _socket.socket(fileno=socket)
        arguments, fds = receive(host)
        if not broken:
            broken = _become(arguments, fds, socket)
        host.send(broken[1:])
    except BaseException:  # it cannot even say so, for want of memory
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(125)


def _become(arguments: bytes, fds: list[int], socket: int) -> bytes:
    """Become this command. Back only with what kept it from starting."""
    try:
        if len(fds) == 4:
            arguments = os.read(fds[3], os.fstat(fds[3]).st_size)
        for target, fd in enumerate(fds[:3]):
            os.dup2(fd, target)
        os.closerange(socket + 1, 1 << 20)
        os.chdir(WORK)
        _command(*marshal.loads(arguments))
    except BaseException as error:
        return _said(error)


def _rehearse() -> None:
    """What the command's start will need again is touched, so that its pages are this process's own by then."""
    here, there = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    send(here, marshal.dumps((["-"], {"PATH": "/"})), [0])
    arguments, fds = receive(there)
    for fd in fds:
        os.close(fd)
    try:  # noqa: SIM105 - contextlib is one more import a start
        become(*marshal.loads(arguments))
    except OSError:
        pass  # there is no such program


def shell(config: dict[str, Any], groups: list[int], fds: list[int], arguments: Sequence[Any]) -> NoReturn:
    """Become a shell with these descriptors; the last is to say what kept it from starting."""
    failure = fds[-1]
    try:
        _begin(groups)
        failure = _place(fds)
        os.set_inheritable(failure, False)
        _drop(config, failure + 1)
        os.chdir(WORK)
        _command(*arguments)
    except BaseException as error:
        os.write(failure, _said(error))
    os._exit(125)


def job(config: dict[str, Any], groups: list[int], fds: list[int], failure: int) -> NoReturn:
    """Become a job: ``fds`` are payload, stdout, stderr, emit and perhaps a link."""
    try:
        _begin(groups)
        payload, stdout, stderr, emit, *link = fds
        fresh = _NEW_NETWORK | _NEW_IPC if config["network"] else 0
        _check(_libc.unshare(_NEW_MOUNTS | fresh), "making namespaces")
        mount_fresh(config)
        if fresh:
            raise_loopback()
        os.chdir(WORK)
        null = os.open("/dev/null", os.O_RDONLY)
        failure = _place([null, stdout, stderr, emit, *link, payload, failure])
        _drop(config, failure + 1)
        _check(_prctl(_PR_SET_DUMPABLE, 1), "dumpable")  # no new program starts, and its /proc files are to be its own
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            code, data = prepare(failure - 1)
        except OSError as error:
            os.write(failure, b"W" + str(error).encode(errors="replace")[:4000])
            os._exit(125)
        os.close(failure)
        perform(code, data, 3, 4 if link else None)
    except BaseException as error:
        os.write(failure, _said(error))
    os._exit(125)


def _said(error: BaseException) -> bytes:
    return f"M{type(error).__name__}: {error}".encode(errors="replace")[:4000]


def _begin(groups: list[int]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    for group in groups:
        os.write(group, b"0")  # this process joins


def _drop(config: dict[str, Any], keep: int) -> None:
    if config["own_users"]:  # the kernel counts processes per user and user namespace
        enter_users(config)
        config = config | {"drop_uid": False}
    drop(config, keep)


def enter_users(config: dict[str, Any]) -> None:
    """A user namespace of its own, which knows no other user and no other group than the sandbox's.

    Raises OSError where the machine has none for us.
    """
    uid, gid = config["uid"], config["gid"]
    if config["drop_uid"]:
        # First the uid: without rights outside, only the id that made a user namespace can be mapped in it. The
        # capabilities stay for the making, as some machines want one for it, and keep out who has the uid already.
        _check(_prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP), "keeping capabilities")
        _change_user(uid, gid)
    _check(_libc.unshare(_NEW_USERS), "making a user namespace")
    _drop_bounding(config["last_capability"])  # a new user namespace fills the set again
    # Its own /proc files belong to it again. Code of the same uid is in other user namespaces, from where the kernel
    # gives it no rights over this process.
    _check(_prctl(_PR_SET_DUMPABLE, 1), "dumpable")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(fd, text.encode())
        os.close(fd)
    _check(_prctl(_PR_SET_DUMPABLE, 0), "dumpable")


def rehearse_users(config: dict[str, Any]) -> None:
    """Raises OSError where ``enter_users`` would: so that a sandbox does not open whose commands could not start."""
    said, say = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            enter_users(config)
        except BaseException as error:
            os.write(say, str(error).encode(errors="replace")[:4000])
        os._exit(0)
    os.close(say)
    os.waitpid(child, 0)
    reason = os.read(said, 4096).decode()
    os.close(said)
    if reason:
        raise OSError(reason)
