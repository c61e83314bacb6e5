"""The actions of an edit script, and their replay: the old tree, changed action by action, and written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from codegym.spans import Span


class OldNode(NamedTuple):
    """A node or token of the old file: its bytes, and the number of the node around it (-1 for the file)."""

    kind: str
    span: Span
    parent: int


@dataclass(frozen=True, slots=True)
class Action:
    """One step.

    Attributes:
        kind: insert | delete | move | update, and ``space`` for text between nodes, which is no syntax.
        number: the node. Old nodes go by their place in ``Script.nodes``; inserted ones are numbered on from there.
        node: the grammar's name of it; a token's is its text.
        symbol: dotted path of the definitions around it, in the new file but for deletions.
        parent, after: where it goes (insert, move): below which node, after which one there (-1: first).
        before, text: the text before it and after its last child. None: as it was.
        old, new: where it stands in the two files.
    """

    kind: Literal["insert", "delete", "move", "update", "space"]
    number: int
    node: str
    symbol: str
    parent: int = -1
    after: int = -1
    before: bytes | None = None
    text: bytes | None = None
    old: Span | None = None
    new: Span | None = None


class Replay:
    """The old tree, changed action by action; siblings are linked both ways, so that each action takes one step."""

    def __init__(self, nodes: Sequence[OldNode], text: bytes) -> None:
        rows: list[list[int]] = [[] for _ in nodes]
        for number, node in enumerate(nodes):
            if node.parent >= 0:
                rows[node.parent].append(number)
        self._parent = {number: node.parent for number, node in enumerate(nodes)}
        self._before: dict[int, bytes] = {}
        self._text: dict[int, bytes] = {}
        self._next: dict[tuple[int, int], int] = {}  # (parent, child or -1 for none) -> the child after it, or -1
        self._previous: dict[int, int] = {}
        for number, row in enumerate(rows):
            at, left = nodes[number].span.start, -1
            for kid in sorted(row, key=lambda kid: nodes[kid].span):
                self._before[kid] = text[at : nodes[kid].span.start]
                self._link(kid, number, left)
                at, left = nodes[kid].span.end, kid
            self._text[number] = text[at : nodes[number].span.end]

    def _link(self, node: int, parent: int, after: int) -> None:
        follows = self._next.get((parent, after), -1)
        self._next[parent, after], self._next[parent, node] = node, follows
        self._previous[node], self._parent[node] = after, parent
        if follows >= 0:
            self._previous[follows] = node

    def _unlink(self, node: int) -> None:
        parent, previous = self._parent[node], self._previous.pop(node)
        follows = self._next.pop((parent, node))
        self._next[parent, previous] = follows
        if follows >= 0:
            self._previous[follows] = previous

    def do(self, action: Action) -> None:
        if action.kind in ("move", "delete"):
            self._unlink(action.number)
        if action.kind in ("move", "insert"):
            self._link(action.number, action.parent, action.after)
        if action.before is not None:
            self._before[action.number] = action.before
        if action.text is not None:
            self._text[action.number] = action.text

    def written(self) -> bytes:
        parts: list[bytes] = []
        at = 0
        while True:
            kid = self._next.get((at, -1), -1)
            while kid < 0:  # all children are written
                parts.append(self._text[at])
                if at == 0:
                    return b"".join(parts)
                kid, at = self._next.get((self._parent[at], at), -1), self._parent[at]
            parts.append(self._before[kid])
            at = kid
