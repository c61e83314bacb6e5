"""From bytes of a reply to its sampled tokens, exactly: each token is the bytes between two cumulative ends.

first, last = tokens_of(occurrence.span, turn.token_ends)
advantages[first:last] += ...
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from codegym.spans import Span


def tokens_of(span: Span, token_ends: np.ndarray) -> tuple[int, int]:
    """The tokens [first, last) of a byte range, given the byte offset [T] at which each token ends.

    A token cut by an end of the range goes to the side that holds more of its bytes, ties to the left. So ranges
    that touch never share a token and leave none out between them. Tokens without bytes (special tokens) belong to
    a range only when they stand inside it. (first == last) if no token does.
    """
    first = _cut(span.start, token_ends, int(np.searchsorted(token_ends, span.start, side="right")))
    last = _cut(span.end, token_ends, int(np.searchsorted(token_ends, span.end, side="left")))
    return first, max(first, last)


def _cut(boundary: int, ends: np.ndarray, token: int) -> int:
    """``token`` if it lies right of the boundary, else the next; it is the one the boundary may cut or end."""
    if token == len(ends):
        return token
    start = int(ends[token - 1]) if token else 0
    held_left, held_right = boundary - start, int(ends[token]) - boundary
    return token + (held_left > 0 and held_left >= held_right)


def paint(tokens: int, token_ends: np.ndarray, pieces: Iterable[tuple[Span, float]]) -> np.ndarray:
    """float64 [tokens]: the value of the piece that covers each token, 0 elsewhere. Later pieces paint over earlier."""
    values = np.zeros(tokens)
    for span, value in pieces:
        first, last = tokens_of(span, token_ends)
        values[first:last] = value
    return values
