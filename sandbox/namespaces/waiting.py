"""The host's end of the process that waits inside for the next command (``inside/child.py``)."""

from __future__ import annotations

import contextlib
import marshal
import os
import socket
from collections.abc import Sequence
from typing import Any

from sandbox.namespaces.inside.wire import send

_DATAGRAM = 1 << 16  # bytes; Linux takes 200 KiB by default


class Waiting:
    """The socket to it, if there is one, and its number as PID 1 counts."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self.number = 0

    def __bool__(self) -> bool:
        return self._socket is not None

    def replace(self, fds: list[int]) -> None:
        """Another one waits, at the other end of this descriptor; none does if the list is empty."""
        self.close()
        for fd in fds:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, fd)
            self.number += 1

    def become(self, what: tuple[Any, ...], fds: Sequence[int]) -> bool:
        """Have it become a command; False if it does not live: the kernel may have taken it for a shell's memory.

        Raises OSError.
        """
        if self._socket is None:
            return False
        message, given = marshal.dumps(what), list(fds)
        with contextlib.ExitStack() as stack:
            if len(message) > _DATAGRAM:
                file = stack.enter_context(os.fdopen(os.memfd_create("command"), "wb+"))
                file.write(message)
                file.seek(0)
                message, given = b"-", [*given, file.fileno()]
            try:
                send(self._socket, message, given)
            except ConnectionError:
                return False
        return True

    def failure(self) -> str:
        """What kept the command from starting; empty if nothing did. Asked when it has ended."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                return self._socket.recv(4096, socket.MSG_DONTWAIT).decode(errors="replace")
        return ""

    def close(self) -> None:
        """It ends, if it still waits. May be called twice."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
