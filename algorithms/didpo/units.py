"""Written text as units to compare: one per line of code, made of the leaves of the syntax tree.

Comments are dropped and spacing (indentation, line ends, blank lines) is folded, so that the same code laid out
differently is equal; each unit keeps the exact bytes it came from. Whitespace inside a string literal is content.
Text in a language without a grammar here is split into words and signs, comments included, since what a comment is
cannot be known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import tree_sitter
import tree_sitter_python

#: What the grammar calls spacing: a backslash before a line end joins lines and says nothing.
_SPACING = {"line_continuation"}
_WORD = re.compile(rb"[\w\x80-\xff]+|[^\w\s\x80-\xff]")


@dataclass(frozen=True)
class Unit:
    """A line's leaves joined by blanks, and the bytes [start, end) from its first leaf to its last."""

    text: bytes
    start: int
    end: int


@dataclass(frozen=True)
class Units:
    """The units of one text, and which runs of them [first, last) are whole nodes of the syntax tree."""

    units: tuple[Unit, ...]
    nodes: tuple[tuple[int, int], ...]


@functools.lru_cache(maxsize=4096)
def units_of(text: bytes, language: str | None) -> Units:
    """Split a text. Equal texts are parsed once: replies of a group repeat each other, and turns their own."""
    spans: list[tuple[int, int]] = []
    if language == "python":
        leaves = _leaves(text, spans)
    else:
        leaves = ((match.start(), match.end()) for match in _WORD.finditer(text))
    units = tuple(_lines(text, leaves))
    starts = {unit.start: k for k, unit in enumerate(units)}
    ends = {unit.end: k + 1 for k, unit in enumerate(units)}
    runs = {(starts[start], ends[end]) for start, end in spans if start in starts and end in ends}
    return Units(units, tuple(sorted(run for run in runs if run[1] - run[0] > 1)))


def _lines(text: bytes, leaves: Iterator[tuple[int, int]]) -> Iterator[Unit]:
    parts: list[bytes] = []
    start = end = 0
    for first, last in leaves:
        if parts and text.find(b"\n", end, first) >= 0:
            yield Unit(b" ".join(parts), start, end)
            parts = []
        if not parts:
            start = first
        parts.append(text[first:last])
        end = last
    if parts:
        yield Unit(b" ".join(parts), start, end)


@functools.cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))


def _leaves(text: bytes, spans: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Byte ranges of the leaves, none crossing a line end; the ranges of inner named nodes go to ``spans``.

    Bytes between two leaves that are no whitespace count as a leaf too: a string's content has its escape sequences
    as children and nothing for the text around them.
    """
    done = 0
    cursor = _parser().parse(text).walk()
    while True:
        node = cursor.node
        assert node is not None
        start, end, kind = node.start_byte, node.end_byte, node.type
        spacing = kind == "comment" or kind in _SPACING
        if cursor.goto_first_child():
            if node.is_named:
                spans.append((start, end))
            continue
        yield from _within_lines(text, done, start)
        if not spacing:
            yield from _within_lines(text, max(start, done), end)
        done = max(done, end)
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                yield from _within_lines(text, done, len(text))
                return


def _within_lines(text: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """[start, end) without surrounding whitespace, cut at line ends."""
    if end - start == 1:  # most leaves are signs
        if not text[start:end].isspace():
            yield start, end
        return
    piece = text[start:end]
    if b"\n" not in piece and piece and not piece[:1].isspace() and not piece[-1:].isspace():
        yield start, end
        return
    for line in piece.split(b"\n"):
        stripped = line.strip()
        if stripped:
            offset = start + len(line) - len(line.lstrip())
            yield offset, offset + len(stripped)
        start += len(line) + 1
