"""Written text as units to compare: one per line of code, made of its tokens.

Comments are dropped and spacing (indentation, line ends, blank lines) is folded, so that the same code laid out
differently is equal; each unit keeps the exact bytes it came from. Whitespace inside a string literal is content.
Text in a language without a lexer here is split into words and signs, comments included, since what a comment is
cannot be known.

A lexer and not a parser, because what a diff wrote is a fragment: it begins and ends inside of statements and blocks,
where a grammar sees errors. Structure comes from the layout: a line and the deeper ones below it are one statement or
definition, of which a formatter leaves nothing else.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Lexer:
    """What a family of languages writes beside words and signs: patterns of comments and of literals.

    Attributes:
        line: what begins a comment up to the line's end.
        spanning: what every comment or literal of several lines has in it.
        raw: literals whose end repeats their beginning, as the pattern's only group; ``spanning`` has theirs, too.
    """

    line: bytes
    comment: bytes
    literal: bytes
    spanning: tuple[bytes, ...]
    raw: bytes = b""


def _quoted(sign: bytes, over_lines: bool = False) -> bytes:
    r"""A literal between two signs, ``\`` escaping. Fragments have open ones, whose sign is then one like any other.

    But where signs are escaped in it, an open one goes up to the end: else each of them would begin a search to there.
    """
    stop = sign if over_lines else sign + rb"\n"
    rest = rb"(?:[^%b\\]|\\.)*" % stop
    return rb"%b%b+%b|%b(?:[^%b\\]|\\[^%b])*+\\%b%b(?<=\S)" % (sign, rest, sign, sign, stop, sign, sign, rest)


def _fenced(sign: bytes) -> bytes:
    return rb"%b(?:[^\\]|\\(?:.|\Z))*?(?:%b|\Z)" % (sign, sign)


_SINGLE, _DOUBLE = _quoted(b"'"), _quoted(b'"')
_QUOTED = _DOUBLE + b"|" + _SINGLE
_JOINED = (b"\\\n", b"\\\r")
_PYTHON = Lexer(
    b"#", rb"#[^\n]*+", b"|".join((_fenced(b'"""'), _fenced(b"'''"), _QUOTED)), (b'"""', b"'''", *_JOINED)
)  # fmt: skip
_SHELL = Lexer(b"#", rb"#[^\n]*+", _quoted(b'"', over_lines=True) + rb"|'[^']*+'", (b'"', b"'", *_JOINED))


def _braces(literal: bytes, *spanning: bytes, raw: bytes = b"") -> Lexer:
    return Lexer(b"//", rb"//[^\n]*+|/\*.*?(?:\*/|\Z)", literal, (b"/*", *spanning, *_JOINED), raw)


#: A slash where no operand is before it begins a regular expression.
_REGEX = rb"(?:(?<=[(,=:\[!&|?{};])|(?<=[(,=:\[!&|?{};] )|(?<=return ))/(?![*/])(?:[^/\\\n]|\\[^\n])++/"
_SCRIPT = _braces(b"|".join((_quoted(b"`", over_lines=True), _QUOTED, _REGEX)), b"`")
_GO = _braces(rb"`[^`]*+`|" + _QUOTED, b"`")
_TEXT_BLOCKS = _braces(_fenced(b'"""') + b"|" + _QUOTED, b'"""')
#: A quote after a digit parts the digits of a number.
_C = _braces(
    _DOUBLE + rb"|(?<![0-9a-fA-F])(?:" + _SINGLE + rb")",
    b'R"',
    raw=rb'(?:u8|[uUL])?R"([^()\\\s]{0,16}+)\(.*?(?:\)\2"|\Z)',
)
#: One quote alone begins a lifetime.
_RUST = _braces(
    _quoted(b'"', over_lines=True) + rb"|'(?:\\[^\n][^'\n]{0,9}+|[^'\\\n\x80-\xff]|[\x80-\xff]{2,4}+)'",
    b'"',
    raw=rb'(?:b|c)?r(#*+)".*?(?:"\2|\Z)',
)
LEXERS: dict[str, Lexer] = {
    "python": _PYTHON,
    **dict.fromkeys(("bash", "shell", "ruby", "toml", "yaml"), _SHELL),
    **dict.fromkeys(("c", "cpp"), _C),
    **dict.fromkeys(("javascript", "typescript", "tsx", "php"), _SCRIPT),
    **dict.fromkeys(("java", "csharp", "kotlin", "scala", "swift"), _TEXT_BLOCKS),
    "go": _GO,
    "rust": _RUST,
}
_INK = rb"[\w\x80-\xff]++|[^\w\s\x80-\xff]"
#: A line at the depth of a statement's first that begins with one of these belongs to it.
_GOES_ON = frozenset((b"}", b")", b"]", b"else", b"elif", b"except", b"finally", b"catch", b"end"))
_TAB = 8


