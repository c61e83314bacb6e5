"""The parts of two syntax trees that differ, as flat arrays.

:func:`differing` walks down from the two roots, past everything whose text is equal, so that arrays are built for the
changed parts alone. :class:`Forest` holds named nodes in preorder; what else stands in a node (keywords, operators,
punctuation, the text of a string around its escapes) is its ``form``. Equal ``ident`` means equal subtree but for
blanks (hash-consing). Nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node, Tree

from codegym.diff.languages import Language, own_name
from codegym.diff.lines import Cut, Kept, unequal_blocks

#: Named nodes of one side that are compared; 20,000 take about 0.5 s, and a larger change is read by lines anyway.
MOST_NODES = 20_000

_PUNCTUATION = frozenset("()[]{},:;.\"'`")
_SIGNS = frozenset(sign.encode() for sign in _PUNCTUATION)

Form = tuple[bytes | None, ...]  # the tokens and texts of a node in order, None for each named child
Token = tuple[int, int]
Place = Callable[[int, int], int | None]  # of a range, in the new file


@dataclass(frozen=True)
class Side:
    """What is known of one side: ``place`` of a range, and whether the other tree has a kind of node at a place."""

    place: Place
    has_twin: Callable[[str, int, int], bool]


class TooLarge(Exception):  # noqa: N818 - not an error: the way to the fall-back; its text is the diff's note
    """The changed part is too large to compare as syntax."""


@dataclass
class Forest:
    """Subtrees of one file in preorder: node i's descendants are i+1 to i+size[i]-1.

    ``parent`` is -1 for the outermost nodes, ``gap`` (of those) the number of equal siblings before them.
    ``name`` is the symbol that a node defines, or "". ``items`` are a node's children in the order of the text: the
    number of a named node, or the byte range of a token. ``closed`` nodes are not looked into: no hunk touches them.
    ``weight`` is the size as if they were. ``side`` says where in the new file what no hunk touches stands.
    """

    side: Side

    kind: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    form: list[Form] = field(default_factory=list)
    ident: list[int] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    kids: list[list[int]] = field(default_factory=list)
    items: list[list[int | Token]] = field(default_factory=list)
    top: list[int] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)
    weight: list[int] = field(default_factory=list)
    gap: dict[int, int] = field(default_factory=dict)
    outer: tuple[str, ...] = ()
    wrapped: bool = False  # the outermost nodes stand in a wrapper that ``outer`` names already

    def place(self, node: int) -> int | None:
        """Where in the new file a node stands, or None if a hunk touches it."""
        return self.side.place(self.start[node], self.end[node])

    def symbol(self, node: int) -> str:
        """The dotted path of the definitions around a node, its own included."""
        names: list[str] = []
        while node >= 0:
            if self.name[node]:
                names.append(self.name[node])
            node = self.parent[node]
        return ".".join([*self.outer, *reversed(names)])

    def own(self, node: int) -> Form:
        """What a node says itself: its form without children and punctuation."""
        return tuple(part for part in self.form[node] if part is not None and part not in _SIGNS)

    def add(self, root: Node, gap: int, text: bytes, language: Language, idents: dict[object, int]) -> None:
        """Append a subtree. Nodes that have a twin on the other side are closed.

        Raises TooLarge.
        """
        top = len(self.kind)
        self.top.append(top)
        self.gap[top] = gap
        if not self._enter(root, -1, text, language, idents):
            return
        form: list[bytes | None] = []
        index, children, done = top, iter(root.children), root.start_byte
        around: list[tuple[int, Iterator[Node], list[bytes | None], int]] = []
        while True:
            for child in children:
                start, end = child.start_byte, child.end_byte
                if start > done and not (between := text[done:start]).isspace():
                    form.append(between)
                done = end
                if not child.is_named:
                    form.append(text[start:end])
                    self.items[index].append((start, end))
                    continue
                form.append(None)
                inner = len(self.kind)
                self.items[index].append(inner)
                self.kids[index].append(inner)
                if self._enter(child, index, text, language, idents):
                    around.append((index, children, form, done))
                    index, children, form, done = inner, iter(child.children), [], start
                    break
            else:
                end = self.end[index]
                if done < end and not (rest := text[done:end]).isspace():
                    form.append(rest)
                kids = self.kids[index]
                self.form[index] = said = tuple(form)
                key = (self.kind[index], said, tuple([self.ident[kid] for kid in kids]))
                self.ident[index] = idents.setdefault(key, len(idents))
                self.size[index] = len(self.kind) - index
                self.weight[index] += sum([self.weight[kid] for kid in kids])
                if not around:
                    return
                index, children, form, done = around.pop()

    def _enter(self, node: Node, parent: int, text: bytes, language: Language, idents: dict[object, int]) -> bool:
        """Append a node, and say whether it must be looked into. If not, its text is all that it says."""
        index = len(self.kind)
        if index == MOST_NODES:
            raise TooLarge(f"more than {MOST_NODES} syntax nodes differ")
        kind, start, end = node.type, node.start_byte, node.end_byte
        self.kind.append(kind)
        self.start.append(start)
        self.end.append(end)
        self.parent.append(parent)
        self.size.append(1)
        self.kids.append([])
        self.items.append([])
        name = ""
        if kind in language.definitions or kind in language.wrappers:
            around = parent
            while around >= 0 and self.kind[around] in language.wrappers and not self.name[around]:
                around = self.parent[around]
            if not self.wrapped if around < 0 else self.kind[around] not in language.wrappers:
                name = own_name(node, language)
        self.name.append(name)
        weight = 1
        if node.child_count:
            place = self.side.place(start, end)
            if place is None or not self.side.has_twin(kind, place, end - start):
                self.weight.append(1)
                self.form.append(())
                self.ident.append(-1)
                return True
            self.closed.append(index)
            weight = max(1, node.descendant_count // 2)  # about half of all nodes are named
        said = text[start:end]
        form = (said,) if said and not said.isspace() else ()
        self.weight.append(weight)
        self.form.append(form)
        self.ident.append(idents.setdefault((kind, form, ()), len(idents)))
        return False


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
    old: Tree, old_text: bytes, new: Tree, new_text: bytes, language: Language, kept: Kept, *, closed: bool
) -> Differing:
    """The smallest lists of sibling subtrees that hold all differences, under parents that correspond.

    ``closed``: subtrees that no hunk touches are single nodes.
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
        Forest(Side(kept.of_old, new_has), outer=outer, wrapped=wrapped),
        Forest(Side(kept.of_new, old_has), outer=outer, wrapped=wrapped),
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

    A child that no hunk touches corresponds to the child in its place, any other to one of equal text.
    """
    if max(a.child_count, b.child_count) > MOST_NODES:
        raise TooLarge(f"more than {MOST_NODES} siblings")
    left, left_signs, old_form = _children(a, old_text)
    right, right_signs, new_form = _children(b, new_text)

    def keys(nodes: Sequence[Node], text: bytes, place: Place) -> list[Hashable]:
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
    blocks = [(head + i, head + j, head + k, head + m) for i, j, k, m in blocks]
    if any(not node.is_named for i, j, k, m in blocks for node in (*left[i:j], *right[k:m])):
        return None
    if old_form != new_form:
        # Commas come and go with children; where children stay or are replaced one by one, the node itself differs.
        texts = ([part for part in form if part is not None and part not in _SIGNS] for form in (old_form, new_form))
        if all(j - i == m - k for i, j, k, m in blocks) or next(texts) != next(texts):
            return None
    return Level(a, b, left, right, left_signs, right_signs, blocks)


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
        if child.type in _PUNCTUATION:
            form.append(text[start:done])
            signs.append((start, done))
        else:
            form.append(None)
            children.append(child)
    if node.end_byte > done and not (rest := text[done : node.end_byte]).isspace():
        form.append(rest)
    return children, signs, form
