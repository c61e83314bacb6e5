"""Which parts of a shell command are text: quoted strings and the bodies of heredocs.

Used to see that a fence inside a heredoc does not end the block around the command. It follows POSIX quoting, with
bash's ``$'..'``, ``<<<`` and ``((..))``; nothing is expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from codegym.spans import Span

_TOKEN = re.compile(rb"""\\.|\$'|['"\n]|\$?\(\(|\$?\(|\)\)?|<<<|<<-?|\#|\Z""", re.DOTALL)
_IN_DOUBLE = re.compile(rb"""\\.|"|\$\(\(|\$\(|\Z""", re.DOTALL)
_ANSI_END = re.compile(rb"(?:[^\\']|\\.)*+(?:'|\Z)", re.DOTALL)
_WORD = re.compile(rb"""[ \t]*+((?:\\.|'[^'\n]*'|"[^"\n]*"|[^\s;&|<>()'"\\])++)""", re.DOTALL)
_BEFORE_COMMENT = b" \t\n;&|()"


class Region(NamedTuple):
    """Bytes that are text, what they are for a message, and whether the data ends before they do."""

    span: Span
    name: str
    open: bool


def regions(data: bytes, start: int) -> Iterator[Region]:
    """The text in the command that begins at ``start``, in order, up to the end of ``data``."""
    nesting: list[bytes] = []  # what is open around the position: ( or ((, and " around those
    pending: list[tuple[bytes, bool]] = []
    position, quoted = start, -1  # quoted: where the outermost double quote began
    while True:
        double = bool(nesting) and nesting[-1] == b'"'
        match = (_IN_DOUBLE if double else _TOKEN).search(data, position)
        assert match is not None
        token, begin, position = match[0], match.start(), match.end()
        if not token:
            if quoted >= 0:
                yield Region(Span(quoted, len(data)), "a double quote", True)
            return
        if token == b'"':
            if double:
                nesting.pop()
                if b'"' not in nesting:
                    yield Region(Span(quoted, position), "a double quote", False)
                    quoted = -1
            else:
                quoted = begin if quoted < 0 else quoted
                nesting.append(token)
        elif token in (b"'", b"$'"):
            position = _single_end(data, token, position)
            if quoted < 0:
                ends = data[position - 1 : position] == b"'" and position > begin + len(token)
                yield Region(Span(begin, position), "a single quote", not ends)
        elif token.endswith(b"("):
            nesting.append(token.removeprefix(b"$"))
        elif token.startswith(b")"):
            position = _close(nesting, token, begin)
        elif token == b"#":
            if begin == start or data[begin - 1 : begin] in _split(_BEFORE_COMMENT):
                end = data.find(b"\n", position)
                position = len(data) if end < 0 else end
        elif token in (b"<<", b"<<-") and b"((" not in nesting[-1:]:
            word = _WORD.match(data, position)
            if word is not None:
                pending.append((_unquoted(word[1]), token == b"<<-"))
                position = word.end()
        elif token == b"\n" and pending:
            for delimiter, tabs in pending:
                end, found = _heredoc_end(data, position, delimiter, tabs)
                if quoted < 0 or not found:
                    name = "the heredoc <<" + delimiter.decode("utf-8", "backslashreplace")
                    yield Region(Span(position, end), name, not found)
                position = end
            pending = []


def _split(letters: bytes) -> list[bytes]:
    return [letters[k : k + 1] for k in range(len(letters))]


def _single_end(data: bytes, token: bytes, position: int) -> int:
    if token == b"$'":
        match = _ANSI_END.match(data, position)
        return match.end() if match else len(data)
    end = data.find(b"'", position)
    return len(data) if end < 0 else end + 1


def _close(nesting: list[bytes], token: bytes, begin: int) -> int:
    """Where reading goes on after ``)`` or ``))``, which closes what is open, or one parenthesis of it."""
    if token == b"))" and nesting[-1:] == [b"(("]:
        nesting.pop()
        return begin + 2
    if nesting[-1:] == [b"("]:
        nesting.pop()
    elif nesting[-1:] == [b"(("]:
        nesting[-1] = b"("  # two subshells, no arithmetic
    return begin + 1


def _unquoted(word: bytes) -> bytes:
    return re.sub(rb"""\\(.)|['"]""", lambda match: match[1] or b"", word, flags=re.DOTALL)


def _heredoc_end(data: bytes, position: int, delimiter: bytes, tabs: bool) -> tuple[int, bool]:
    """The end of the line that ends a heredoc, and whether there is one."""
    pattern = rb"^" + (rb"\t*" if tabs else b"") + re.escape(delimiter) + rb"\r?$"
    match = re.compile(pattern, re.MULTILINE).search(data, position)
    return (match.end(), True) if match else (len(data), False)
