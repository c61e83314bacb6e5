"""Reads JSON out of a reply and keeps where each string stands in it. Used by :mod:`codegym.actions.tool_call`.

::

    value, end = read(b'{"a": "x\\\\n"} and more', 0)
    value["a"].data, value["a"].parts     # b"x\\n", said by the bytes 7 to 8 and 8 to 10; end is 12

Strings are :class:`Text`. Read beyond the standard, because it can mean one thing only: strings in single quotes, line
breaks and tabs inside strings, a comma before a closing bracket. Nothing else is guessed.
"""

from __future__ import annotations

import re
from typing import Any

from codegym.actions.base import BadReply, Text
from codegym.actions.text import Piece, of_pieces
from codegym.spans import Span, reply_bytes

_SPACE = re.compile(rb"[ \t\r\n]*+")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?(?![0-9A-Za-z.])")
_WORD = re.compile(rb"(true|false|null)\b")
_PLAIN = {b'"': re.compile(rb'[^"\\]++'), b"'": re.compile(rb"[^'\\]++")}
_ESCAPE = re.compile(
    rb'\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(["\'\\/bfnrt]))'
)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_WORDS = {b"true": True, b"false": False, b"null": None}
_DEEPEST = 32  # a tool call needs three; a bound keeps the reader's own stack bounded
_LONGEST_NUMBER = 300  # digits; longer ones are no number that a tool takes


class Cut(BadReply):
    """The JSON ends before it is closed."""


def read(data: bytes, position: int, depth: int = 0) -> tuple[Any, int]:
    """The value at ``position`` and where it ends: dict, list, Text, int, float, bool or None. Raises BadReply."""
    position = _skip(data, position)
    letter = data[position : position + 1]
    if depth > _DEEPEST:
        raise BadReply(f"the JSON is nested deeper than {_DEEPEST}: write one tool call")
    if letter == b"{":
        return _object(data, position, depth)
    if letter == b"[":
        return _array(data, position, depth)
    if letter in _PLAIN:
        return _string(data, position)
    if not letter:
        raise Cut("the JSON ends where a value must follow")
    if word := _WORD.match(data, position):
        return _WORDS[word[1]], word.end()
    number = _NUMBER.match(data, position)
    if number is None or len(number[0]) > _LONGEST_NUMBER:
        raise _bad(data, position, "a value")
    return (float(number[0]) if number[1] or number[2] else int(number[0])), number.end()


def _object(data: bytes, position: int, depth: int) -> tuple[dict[str, Any], int]:
    values: dict[str, Any] = {}
    position = _skip(data, position + 1)
    while data[position : position + 1] != b"}":
        if data[position : position + 1] not in _PLAIN:
            raise _bad(data, position, "a name in quotes or }")
        key, position = _string(data, position)
        position = _after(data, position, b":")
        name = key.data.decode("utf-8", "surrogateescape")
        if name in values:
            raise BadReply(f"the JSON names {name[:40]!r} twice")
        values[name], position = read(data, position, depth + 1)
        position = _comma(data, position, b"}")
    return values, position + 1


def _array(data: bytes, position: int, depth: int) -> tuple[list[Any], int]:
    values: list[Any] = []
    position = _skip(data, position + 1)
    while data[position : position + 1] != b"]":
        value, position = read(data, position, depth + 1)
        values.append(value)
        position = _comma(data, position, b"]")
    return values, position + 1


def _string(data: bytes, start: int) -> tuple[Text, int]:
    quote = data[start : start + 1]
    pieces: list[Piece] = []
    position = start + 1
    while True:
        if plain := _PLAIN[quote].match(data, position):
            position = plain.end()
            pieces.append(Piece(plain[0], Span(*plain.span()), True))
        if data[position : position + 1] == quote:
            text = of_pieces(pieces)
            return (text if pieces else Text(b"", Span(position, position))), position + 1
        if len(data) - position < 2:
            raise Cut("the JSON ends inside a string")
        escape = _ESCAPE.match(data, position)
        if escape is None:
            raise _bad(data, position, 'one of the escapes \\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX')
        pieces.append(Piece(_meant(escape), Span(*escape.span()), False))
        position = escape.end()


def _meant(escape: re.Match[bytes]) -> bytes:
    high, low, code, letter = escape.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00).encode()
    if code:
        return reply_bytes(chr(int(code, 16)))  # a lone surrogate is the byte that it stands for in a reply
    return _LETTERS.get(letter, letter)


def _skip(data: bytes, position: int) -> int:
    space = _SPACE.match(data, position)
    return space.end() if space else position


def _after(data: bytes, position: int, mark: bytes) -> int:
    position = _skip(data, position)
    if data[position : position + 1] != mark:
        raise _bad(data, position, mark.decode())
    return _skip(data, position + 1)


def _comma(data: bytes, position: int, close: bytes) -> int:
    """Past the comma, or at the closing bracket."""
    position = _skip(data, position)
    return position if data[position : position + 1] == close else _after(data, position, b",")


def _bad(data: bytes, position: int, wanted: str) -> BadReply:
    if position >= len(data):
        return Cut("the JSON ends before it is closed")
    shown = data[position : position + 20].decode("utf-8", "backslashreplace")
    return BadReply(f"the JSON is malformed at {shown!r}: {wanted} must stand there")


def quoted(data: bytes) -> bytes:
    """A string for JSON. Bytes that are no UTF-8 stand as they are."""
    escaped = re.sub(rb'["\\\x00-\x1f]', lambda match: _SHORT.get(match[0]) or b"\\u%04x" % match[0][0], data)
    return b'"' + escaped + b'"'


_SHORT = {value: b"\\" + key for key, value in _LETTERS.items()} | {b'"': b'\\"', b"\\": b"\\\\"}
