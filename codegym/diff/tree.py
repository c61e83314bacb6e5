"""The parts of two syntax trees that differ.

:func:`differing` walks down from the two roots, past everything whose text is equal, so that forests are built for the
changed parts alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tree_sitter import Node, Tree

from codegym.diff.forest import MOST_NODES, PUNCTUATION, SIGNS, Forest, Place, Side, Token, TooLarge
from codegym.diff.languages import Language, own_name
from codegym.diff.lines import Cut, Kept, unequal_blocks

Key = tuple[str, bytes | int]  # of a child: its kind, and its text or its place


@dataclass(frozen=True)
class Level:
    """Two nodes that correspond and are looked into: their children, and the ranges of those that do not correspond.

    Punctuation is no child here; ``*_signs`` are its ranges. Outside ``blocks`` the children correspond in order and
    have equal text.
    """

    old: Node
    new: Node
    left: list[Node]
    right: list[Node]
    left_signs: list[Token]
    right_signs: list[Token]
    blocks: list[Cut]


@dataclass(frozen=True)
class Differing:
    """``levels`` from the roots down to the parents of the forests' outermost nodes."""

    old: Forest
    new: Forest
    levels: list[Level]


def differing(
    old: Tree,
    old_text: bytes,
    new: Tree,
    new_text: bytes,
    language: Language,
    kept: Kept,
    *,
    closed: bool,
    joined: bool,
) -> Differing:
    """The smallest lists of sibling subtrees that hold all differences, under parents that correspond.

    ``closed``: subtrees that no hunk touches are single nodes; ``joined``: and neighbours of that sort are one.
    """
    left, right = [(old.root_node, 0)], [(new.root_node, 0)]
    outer: tuple[str, ...] = ()
    levels: list[Level] = []
    wrapped = False  # the node around is a wrapper whose name stands in the path already
    while len(left) == len(right) == 1 and left[0][1] == right[0][1]:
        a, b = left[0][0], right[0][0]
        names = own_name(a, language), own_name(b, language)
        inner = a.named_child_count and b.named_child_count
        roots = a.parent is None  # they correspond even where one is empty or torn by an error
        if not roots and (a.type != b.type or names[0] != names[1] or not inner):
            break
        level = _level(a, old_text, b, new_text, kept)
        if level is None:
            break
        levels.append(level)
        left = [(node, gap) for gap, (i, j, _, _) in enumerate(level.blocks) for node in level.left[i:j]]
        right = [(node, gap) for gap, (_, _, k, m) in enumerate(level.blocks) for node in level.right[k:m]]
        if names[0] and not wrapped:
            outer += (names[0],)
        wrapped = a.type in language.wrappers and (wrapped or bool(names[0]))
    idents: dict[object, int] = {}
    twins: set[tuple[str, int, int]] = set()

    def new_has(kind: str, at: int, length: int) -> bool:
        found = closed and _stands(new.root_node, kind, at, length)
        if found:
            twins.add((kind, at, length))
        return found

    def old_has(kind: str, at: int, length: int) -> bool:
        return closed and ((kind, at, length) in twins or _stands(old.root_node, kind, kept.back(at), length))

    forests = (
        Forest(Side(kept.of_old, new_has, joined), outer=outer, wrapped=wrapped),
        Forest(Side(kept.of_new, old_has, joined), outer=outer, wrapped=wrapped),
    )
    for node, gap in left:
        forests[0].add(node, gap, old_text, language, idents)
    for node, gap in right:
        forests[1].add(node, gap, new_text, language, idents)
    return Differing(*forests, levels)


def _stands(root: Node, kind: str, at: int, length: int) -> bool:
    """Whether a tree has a node of a kind and length at a place."""
    there = root.named_descendant_for_byte_range(at, at + length)
    while there is not None and there.start_byte == at and there.end_byte == at + length:
        if there.type == kind:
            return True
        there = there.parent
    return False


