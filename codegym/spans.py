"""Half-open byte ranges, and the thread from written bytes back to the reply that wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """Bytes ``start`` (included) to ``end`` (excluded) of some text."""

    start: int
    end: int


@dataclass(frozen=True)
class Origin:
    """Says which bytes of a reply wrote a range of a file.

    Attributes:
        new: the range written, in the new file. Empty when the edit only deleted.
        source: the bytes of the reply that wrote it. As long as ``new`` when ``exact``.
        place: the bytes of the reply that named the place (path, search text, line numbers).
        exact: byte k of ``new`` is byte k of ``source``; false where a line end was translated.
    """

    new: Span
    source: Span
    place: Span
    exact: bool = True


def reply_bytes(reply: str) -> bytes:
    """A reply as bytes. Replies that are no valid UTF-8 travel as ``str`` with surrogateescape."""
    return reply.encode("utf-8", "surrogateescape")


def reply_text(reply: bytes) -> str:
    """The inverse of :func:`reply_bytes`, for any bytes."""
    return reply.decode("utf-8", "surrogateescape")