@dataclass(frozen=True)
class Units:
    """The units of one text.

    Attributes:
        texts: per unit its tokens joined by blanks.
        starts, ends: the bytes of the text from its first token to its last.
        runs: [first, last) of units that are one statement by the layout, in order, outer ones first; those of one unit
            only at the least depth of the text.
        depths: how many runs are around each.
    """

    texts: tuple[bytes, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]
    depths: tuple[int, ...]


@functools.lru_cache(maxsize=1024)
def units_of(text: bytes, language: str | None) -> Units:
    """Split a text. Equal texts are split once: replies of a group repeat each other, and turns their own."""
    lexer = LEXERS.get(language or "")
    spanning = lexer is not None and any(sign in text for sign in lexer.spanning)
    texts: list[bytes] = []
    starts: list[int] = []
    ends: list[int] = []
    indents: list[int] = []
    position = 0
    lines = text.split(b"\n")
    for raw, (row, start, end) in zip(
        lines, _across(text, lines, lexer) if spanning and lexer else _alone(text, lines, lexer), strict=True
    ):
        if row:
            texts.append(row)
            starts.append(position + start)
            ends.append(position + end)
            indents.append(len(raw[:start].expandtabs(_TAB)) if start else 0)
        position += len(raw) + 1
    return Units(tuple(texts), tuple(starts), tuple(ends), *_layout(texts, indents))


@functools.cache
def _patterns(lexer: Lexer | None) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """One that finds every token and line end, comments included; one whose group 1 tells comments."""
    if lexer is None:
        return re.compile(_INK + rb"|\n"), re.compile(_INK)
    tokens = lexer.literal + b"|" + _INK
    raw = lexer.raw + b"|" if lexer.raw else b""
    return (
        re.compile(lexer.comment + b"|" + tokens + rb"|\n", re.DOTALL),
        re.compile(b"(" + lexer.comment + b")|" + raw + tokens, re.DOTALL),
    )


_Row = tuple[bytes, int, int]  # the tokens of a line joined by blanks, the first and last byte of them in it


def _alone(text: bytes, lines: list[bytes], lexer: Lexer | None) -> Iterator[_Row]:
    """The rows of a text in which every token is in one line: found all at once, three times as fast."""
    every, exact = _patterns(lexer)
    tokens = every.findall(text)
    if lexer is not None and lexer.line in text:
        tokens = [token for token in tokens if not token.startswith(lexer.line)]
    for raw, joined in zip(lines, b" ".join(tokens).split(b"\n"), strict=True):
        row = joined.strip(b" ")
        if not row:
            yield b"", 0, 0
        elif lexer is not None and lexer.line in raw:
            yield row, len(raw) - len(raw.lstrip()), max(m.end() for m in exact.finditer(raw) if m.lastindex is None)
        else:
            yield row, len(raw) - len(raw.lstrip()), len(raw.rstrip())


def _across(text: bytes, lines: list[bytes], lexer: Lexer) -> Iterator[_Row]:
    """The rows of a text in which a token may span lines; such a token is cut at line ends."""
    tokens = _ink(text, _patterns(lexer)[1])
    ahead = next(tokens, None)
    position = 0
    for raw in lines:
        mine = []
        while ahead is not None and ahead[0] < position + len(raw):
            mine.append(ahead)
            ahead = next(tokens, None)
        if mine:
            yield b" ".join([text[a:b] for a, b in mine]), mine[0][0] - position, mine[-1][1] - position
        else:
            yield b"", 0, 0
        position += len(raw) + 1


def _ink(text: bytes, tokens: re.Pattern[bytes]) -> Iterator[tuple[int, int]]:
    for match in tokens.finditer(text):
        start, end = match.span()
        if match.lastindex == 1 or (text[start:end] == b"\\" and text[end : end + 2].lstrip(b"\r")[:1] == b"\n"):
            continue  # a comment, or what joins two lines and says nothing
        if b"\n" not in match[0]:
            yield start, end
            continue
        for piece in match[0].split(b"\n"):
            stripped = piece.strip()
            if stripped:
                first = start + len(piece) - len(piece.lstrip())
                yield first, first + len(stripped)
            start += len(piece) + 1


def _layout(texts: list[bytes], indents: list[int]) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Statements by indentation: a line, the deeper lines below it, and closing lines at its own depth."""
    found: list[tuple[int, int, int]] = []
    open_at: list[int] = []

    def close(last: int) -> None:
        first = open_at.pop()
        if last - first > 1 or not open_at:
            found.append((first, -last, len(open_at)))

    for k, indent in enumerate(indents):
        while open_at and indents[open_at[-1]] > indent:
            close(k)
        if open_at and indents[open_at[-1]] == indent:
            if texts[k].split(b" ", 1)[0] in _GOES_ON:
                continue
            close(k)
        open_at.append(k)
    while open_at:
        close(len(texts))
    found.sort()
    return tuple((first, -last) for first, last, _ in found), tuple(depth for _, _, depth in found)
