"""``counterfactual``: what the tests say with the reply's changes, less what they say without this one.

A_D(c) = v(all changes) - v(all but c), v being the score of the workspace. It is exact for the reply as it is, and
blind where two changes only work, or fail, together: each of two alternatives is worth nothing, and of three wrong
functions under an all-or-nothing score no single one matters. A_D is for the tokens that write the change; those that
name its place keep A_E.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Value = Callable[[frozenset[int]], float]


def sets(count: int) -> list[frozenset[int]]:
    """All changes, then all but each: what :func:`values` asks for."""
    whole = frozenset(range(count))
    return [whole, *(whole - {k} for k in range(count))]


def values(count: int, value: Value) -> np.ndarray:
    """A_D [count] of changes 0 .. count - 1; ``value(S)`` is the score with the changes S applied. count + 1 calls."""
    whole, *without = map(value, sets(count))
    return np.array([whole - other for other in without])
