"""Files and tasks that are made when they are first looked at: a data set may be listed without its repositories.

::

    Files(lambda: repositories.files(repo, commit)[0])
    Tasks(bench.task, ["django__django-15790"])[0]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar, overload

from benchmarks.base import Task

_Data = TypeVar("_Data", bytes, bytes | None)


class Files(Mapping[str, _Data]):
    """Files that are read when they are first looked at: listing tasks reads no repository."""

    def __init__(self, read: Callable[[], Mapping[str, _Data]]) -> None:
        self._read: Callable[[], Mapping[str, _Data]] = read

    @cached_property
    def _files(self) -> Mapping[str, _Data]:
        return self._read()

    def __getitem__(self, path: str) -> _Data:
        return self._files[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class Tasks(Sequence[Task]):
    """Tasks by their ids, made when they are looked at."""

    def __init__(self, make: Callable[[str], Task], names: list[str]) -> None:
        self._make, self.names = make, names

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> Tasks: ...
    def __getitem__(self, index: int | slice) -> Task | Tasks:
        if isinstance(index, slice):
            return Tasks(self._make, self.names[index])
        return self._make(self.names[index])
