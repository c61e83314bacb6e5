"""The parts of two syntax trees that differ, as flat arrays.

:func:`differing` walks down from the two roots, past everything whose text is equal, so that arrays are built for the
changed parts alone. :class:`Forest` holds named nodes in preorder; keywords and operators are part of their parent's
``value``, punctuation is dropped. Equal ``ident`` means equal subtree (hash-consing). Nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node, Tree

from codegym.diff.languages import Language
from codegym.diff.lines import Kept, unequal_blocks

#: Named nodes of one side that are compared; 20,000 take about 0.5 s, and a larger change is read by lines anyway.
MOST_NODES = 20_000

_PUNCTUATION = frozenset("()[]{},:;.\"'`")


class TooLarge(Exception):  # noqa: N818 - not an error: the way to the fall-back; its text is the diff's note
    """The changed part is too large to compare as syntax."""


@dataclass
class Forest:
    """Subtrees of one file in preorder: node i's descendants are i+1 to i+size[i]-1.

    ``parent`` is -1 for the outermost nodes, ``gap`` (of those) the number of equal siblings before them.
    ``name`` is the symbol that a node defines, or "".
    """

    kind: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    value: list[tuple[bytes, ...]] = field(default_factory=list)
    ident: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    kids: list[list[int]] = field(default_factory=list)
    top: list[int] = field(default_factory=list)
    gap: dict[int, int] = field(default_factory=dict)
    outer: tuple[str, ...] = ()

    def symbol(self, node: int) -> str:
        """The dotted path of the definitions around a node, its own included."""
        names: list[str] = []
        while node >= 0:
            if self.name[node]:
                names.append(self.name[node])
            node = self.parent[node]
        return ".".join([*self.outer, *reversed(names)])

    def add(self, root: Node, gap: int, text: bytes, language: Language, idents: dict[object, int]) -> None:
        """Append a subtree. Raises TooLarge."""
        cursor = root.walk()
        path = [-1]
        self.top.append(len(self.kind))
        self.gap[len(self.kind)] = gap
        while True:
            node = cursor.node
            assert node is not None
            named = node.is_named
            if named:
                path.append(self._enter(node, path[-1], text, language, cursor.field_name == "name"))
            elif node.type not in _PUNCTUATION:
                self.value[path[-1]] += (text[node.start_byte : node.end_byte],)
            if named and cursor.goto_first_child():
                continue
            if named:
                self._leave(path.pop(), text, idents)
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                self._leave(path.pop(), text, idents)

    def _enter(self, node: Node, parent: int, text: bytes, language: Language, is_name: bool) -> int:
        index = len(self.kind)
        if index == MOST_NODES:
            raise TooLarge(f"more than {MOST_NODES} syntax nodes differ")
        kind = node.type
        self.kind.append(kind)
        self.start.append(node.start_byte)
        self.end.append(node.end_byte)
        self.parent.append(parent)
        self.size.append(1)
        self.value.append(())
        self.ident.append(-1)
        self.kids.append([])
        self.name.append(own_name(node, language) if parent < 0 or self.kind[parent] not in language.wrappers else "")
        if parent >= 0:
            self.kids[parent].append(index)
        return index

    def _leave(self, index: int, text: bytes, idents: dict[object, int]) -> None:
        kids = self.kids[index]
        self.size[index] = len(self.kind) - index
        if not kids:
            self.value[index] = (text[self.start[index] : self.end[index]],)
        key = (self.kind[index], self.value[index], tuple(self.ident[kid] for kid in kids))
        self.ident[index] = idents.setdefault(key, len(idents))


def own_name(node: Node, language: Language) -> str:
    """The symbol that a node defines, or ""."""
    if node.type in language.wrappers:
        inner = [child for child in node.named_children if child.type in language.definitions]
        node = inner[0] if inner else node
    if node.type not in language.definitions:
        return ""
    name = node.child_by_field_name("name")
    return name.text.decode("utf-8", "replace") if name is not None and name.text else ""


@dataclass(frozen=True)
class _Side:
    node: Node
    gap: int


def differing(
    old: Tree, old_text: bytes, new: Tree, new_text: bytes, language: Language, kept: Kept
) -> tuple[Forest, Forest]:
    """The smallest lists of sibling subtrees that hold all differences, under parents that correspond."""
    left, right = [_Side(old.root_node, 0)], [_Side(new.root_node, 0)]
    outer: tuple[str, ...] = ()
    while len(left) == len(right) == 1 and left[0].gap == right[0].gap:
        a, b = left[0].node, right[0].node
        names = own_name(a, language), own_name(b, language)
        inner = a.named_child_count and b.named_child_count
        if a.type != b.type or names[0] != names[1] or not (inner or a.parent is None):
            break  # the roots correspond even where one is empty
        inside = _unequal_children(a, old_text, b, new_text, kept)
        if inside is None:
            break
        left, right = inside
        # A definition under its wrapper has the wrapper's name, which is there already.
        if names[0] and not (a.parent is not None and a.parent.type in language.wrappers):
            outer += (names[0],)
    idents: dict[object, int] = {}
    forests = Forest(outer=outer), Forest(outer=outer)
    for forest, sides, text in ((forests[0], left, old_text), (forests[1], right, new_text)):
        for side in sides:
            forest.add(side.node, side.gap, text, language, idents)
    return forests


def _unequal_children(
    a: Node, old_text: bytes, b: Node, new_text: bytes, kept: Kept
) -> tuple[list[_Side], list[_Side]] | None:
    """Children that are in no common subsequence, or None if the nodes themselves differ (an operator).

    A child that no hunk touches corresponds to the child in its place, any other to one of equal text.
    """
    if max(a.child_count, b.child_count) > MOST_NODES:
        raise TooLarge(f"more than {MOST_NODES} siblings")
    left, right = ([child for child in node.children if child.type not in _PUNCTUATION] for node in (a, b))

    def keys(nodes: Sequence[Node], text: bytes, place: Callable[[int, int], int | None]) -> list[Hashable]:
        spans = [(node.type, node.start_byte, node.end_byte) for node in nodes]
        return [(kind, text[start:end] if (at := place(start, end)) is None else at) for kind, start, end in spans]

    old_keys, new_keys = keys(left, old_text, kept.of_old), keys(right, new_text, kept.of_new)
    most = min(len(left), len(right))
    head = next((k for k in range(most) if old_keys[k] != new_keys[k]), most)
    most -= head
    tail = next((k for k in range(most) if old_keys[-1 - k] != new_keys[-1 - k]), most)
    old_middle, new_middle = old_keys[head : len(left) - tail], new_keys[head : len(right) - tail]
    blocks = [(0, len(old_middle), 0, len(new_middle))]
    if old_middle and new_middle:
        found = unequal_blocks(old_middle, new_middle)
        if found is None:
            raise TooLarge("too many siblings differ")
        blocks = found
    sides: tuple[list[_Side], list[_Side]] = [], []
    for gap, (i, j, k, m) in enumerate(blocks):
        sides[0].extend(_Side(node, gap) for node in left[head + i : head + j])
        sides[1].extend(_Side(node, gap) for node in right[head + k : head + m])
    if any(not side.node.is_named for side in (*sides[0], *sides[1])):
        return None
    return sides
