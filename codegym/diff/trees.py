"""Syntax trees of texts: parsed once, and from the tree of the text before where there is one.

    old_tree, new_tree = parse_both(language, old, new, cuts)

Parsing runs at 12 MB/s and would be most of the time of a small change in a long file. tree-sitter parses a changed
text again only around its hunks. Where neither text holds an error the result is the tree that parsing from the start
gives (``tests/codegym/test_diff_trees.py`` compares them); where one does, recovery may depend on the tree before, so
such a text is parsed from the start: a tree never depends on what was parsed earlier.
"""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache

from tree_sitter import Language as Grammar
from tree_sitter import Parser, Point, Tree

from codegym.diff.languages import Language
from codegym.diff.lines import Cut, common_prefix, common_suffix

#: Trees kept. An episode compares the same few files turn after turn, the trajectories of a group start from the same.
MOST_KEPT = 64


class GrammarMissing(Exception):  # noqa: N818 - not an error: the way to the fall-back; its text is the diff's note
    """The wheel of a grammar is not installed or does not fit."""


_kept: OrderedDict[tuple[str, str, bytes], Tree] = OrderedDict()  # the one used last stands last


def forget() -> None:
    """Drop the trees that are kept."""
    _kept.clear()


@lru_cache
def _parser(grammar: str, function: str) -> Parser:
    try:
        return Parser(Grammar(getattr(importlib.import_module(grammar), function)()))
    except (ImportError, AttributeError, ValueError, TypeError) as failure:
        wheel = grammar.replace("_", "-")
        raise GrammarMissing(f"no grammar ({failure}; pip install {wheel})") from None


def parse(language: Language, text: bytes) -> Tree:
    """The syntax tree of a text. Raises GrammarMissing."""
    return _keep(language, text, lambda: _from_the_start(language, text))


def parse_both(language: Language, old: bytes, new: bytes, cuts: Sequence[Cut]) -> tuple[Tree, Tree]:
    """The syntax trees of two texts that differ in ``cuts``. Raises GrammarMissing."""
    before = parse(language, old)
    return before, _keep(language, new, lambda: _changed(language, before, old, new, cuts))


def _keep(language: Language, text: bytes, make: Callable[[], Tree]) -> Tree:
    key = (language.grammar, language.function, text)
    tree = _kept.pop(key, None) or make()
    _kept[key] = tree
    if len(_kept) > MOST_KEPT:
        _kept.popitem(last=False)
    return tree


def _from_the_start(language: Language, text: bytes) -> Tree:
    return _parser(language.grammar, language.function).parse(text)


def _changed(language: Language, before: Tree, old: bytes, new: bytes, cuts: Sequence[Cut]) -> Tree:
    if before.root_node.has_error or 2 * sum(cut[3] - cut[2] for cut in cuts) > len(new):
        return _from_the_start(language, new)
    after = _again(language, before, old, new, cuts)
    return _from_the_start(language, new) if after.root_node.has_error else after


def _again(language: Language, before: Tree, old: bytes, new: bytes, cuts: Sequence[Cut]) -> Tree:
    """The tree of a text, parsed around the bytes that changed."""
    edited = before.copy()
    places: list[tuple[int, int, int, Point, Point, Point]] = []
    at, row = 0, 0
    for low, high, start, end in cuts:
        head = common_prefix(old[low:high], new[start:end])
        tail = common_suffix(old[low:high], new[start:end], min(high - low, end - start) - head)
        a, b, c, d = low + head, high - tail, start + head, end - tail
        row += old.count(b"\n", at, a)
        point = Point(row, a - old.rfind(b"\n", 0, a) - 1)
        places.append((a, b, a + d - c, point, _after(point, old[a:b]), _after(point, new[c:d])))
        row, at = places[-1][4].row, b
    for place in reversed(places):  # what stands before a hunk still stands where it stood
        edited.edit(*place)
    return _parser(language.grammar, language.function).parse(new, edited)


def _after(start: Point, text: bytes) -> Point:
    """Where a text ends that begins at a point."""
    rows = text.count(b"\n")
    return Point(start.row + rows, len(text) - text.rfind(b"\n") - 1 if rows else start.column + len(text))
