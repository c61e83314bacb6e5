"""Subtrees of a file as flat arrays, which matching is quick on.

:class:`Forest` holds named nodes in preorder; what else stands in a node (keywords, operators, punctuation, the text of
a string around its escapes) is its ``form``. Equal ``ident`` means equal subtree but for blanks (hash-consing). Nothing
here recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from codegym.diff.languages import Language, own_name

#: Named nodes of one side that are compared; 20,000 take about 0.5 s, and a larger change is read by lines anyway.
MOST_NODES = 20_000

PUNCTUATION = frozenset("()[]{},:;.\"'`")
SIGNS = frozenset(sign.encode() for sign in PUNCTUATION)

Form = tuple[bytes | None, ...]  # the tokens and texts of a node in order, None for each named child
Token = tuple[int, int]
Place = Callable[[int, int], int | None]  # of a range, in the new file


@dataclass(frozen=True)
class Side:
    """What is known of one side: ``place`` of a range, and whether the other tree has a kind of node at a place."""

    place: Place
    has_twin: Callable[[str, int, int], bool]
    joined: bool  # whether neighbours with a twin are one node


class TooLarge(Exception):  # noqa: N818 - not an error: the way to the fall-back; its text is the diff's note
    """The changed part is too large to compare as syntax."""


@dataclass
class Forest:
    """Subtrees of one file in preorder: node i's descendants are i+1 to i+size[i]-1.

    ``parent`` is -1 for the outermost nodes, ``gap`` (of those) the number of equal siblings before them.
    ``name`` is the symbol that a node defines, or "". ``items`` are a node's children in the order of the text: the
    number of a named node, or the byte range of a token. ``closed`` nodes are not looked into: no hunk touches them.
    ``weight`` is the size as if they were. ``runs`` are neighbours of that sort that are one closed node, of kind
    "same". ``side`` says where in the new file what no hunk touches stands.
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
    runs: dict[int, list[str]] = field(default_factory=dict)  # the kinds of the nodes in each
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
        return tuple(part for part in self.form[node] if part is not None and part not in SIGNS)

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
            last, said, had = -1, 0, 0  # a child that the next one may join, what was said and held up to it
            for child in children:
                start, end = child.start_byte, child.end_byte
                if start > done and not (between := text[done:start]).isspace():
                    form.append(between)
                done = end
                if not child.is_named:
                    form.append(text[start:end])
                    self.items[index].append((start, end))
                    continue
                if last >= 0 and self._joins(last, child):
                    del form[said:], self.items[index][had:]
                    continue
                form.append(None)
                inner = len(self.kind)
                self.items[index].append(inner)
                self.kids[index].append(inner)
                if self._enter(child, index, text, language, idents):
                    around.append((index, children, form, done))
                    index, children, form, done = inner, iter(child.children), [], start
                    break
                if self.side.joined:
                    last, said, had = inner, len(form), len(self.items[index])
            else:
                end = self.end[index]
                if done < end and not (rest := text[done:end]).isspace():
                    form.append(rest)
                self._leave(index, tuple(form), text, idents)
                if not around:
                    return
                index, children, form, done = around.pop()

    def _joins(self, last: int, child: Node) -> bool:
        """Make a child one with the node before it if no hunk touches both and what is between, and both have twins."""
        start, end, kind = child.start_byte, child.end_byte, child.type
        first = self.start[last]
        place, has_twin = self.side.place(first, end), self.side.has_twin
        if place is None or not has_twin(kind, place + start - first, end - start):
            return False
        if last not in self.runs:
            if not has_twin(self.kind[last], place, self.end[last] - first):
                return False
            if not self.closed or self.closed[-1] != last:
                self.closed.append(last)
            self.runs[last] = [self.kind[last]]
            self.kind[last], self.name[last] = "same", ""
        self.runs[last].append(kind)
        self.end[last] = end
        self.weight[last] += max(1, child.descendant_count // 2)
        return True

    def _leave(self, index: int, form: Form, text: bytes, idents: dict[object, int]) -> None:
        kids = self.kids[index]
        for kid in kids:
            if kid in self.runs:
                said = text[self.start[kid] : self.end[kid]]
                self.form[kid] = (said,)
                self.ident[kid] = idents.setdefault((*self.runs[kid], said), len(idents))
        self.form[index] = form
        key = (self.kind[index], form, tuple([self.ident[kid] for kid in kids]))
        self.ident[index] = idents.setdefault(key, len(idents))
        self.size[index] = len(self.kind) - index
        self.weight[index] += sum([self.weight[kid] for kid in kids])

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
