"""The host's end of a container's standard streams: many calls at once over one connection.

A thread reads the connection and hands each frame to the call it answers, so a long command holds up no ``export``.
"""

from __future__ import annotations

import contextlib
import itertools
import marshal
import os
import queue
import socket
import struct
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from sandbox.base import SandboxError, WorkspaceError
from sandbox.docker.frames import CALL, DATA, DONE, FAIL, HEADER, PIECE

_PATIENCE_S = 60.0  # between two frames of a call; a busy machine needs milliseconds
_KEPT = 2000  # bytes kept of PID 1's stderr
_MARSHAL = 4  # a version that every Python 3 reads


class Channel:
    """Frames of ``inside.py`` over an attached connection, which it owns.

    Args:
        connection: carries Docker's stream of stdout and stderr (8-byte headers) one way, stdin the other.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._pid = os.getpid()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[tuple[int, bytes]]] = {0: queue.SimpleQueue()}
        self._sending = threading.Lock()
        self._log = bytearray()
        self.ended = ""  # why nothing more will come
        self._reader = threading.Thread(target=self._read, daemon=True, name="codegym-docker")
        self._reader.start()

    @property
    def log(self) -> str:
        """The last lines that PID 1 wrote to its stderr."""
        return " | ".join(bytes(self._log).decode(errors="replace").strip().splitlines()[-3:])

    def raw(self, data: bytes) -> None:
        """Send bytes outside any frame. Raises SandboxError when the connection is gone."""
        try:
            with self._sending:
                self._connection.sendall(data)
        except OSError as error:
            raise SandboxError(f"the connection to the container is gone ({error.strerror or error})") from error

    def call(
        self, name: str, *arguments: Any, data: Iterable[bytes] = (), patience: float = _PATIENCE_S
    ) -> Iterator[tuple[int, bytes]]:
        """Send a call; the frames that answer it, the last one being DONE. ``patience`` is between two of them.

        Raises:
            WorkspaceError, FileNotFoundError: what the call was answered.
            SandboxError: the container failed.
        """
        number = next(self._numbers)
        self._waiting[number] = queue.SimpleQueue()
        try:
            if self.ended:  # the reader may have told everyone before this call was among them
                raise self._gone()
            for piece in data:
                for at in range(0, len(piece), PIECE):
                    part = piece[at : at + PIECE]
                    self.raw(HEADER.pack(number, DATA, len(part)) + part)
            body = marshal.dumps((name, *arguments), _MARSHAL)
            self.raw(HEADER.pack(number, CALL, len(body)) + body)
        except BaseException:
            del self._waiting[number]
            raise
        return self._answers(number, patience)

    def _answers(self, number: int, patience: float) -> Iterator[tuple[int, bytes]]:
        try:
            while True:
                kind, body = self.next(number, patience)
                if kind == FAIL:
                    text = body[1:].decode(errors="surrogateescape")
                    raise {b"W": WorkspaceError, b"N": FileNotFoundError}.get(body[:1], SandboxError)(text)
                yield kind, body
                if kind == DONE:
                    return
        finally:
            del self._waiting[number]

    def next(self, number: int, patience: float) -> tuple[int, bytes]:
        """The next frame of a request. Raises SandboxError when none comes."""
        try:
            kind, body = self._waiting[number].get(timeout=patience)
        except queue.Empty:
            raise SandboxError(f"the container did not answer for {patience:g} s") from None
        if kind < 0:
            raise self._gone()
        return kind, body

    def _gone(self) -> SandboxError:
        return SandboxError(f"the container ended: {self.ended} {self.log}".rstrip())

    def _read(self) -> None:
        frames = bytearray()
        try:
            while True:
                stream, length = struct.unpack(">BxxxI", self._exactly(8))
                data = self._exactly(length)
                if stream == 2:
                    self._log += data
                    del self._log[:-_KEPT]
                    continue
                frames += data
                while len(frames) >= HEADER.size:
                    number, kind, size = HEADER.unpack_from(frames)
                    if len(frames) < HEADER.size + size:
                        break
                    body = bytes(frames[HEADER.size : HEADER.size + size])
                    del frames[: HEADER.size + size]
                    if waiting := self._waiting.get(number):  # a call that gave up hears no more
                        waiting.put((kind, body))
        except (OSError, EOFError, ValueError) as error:
            self.ended = str(error) or type(error).__name__
        for waiting in list(self._waiting.values()):
            waiting.put((-1, b""))

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            chunk = self._connection.recv(size - len(data))
            if not chunk:
                raise EOFError("PID 1 is gone")
            data += chunk
        return bytes(data)

    def close(self) -> None:
        """End the connection, which ends PID 1, and the thread. In a fork of the opener, only this copy of it."""
        if os.getpid() == self._pid:
            with contextlib.suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
            if threading.current_thread() is not self._reader:
                self._reader.join()
        self._connection.close()
