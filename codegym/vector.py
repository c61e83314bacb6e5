"""Makes ``gymnasium.make_vec`` right for text, whatever its options.

``AsyncVectorEnv`` moves observations through memory of a fixed size, made by three functions that dispatch on the
space. Text has no fixed size, so for :class:`codegym.spaces.TextSpace` they move it through one unnamed temporary
file per environment, which grows as needed. Importing this module registers them; users never call it. The worker
writes before it answers on its pipe and the parent reads after, so a file is never read while it is written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from multiprocessing import reduction
from typing import IO, Any, overload

from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory

from codegym.spaces import TextSpace

_HEAD = 8  # bytes of the length before each text


class SharedTexts(Sequence[str]):
    """``n`` texts shared by processes. ``copy.deepcopy`` gives the tuple of what they hold at that moment."""

    def __init__(self, n: int) -> None:
        self._files: list[IO[bytes]] = [tempfile.TemporaryFile() for _ in range(n)]  # noqa: SIM115 - kept open

    def write(self, index: int, text: str) -> None:
        """Set text ``index``."""
        data = text.encode("utf-8", "surrogatepass")  # any str, lone surrogates included
        file = self._files[index]
        file.seek(0)
        file.truncate()
        file.write(len(data).to_bytes(_HEAD, "little") + data)
        file.flush()

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        handle = self._files[index].fileno()
        size = int.from_bytes(os.pread(handle, _HEAD, 0), "little")  # 0 before the first text
        data = bytearray()
        while len(data) < size:
            data += os.pread(handle, size - len(data), _HEAD + len(data))
        return data.decode("utf-8", "surrogatepass")

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # Only for the start of a process that does not inherit descriptors (contexts spawn and forkserver).
        return _from_handles, ([reduction.DupFd(file.fileno()) for file in self._files],)


def _from_handles(handles: list[Any]) -> SharedTexts:
    texts = SharedTexts(0)
    texts._files = [os.fdopen(handle.detach(), "r+b") for handle in handles]
    return texts


@create_shared_memory.register(TextSpace)
def _create(space: TextSpace, n: int = 1, ctx: Any = None) -> SharedTexts:
    return SharedTexts(n)


@read_from_shared_memory.register(TextSpace)
def _read(space: TextSpace, shared_memory: SharedTexts, n: int = 1) -> SharedTexts:
    return shared_memory


@write_to_shared_memory.register(TextSpace)
def _write(space: TextSpace, index: int, value: str, shared_memory: SharedTexts) -> None:
    shared_memory.write(index, value)
