"""Verdicts kept in memory: the same tests on the same files are not run twice."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace

from benchmarks.base import Grade

SIZE = 16_384  # verdicts, about 1.5 kB each


class Verdicts:
    """The ``SIZE`` most recent verdicts, by digest. Thread-safe.

    Infra errors are not kept, as they say nothing, and neither are verdicts with a time-out: a busy machine may have
    made it, and another try may not.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Grade] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> Grade | None:
        """A copy of the verdict, or None."""
        with self._lock:
            if known := self._kept.get(key):
                self._kept.move_to_end(key)
                return _copy(known)
            return None

    def put(self, key: bytes, grade: Grade) -> None:
        """Keep a copy."""
        if grade.infra_error is not None or "timeout" in grade.tests.values():
            return
        with self._lock:
            self._kept[key] = _copy(grade)
            while len(self._kept) > SIZE:
                self._kept.popitem(last=False)


def digest(parts: Iterable[str | bytes]) -> bytes:
    """A hash that differs where any part differs, or where the parts are cut differently."""
    found = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode(errors="surrogateescape") if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "big") + data)
    return found.digest()


def _copy(grade: Grade) -> Grade:
    return replace(grade, tests=dict(grade.tests), details=dict(grade.details))
