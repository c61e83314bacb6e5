"""Half-open byte ranges, and the thread from written bytes back to the reply that wrote them."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import NamedTuple


class Span(NamedTuple):
    """Bytes ``start`` (included) to ``end`` (excluded) of some text."""

    start: int
    end: int


#: The empty range, for what no bytes of the reply say.
NOWHERE = Span(0, 0)


@dataclass(frozen=True)
class Origin:
    """Says which bytes of a reply wrote a range of a file.

    Attributes:
        new: the range written, in the new file. Empty when the edit only deleted.
        source: the bytes of the reply that wrote it. As long as ``new`` when ``exact``.
        place: the bytes of the reply that named the place (path, search text, line numbers).
        exact: byte k of ``new`` is byte k of ``source``; false where a line end was translated.
        header: the bytes that named the file, where they stand apart from ``place``; else empty.
        old: the bytes of the old file that this origin and those it touches replaced; None if that is not known.
    """

    new: Span
    source: Span
    place: Span
    exact: bool = True
    header: Span = NOWHERE
    old: Span | None = None


def _surrogate(error: UnicodeError) -> tuple[bytes, int]:
    assert isinstance(error, UnicodeEncodeError)
    codes = map(ord, error.object[error.start : error.end])
    escaped = (
        bytes([code - 0xDC00]) if 0xDC80 <= code <= 0xDCFF else chr(code).encode("utf-8", "surrogatepass")
        for code in codes
    )
    return b"".join(escaped), error.end


codecs.register_error("codegym.reply", _surrogate)


def reply_bytes(reply: str) -> bytes:
    """A reply as bytes. Replies that are no valid UTF-8 travel as ``str`` with surrogateescape.

    Never raises: any other lone surrogate, which no decoder gives, becomes the three bytes of its code point.
    """
    return reply.encode("utf-8", "codegym.reply")


def reply_text(reply: bytes) -> str:
    """The inverse of :func:`reply_bytes`, for any bytes."""
    return reply.decode("utf-8", "surrogateescape")