def _level(a: Node, old_text: bytes, b: Node, new_text: bytes, kept: Kept) -> Level | None:
    """Children that are in no common subsequence, or None if the nodes themselves differ (an operator).

    A child that no hunk touches corresponds to the child in its place, any other to one of equal text between the same
    children of that sort.
    """
    if max(a.child_count, b.child_count) > MOST_NODES:
        raise TooLarge(f"more than {MOST_NODES} siblings")
    left, left_signs, old_form = _children(a, old_text)
    right, right_signs, new_form = _children(b, new_text)

    def keys(nodes: Sequence[Node], text: bytes, place: Place) -> list[Key]:
        spans = [(node.type, node.start_byte, node.end_byte) for node in nodes]
        return [(kind, text[start:end] if (at := place(start, end)) is None else at) for kind, start, end in spans]

    old_keys, new_keys = keys(left, old_text, kept.of_old), keys(right, new_text, kept.of_new)
    most = min(len(left), len(right))
    head = next((k for k in range(most) if old_keys[k] != new_keys[k]), most)
    most -= head
    tail = next((k for k in range(most) if old_keys[-1 - k] != new_keys[-1 - k]), most)
    old_middle, new_middle = _parted(old_keys[head : len(left) - tail], new_keys[head : len(right) - tail])
    blocks = [(0, len(old_middle), 0, len(new_middle))]
    if old_middle and new_middle:
        found = unequal_blocks(old_middle, new_middle)
        if found is None:
            raise TooLarge("too many siblings differ")
        blocks = found
    blocks = [(head + i, head + j, head + k, head + m) for i, j, k, m in blocks]
    if any(not node.is_named for i, j, k, m in blocks for node in (*left[i:j], *right[k:m])):
        return None
    if old_form != new_form:
        # Commas come and go with children; where children stay or are replaced one by one, the node itself differs.
        texts = ([part for part in form if part is not None and part not in SIGNS] for form in (old_form, new_form))
        if all(j - i == m - k for i, j, k, m in blocks) or next(texts) != next(texts):
            return None
    return Level(a, b, left, right, left_signs, right_signs, blocks)


def _parted(left: Sequence[Key], right: Sequence[Key]) -> tuple[list[Hashable], list[Hashable]]:
    """The keys, those that are texts with the number of places that both sides have before them."""
    both = {key for key in left if isinstance(key[1], int)}.intersection(right)
    rows: tuple[list[Hashable], list[Hashable]] = [], []
    for row, keys in zip(rows, (left, right), strict=True):
        passed = 0
        for key in keys:
            passed += key in both
            row.append(key if isinstance(key[1], int) else (key, passed))
    return rows


def _children(node: Node, text: bytes) -> tuple[list[Node], list[Token], list[bytes | None]]:
    """The children that are no punctuation, that punctuation, and all texts in order (None for a child)."""
    children: list[Node] = []
    signs: list[Token] = []
    form: list[bytes | None] = []
    done = node.start_byte
    for child in node.children:
        start = child.start_byte
        if start > done and not (between := text[done:start]).isspace():
            form.append(between)
        done = child.end_byte
        if child.type in PUNCTUATION:
            form.append(text[start:done])
            signs.append((start, done))
        else:
            form.append(None)
            children.append(child)
    if node.end_byte > done and not (rest := text[done : node.end_byte]).isspace():
        form.append(rest)
    return children, signs, form


def in_order(left: Sequence[Hashable], right: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The positions of a longest common subsequence. Raises TooLarge."""
    if set(left).isdisjoint(right):
        return []
    blocks = unequal_blocks(left, right)
    if blocks is None:
        raise TooLarge("too many siblings differ")
    pairs: list[tuple[int, int]] = []
    at, to = 0, 0
    for a, b, c, d in [*blocks, (len(left), 0, len(right), 0)]:
        pairs += zip(range(at, a), range(to, c), strict=True)
        at, to = b, d
    return pairs
