"""A bound on CPU time that bears slow and busy machines: in units of a fixed piece of work that is timed beside it.

    with at_most(20):       # as long as the unit takes twenty times, the slower of before and after
        parse(text)

A unit is about 14 ms on a machine of 2024. The bounds are loose: they are there for work that explodes.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most(units: float) -> Iterator[None]:
    unit = _unit()
    start = time.process_time()
    yield
    taken = time.process_time() - start
    allowed = units * max(unit, _unit())
    assert taken < allowed, f"took {taken:.2f} s of CPU time, {allowed:.2f} s are allowed here"


def _unit() -> float:
    start = time.process_time()
    difflib.SequenceMatcher(None, "ab" * 300, "ba" * 300, autojunk=False).ratio()
    return time.process_time() - start
