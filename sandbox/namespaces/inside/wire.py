"""Datagrams with descriptors, as the host and the processes inside exchange them."""

from __future__ import annotations

import _socket
import _struct as struct
import posix as os


def receive(socket: _socket.socket, size: int = 1 << 20) -> tuple[bytes, list[int]]:
    """One datagram and its descriptors. EOF ends the process."""
    message, ancillary, _, _ = socket.recvmsg(size, _socket.CMSG_SPACE(253 * 4))
    if not message:
        os._exit(0)
    fds: list[int] = []
    for _, _, data in ancillary:
        fds += struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
    return message, fds


def send(socket: _socket.socket, message: bytes, fds: list[int]) -> None:
    """One datagram with descriptors. Raises OSError."""
    data = struct.pack(f"{len(fds)}i", *fds)
    socket.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, data)] if fds else [])
