"""The system-call filter of sandboxed processes, assembled as classic BPF.

``program(network=..., ipc=...)`` gives the bytes of a ``struct sock_filter[]``; PID 1 of a sandbox installs them in
every process before untrusted code runs. The filter is a deny-list: interpreters and compilers use hundreds of calls,
so it closes what reaches other processes, the kernel's configuration, mounts, keyrings and rarely tested kernel code,
and leaves the rest to the namespaces, the dropped uid and the read-only root. The constants are from <linux/filter.h>,
<linux/seccomp.h> and the system-call tables of x86_64 and aarch64.
"""

from __future__ import annotations

import errno
import functools
import platform
import socket
import struct
from collections.abc import Sequence

from sandbox.base import SandboxUnavailable

# name: (x86_64, aarch64); None where the architecture lacks it.
_DENIED: dict[str, tuple[int | None, int | None]] = {
    # reaching into other processes
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_getfd": (438, 438),
    "move_pages": (279, 239),
    "migrate_pages": (256, 238),
    "perf_event_open": (298, 241),
    "lookup_dcookie": (212, 18),
    "fanotify_init": (300, 262),
    "userfaultfd": (323, 282),
    # the kernel and its configuration
    "bpf": (321, 280),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "syslog": (103, 116),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "vhangup": (153, 58),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    # mounts and namespaces
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "unshare": (272, 97),
    "setns": (308, 268),
}
# Answered as an old kernel would, so that callers use their fall-back. clone3 hides its flags from a filter; io_uring
# makes sockets without socket().
_ABSENT: dict[str, tuple[int | None, int | None]] = {
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_secret": (447, 447),
}
# System V and POSIX message IPC outlives processes; closed where nothing may survive a job.
_IPC: dict[str, tuple[int | None, int | None]] = {
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
}
# Calls that name a process: with another one's id (PID 1 may have the same uid) they would change what outlives a job.
# name: numbers, index of the argument that must be 0, meaning the caller itself.
_SELF_ONLY: dict[str, tuple[tuple[int, int], int]] = {
    "prlimit64": ((302, 261), 0),
    "sched_setaffinity": ((203, 122), 0),
    "sched_setparam": ((142, 118), 0),
    "sched_setscheduler": ((144, 119), 0),
    "sched_setattr": ((314, 274), 0),
}
_WHICH_WHO = {"setpriority": (141, 140), "ioprio_set": (251, 30)}  # (which, who, value): by user it reaches PID 1 too
_CLONE, _SOCKET, _SOCKETPAIR, _IOCTL = (56, 220), (41, 198), (53, 199), (16, 29)

_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # put characters into a terminal's input
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of the tables, AUDIT_ARCH

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NR, _ARCH, _ARGS = 0, 4, 16  # offsets in struct seccomp_data


def _op(code: int, k: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, k)


def _fail(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)


def _when(nr: int, body: Sequence[bytes]) -> list[bytes]:
    """``body`` for the call ``nr``; it must return on every path. Else go on behind it."""
    return [_op(_EQUAL, nr, 0, len(body)), *body]


def _argument(index: int) -> bytes:
    return _op(
        _LOAD, _ARGS + 8 * index
    )  # the low half: all arguments tested here are ints (both machines little-endian)


def _only(index: int, values: Sequence[int], number: int) -> list[bytes]:
    tests = [_op(_EQUAL, v, len(values) - i, 0) for i, v in enumerate(values)]
    return [_argument(index), *tests, _fail(number), _op(_RETURN, _ALLOW)]


@functools.lru_cache(maxsize=4)  # functools.cache is not in Python 3.8, which images may have
def program(*, network: bool, ipc: bool) -> bytes:
    """The filter for this machine.

    Args:
        network: allow IPv4 and IPv6 sockets (a network namespace without devices still has a loopback).
        ipc: allow System V IPC and POSIX message queues.

    Raises:
        SandboxUnavailable: on a processor without a system-call table here.
    """
    if platform.machine() not in _ARCHITECTURES:
        raise SandboxUnavailable(
            f"no system-call filter for {platform.machine()}: use x86_64 or aarch64, or backend='unsafe'"
        )
    column, audit = _ARCHITECTURES[platform.machine()]
    families = [socket.AF_UNIX, *([socket.AF_INET, socket.AF_INET6] if network else [])]
    code = [
        _op(_LOAD, _ARCH),
        _op(_EQUAL, audit, 1, 0),
        _fail(errno.ENOSYS),  # 32-bit calls have other numbers
        _op(_LOAD, _NR),
    ]
    if column == 0:
        code += [_op(_AT_LEAST, 0x40000000, 0, 1), _fail(errno.ENOSYS)]  # x32
    for table, number in ((_DENIED, errno.EPERM), (_ABSENT, errno.ENOSYS), ({} if ipc else _IPC, errno.ENOSYS)):
        for numbers in table.values():
            nr = numbers[column]
            if nr is not None:
                code += _when(nr, [_fail(number)])
    for pair, index in _SELF_ONLY.values():
        code += _when(pair[column], _only(index, [0], errno.EPERM))
    # PRIO_PROCESS is 0 and IOPRIO_WHO_PROCESS is 1.
    for name, which in (("setpriority", 0), ("ioprio_set", 1)):
        body = [_argument(0), _op(_EQUAL, which, 1, 0), _fail(errno.EPERM), *_only(1, [0], errno.EPERM)]
        code += _when(_WHICH_WHO[name][column], body)
    code += _when(
        _CLONE[column],
        [_argument(0), _op(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _fail(errno.EPERM), _op(_RETURN, _ALLOW)],
    )
    code += _when(_SOCKET[column], _only(0, [int(f) for f in families], errno.EAFNOSUPPORT))
    code += _when(_SOCKETPAIR[column], _only(0, [int(socket.AF_UNIX)], errno.EAFNOSUPPORT))
    terminal = [
        _argument(1),
        _op(_EQUAL, _TIOCSTI, 1, 0),
        _op(_EQUAL, _TIOCLINUX, 0, 1),
        _fail(errno.EPERM),
        _op(_RETURN, _ALLOW),
    ]
    code += _when(_IOCTL[column], terminal)
    code.append(_op(_RETURN, _ALLOW))
    return b"".join(code)
