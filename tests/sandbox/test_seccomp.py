"""The system-call filter by itself: its program is interpreted here, for both machines, whatever this kernel has.

Inside, a call may also fail for want of a right or of kernel code; here only the filter can have answered.
"""

from __future__ import annotations

import errno
import platform
import socket
import struct

import pytest

from sandbox import SandboxUnavailable
from sandbox.namespaces import seccomp

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386, ARM = 0x40000003, 0x40000028
ALLOWED = 0
CLONE, SOCKET, SOCKETPAIR, IOCTL = range(4)
NUMBERS = {"x86_64": (56, 41, 53, 16), "aarch64": (220, 198, 199, 29)}
HIGH = 1 << 40  # of an argument that the kernel takes for an int


def answer(program: bytes, number: int, audit: int, arguments: tuple[int, ...] = ()) -> int:
    """The errno that a filter gives to a call, 0 where it lets it pass."""
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, audit, 0, *(a & (1 << 64) - 1 for a in padded))
    accumulator, at = 0, 0
    while True:
        code, yes, no, k = struct.unpack_from("<HBBI", program, 8 * at)
        at += 1
        if code == 0x20:  # BPF_LD | BPF_W | BPF_ABS
            accumulator = struct.unpack_from("<I", data, k)[0]
        elif code == 0x06:  # BPF_RET | BPF_K
            assert k == 0x7FFF0000 or k >> 16 == 5, "allow, or an errno"
            return ALLOWED if k == 0x7FFF0000 else k & 0xFFFF
        else:  # BPF_JMP of equal, at least, any bit
            holds = {0x15: accumulator == k, 0x35: accumulator >= k, 0x45: bool(accumulator & k)}[code]
            at += yes if holds else no


@pytest.fixture(params=list(AUDIT))
def machine(request, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    seccomp.program.cache_clear()
    yield request.param
    seccomp.program.cache_clear()


@pytest.fixture
def ask(machine):
    """A function of a call's number and arguments, and of the filter's kind."""

    def asked(number: int, *arguments: int, network: bool = True) -> int:
        return answer(seccomp.program(network=network, ipc=network), number, AUDIT[machine], arguments)

    return asked


def test_what_is_tried_inside_is_refused_by_the_filter_alone(machine, ask, attacks):
    column = list(AUDIT).index(machine)
    for name, row in attacks.DENIED.items():
        assert ask(row[column], *row[2]) in (errno.EPERM, errno.ENOSYS), name


def test_every_listed_call_is_refused_and_its_neighbours_pass(machine, ask):
    column = list(AUDIT).index(machine)
    denied = {row[column] for row in seccomp._DENIED.values()} - {None}
    absent = {row[column] for row in seccomp._ABSENT.values()}
    queues = {row[column] for row in seccomp._IPC.values()}
    special = {*NUMBERS[machine], *(row[column] for row in seccomp._WHICH_WHO.values())}
    special |= {pair[column] for pair, _ in seccomp._SELF_ONLY.values()}
    assert len(denied) > 45
    for number in set(range(500)) - special:
        expected = errno.EPERM if number in denied else errno.ENOSYS if number in absent else ALLOWED
        assert ask(number) == expected, number
        assert ask(number, network=False) == (errno.ENOSYS if number in queues else expected), number


def test_calls_of_other_architectures_are_absent(machine, ask):
    program = seccomp.program(network=True, ipc=True)
    for audit in (*AUDIT.values(), I386, ARM):
        assert answer(program, 100, audit) == (ALLOWED if audit == AUDIT[machine] else errno.ENOSYS)
    if machine == "x86_64":  # x32 calls have this machine's architecture and a bit of their own
        for number in (0, 39, 101, 512, 547, 0x3FFFFFFF):
            assert ask(0x40000000 + number) == errno.ENOSYS
        assert ask(-1) == errno.ENOSYS


def test_namespaces_cannot_be_made_by_clone(machine, ask):
    clone = NUMBERS[machine][CLONE]
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert ask(clone, flag | 17) == errno.EPERM, hex(flag)
        assert ask(clone, flag | 0x3D0F00 | HIGH) == errno.EPERM, hex(flag)
    assert ask(clone, 17) == ask(clone, 0x3D0F00) == ALLOWED  # a fork, a thread


def test_only_some_families_of_sockets(machine, ask):
    number, pair = NUMBERS[machine][SOCKET], NUMBERS[machine][SOCKETPAIR]
    inside = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6}
    for family in range(64):
        assert ask(number, family, 1) == (ALLOWED if family in inside else errno.EAFNOSUPPORT), family
        only_unix = ALLOWED if family == socket.AF_UNIX else errno.EAFNOSUPPORT
        assert ask(number, family, 1, network=False) == ask(pair, family, 1) == only_unix, family


def test_no_characters_into_a_terminal(machine, ask):
    number = NUMBERS[machine][IOCTL]
    for request in (0x5412, 0x541C):
        assert ask(number, 0, request) == ask(number, 0, request | HIGH) == errno.EPERM
    assert ask(number, 0, 0x5401) == ask(number, 0x5412, 0x5413) == ALLOWED


def test_limits_and_priorities_only_of_the_caller(machine, ask):
    column = list(AUDIT).index(machine)
    for pair, _ in seccomp._SELF_ONLY.values():
        assert [ask(pair[column], pid) for pid in (0, 1, 7, -1)] == [ALLOWED, *[errno.EPERM] * 3]
    for name, own in (("setpriority", 0), ("ioprio_set", 1)):
        number = seccomp._WHICH_WHO[name][column]
        for which in range(5):
            assert ask(number, which, 0) == (ALLOWED if which == own else errno.EPERM)
            assert ask(number, which, 1) == errno.EPERM


def test_an_unknown_machine_is_told(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    seccomp.program.cache_clear()
    with pytest.raises(SandboxUnavailable, match="no system-call filter for riscv64"):
        seccomp.program(network=True, ipc=True)
