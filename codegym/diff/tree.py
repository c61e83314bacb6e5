"""The parts of two syntax trees that differ, as flat arrays.

:func:`differing` walks down from the two roots, past everything whose text is equal, so that arrays are built for the
changed parts alone. :class:`Forest` holds named nodes in preorder; what else stands in a node (keywords, operators,
punctuation, the text of a string around its escapes) is its ``form``. Equal ``ident`` means equal subtree but for
blanks (hash-consing). Nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
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
Twin = Callable[[Node], bool]  # whether the other tree has the same node at the same place


class TooLarge(Exception):  # noqa: N818 - not an error: the way to the fall-back; its text is the diff's note
    """The changed part is too large to compare as syntax."""


@dataclass
class Forest:
    """Subtrees of one file in preorder: node i's descendants are i+1 to i+size[i]-1.

    ``parent`` is -1 for the outermost nodes, ``gap`` (of those) the number of equal siblings before them.
    ``name`` is the symbol that a node defines, or "". ``items`` are a node's children in the order of the text: the
    number of a named node, or the byte range of a token. ``closed`` nodes are not looked into: no hunk touches them.
    ``weight`` is the size as if they were.
    """

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

    def add(
        self, root: Node, gap: int, text: bytes, language: Language, idents: dict[object, int], twin: Twin | None
    ) -> None:
        """Append a subtree. Nodes that have a ``twin`` are closed.

        Raises TooLarge.
        """
        cursor = root.walk()
        path: list[int] = []
        forms: list[list[bytes | None]] = []
        done: list[int] = []  # where the text ends that each open node's form has so far
        self.top.append(len(self.kind))
        self.gap[len(self.kind)] = gap
        while True:
            node = cursor.node
            assert node is not None
            start = node.start_byte
            if path and start > done[-1] and not (between := text[done[-1] : start]).isspace():
                forms[-1].append(between)
            if node.is_named:
                index = self._enter(node, path[-1] if path else -1, language)
                if path:
                    forms[-1].append(None)
                    self.items[path[-1]].append(index)
                path.append(index)
                forms.append([])
                done.append(start)
                if twin is not None and node.child_count and twin(node):
                    self.closed.append(index)
                    self.weight[index] = max(1, node.descendant_count // 2)  # about half of all nodes are named
                elif cursor.goto_first_child():
                    continue
                self._leave(path.pop(), forms.pop(), done.pop(), text, idents)
            else:
                forms[-1].append(text[start : node.end_byte])
                self.items[path[-1]].append((start, node.end_byte))
            if path:
                done[-1] = node.end_byte
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                index = path.pop()
                self._leave(index, forms.pop(), done.pop(), text, idents)
                if path:
                    done[-1] = self.end[index]

    def _enter(self, node: Node, parent: int, language: Language) -> int:
        index = len(self.kind)
        if index == MOST_NODES:
            raise TooLarge(f"more than {MOST_NODES} syntax nodes differ")
        kind = node.type
        self.kind.append(kind)
        self.start.append(node.start_byte)
        self.end.append(node.end_byte)
        self.parent.append(parent)
        self.size.append(1)
        self.weight.append(1)
        self.form.append(())
        self.ident.append(-1)
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
        if parent >= 0:
            self.kids[parent].append(index)
        return index

    def _leave(self, index: int, form: list[bytes | None], done: int, text: bytes, idents: dict[object, int]) -> None:
        self.size[index] = len(self.kind) - index
        self.weight[index] += sum([self.weight[kid] for kid in self.kids[index]])
        end = self.end[index]
        if done < end and not (rest := text[done:end]).isspace():
            form.append(rest)
        self.form[index] = tuple(form)
        key = (self.kind[index], self.form[index], tuple([self.ident[kid] for kid in self.kids[index]]))
        self.ident[index] = idents.setdefault(key, len(idents))


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
    forests = Forest(outer=outer, wrapped=wrapped), Forest(outer=outer, wrapped=wrapped)

    def old_twin(node: Node) -> bool:
        at = kept.of_old(node.start_byte, node.end_byte)
        return at is not None and _stands(new.root_node, node, at)

    def new_twin(node: Node) -> bool:
        at = kept.of_new(node.start_byte, node.end_byte)
        return at is not None and _stands(old.root_node, node, kept.back(at))

    for node, gap in left:
        forests[0].add(node, gap, old_text, language, idents, old_twin if closed else None)
    for node, gap in right:
        forests[1].add(node, gap, new_text, language, idents, new_twin if closed else None)
    return Differing(*forests, levels)


def _stands(root: Node, node: Node, at: int) -> bool:
    """Whether a tree has a node of the same kind and length at a place."""
    end = at + node.end_byte - node.start_byte
    there = root.named_descendant_for_byte_range(at, end)
    while there is not None and there.start_byte == at and there.end_byte == end:
        if there.type == node.type:
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
