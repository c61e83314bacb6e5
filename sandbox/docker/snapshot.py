"""A packed workspace, kept on the host: it outlives its container and fits into any other."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

from sandbox.base import Snapshot
from sandbox.docker.frames import PIECE


class DockerSnapshot(Snapshot):
    """A nameless file with what ``tree.pack`` gave; the system frees it with its last descriptor."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close, or with this object
        self._pid = os.getpid()
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Append while it is being taken."""
        self._file.write(piece)
        self._size += len(piece)

    def check(self) -> None:
        """Raises ValueError where it cannot be used."""
        if self._file.closed:
            raise ValueError("this snapshot is closed: take another")
        if os.getpid() != self._pid:
            raise ValueError("this snapshot was taken by another process: take one in each process")

    def pieces(self) -> Iterator[tuple[bool, bool, bytes]]:
        """(first, last, bytes) in order."""
        self.check()
        self._file.flush()
        for at in range(0, self._size, PIECE):
            yield at == 0, at + PIECE >= self._size, os.pread(self._file.fileno(), PIECE, at)

    def __enter__(self) -> DockerSnapshot:
        return self

    def close(self) -> None:
        self._file.close()
