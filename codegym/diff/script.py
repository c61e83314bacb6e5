"""The edit script of a file: single actions on its syntax tree that turn the old bytes into the new ones.

    script = edit_script(b"x = f(1)\\n", b"x = f(2, y)\\n", "a.py")
    [(action.kind, action.node, action.text) for action in script.actions]
    # [('update', 'integer', b'2'), ('insert', ',', b','), ('insert', 'identifier', b'y')]
    script.replay(b"x = f(1)\\n")               # b'x = f(2, y)\\n': nothing but the actions says what changes

The tree loses nothing. Every node and token holds the text *before* it (blanks, as a rule) and the text *after* its
last child, which for a leaf is its own; so the tree written out is the file, byte for byte. What is equal on both sides
is one node of kind "same". Where a file is compared by lines, its nodes are the hunks, of kind "line".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from codegym.diff.languages import language_of
from codegym.diff.lines import MOST_ALIGNED, Cut, cut_file
from codegym.diff.match import Matching, in_order
from codegym.diff.sources import Written
from codegym.diff.syntax import compare, moved_nodes
from codegym.diff.tree import Level
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


@dataclass(frozen=True)
class Script:
    """Old nodes, in the order of the text with parents first, and what is done to them, in order."""

    nodes: tuple[OldNode, ...]
    actions: tuple[Action, ...]

    def count(self) -> int:
        """Actions on syntax: nodes inserted, deleted and updated one by one, moved subtrees."""
        return sum(action.kind != "space" for action in self.actions)

    def replay(self, old: bytes) -> bytes:
        """The new file. ``old`` must be the file that the script was made for."""
        tree = _Replay(self.nodes, old)
        for action in self.actions:
            tree.do(action)
        return tree.written()


def edit_script(old: bytes, new: bytes, path: str) -> Script:
    """The script from ``old`` to ``new``. The same input gives the same script."""
    cuts = cut_file(old, new, Written()).cuts
    language = language_of(path)
    binary = b"\0" in old or b"\0" in new
    found = compare(old, new, language, cuts) if language is not None and not binary else ""
    return script_of(old, new, found if isinstance(found, Matching) else cuts)


def script_of(old: bytes, new: bytes, found: Matching | Sequence[Cut]) -> Script:
    """The script that a matching, or hunks, of two texts make."""
    trees = _Side(old), _Side(new)
    if isinstance(found, Matching):
        _fill(found, *trees)
    else:
        _fill_lines(found, *trees)
    return Script(tuple(map(OldNode, trees[0].kind, trees[0].span, trees[0].parent)), tuple(_actions(*trees)))


class _Side:
    """One file as a tree that loses nothing, parents first; 0 is the file. ``partner`` is -1 where there is none."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.kind, self.span, self.parent, self.symbol = ["file"], [Span(0, len(text))], [-1], [""]
        self.items: list[list[int]] = [[]]
        self.partner = [0]
        self.moved: set[int] = set()
        self.tokens: set[int] = set()

    def add(self, kind: str, start: int, end: int, parent: int, symbol: str, token: bool = False) -> int:
        number = len(self.kind)
        if token:
            self.tokens.add(number)
        self.kind.append(kind)
        self.span.append(Span(start, end))
        self.parent.append(parent)
        self.symbol.append(symbol)
        self.items.append([])
        self.items[parent].append(number)
        self.partner.append(-1)
        return number

    def before(self, parent: int, at: int) -> bytes:
        """The text before a child, or after the last one."""
        row = self.items[parent]
        start = self.span[row[at - 1]].end if at else self.span[parent].start
        return self.text[start : self.span[row[at]].start if at < len(row) else self.span[parent].end]

    def says(self, node: int) -> list[bytes]:
        """The texts between a node's children that are no blanks."""
        texts = (self.before(node, at) for at in range(len(self.items[node]) + 1))
        return [text for text in texts if text and not text.isspace()]


def _fill_lines(cuts: Sequence[Cut], old: _Side, new: _Side) -> None:
    i = j = 0
    for a, b, c, d in [*cuts, (len(old.text), len(old.text), len(new.text), len(new.text))]:
        if a > i:
            _pair(old, old.add("same", i, a, 0, ""), new, new.add("same", j, c, 0, ""))
        left = old.add("line", a, b, 0, "") if b > a else -1
        right = new.add("line", c, d, 0, "") if d > c else -1
        if left >= 0 and right >= 0:
            _pair(old, left, new, right)
        i, j = b, d


def _pair(old: _Side, i: int, new: _Side, j: int) -> None:
    old.partner[i], new.partner[j] = j, i


def _fill(matching: Matching, old: _Side, new: _Side) -> None:
    at = 0, 0
    outer = ".".join(matching.old.outer)
    whole = _whole(matching, old.text, new.text)
    for level in matching.levels:
        inside = (
            old.add(level.old.type, level.old.start_byte, level.old.end_byte, at[0], outer),
            new.add(level.new.type, level.new.start_byte, level.new.end_byte, at[1], outer),
        )
        _pair(old, inside[0], new, inside[1])
        at = inside
        rows = _rows(level, old.text, new.text)
        for side, parent, row in ((old, at[0], rows[0]), (new, at[1], rows[1])):
            for kind, start, end in row:
                side.add(kind, start, end, parent, outer, kind != "same")
        same = [[k for k in side.items[p] if side.kind[k] == "same"] for side, p in zip((old, new), at, strict=True)]
        for i, j in zip(*same, strict=True):
            _pair(old, i, new, j)
    numbers: tuple[list[int], list[int]] = ([-1] * len(matching.old.kind), [-1] * len(matching.new.kind))
    for side, forest, parent, number, skip in (
        (old, matching.old, at[0], numbers[0], whole[0]),
        (new, matching.new, at[1], numbers[1], whole[1]),
    ):
        todo: list[tuple[int | tuple[int, int], int, str]] = [(top, parent, outer) for top in reversed(forest.top)]
        while todo:
            item, around, symbol = todo.pop()
            if isinstance(item, tuple):
                side.add(side.text[slice(*item)].decode("utf-8", "replace"), *item, around, symbol, token=True)
                continue
            symbol = ".".join(filter(None, (symbol, forest.name[item])))
            number[item] = side.add(forest.kind[item], forest.start[item], forest.end[item], around, symbol)
            if not skip[item]:
                todo.extend((inner, number[item], symbol) for inner in reversed(forest.items[item]))
    for i, j in enumerate(matching.to_new):
        if j >= 0 and numbers[0][i] >= 0 and numbers[1][j] >= 0:
            _pair(old, numbers[0][i], new, numbers[1][j])
    old.moved = {numbers[0][i] for i in moved_nodes(matching) if numbers[0][i] >= 0}
    for side in (old, new):
        for items in side.items:  # of a level, the child that is looked into was added last
            items.sort(key=side.span.__getitem__)
    _pair_tokens(old, new)


def _rows(level: Level, old: bytes, new: bytes) -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
    """The runs of equal children and the punctuation between them, per side."""
    runs: tuple[list[Span], list[Span]] = [], []
    i = k = 0
    for a, b, _, d in [*level.blocks, (len(level.left), 0, len(level.right), 0)]:
        first = i
        for at in range(i, a):
            here, there = level.left[at], level.right[k + at - i]
            last = at + 1 == a
            if not last:
                next_here, next_there = level.left[at + 1], level.right[k + at + 1 - i]
                joined = old[here.end_byte : next_here.start_byte] == new[there.end_byte : next_there.start_byte]
            if last or not joined:
                runs[0].append(Span(level.left[first].start_byte, here.end_byte))
                runs[1].append(Span(level.right[k + first - i].start_byte, there.end_byte))
                first = at + 1
        i, k = b, d
    rows: tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]] = [], []
    for row, spans, signs, text in (
        (rows[0], runs[0], level.left_signs, old),
        (rows[1], runs[1], level.right_signs, new),
    ):
        row += [("same", *span) for span in spans]
        at = 0
        for start, end in signs:
            while at < len(spans) and spans[at].end <= start:
                at += 1
            if at == len(spans) or start < spans[at].start:
                row.append((text[start:end].decode(), start, end))
    return rows


def _whole(matching: Matching, old_text: bytes, new_text: bytes) -> tuple[list[bool], list[bool]]:
    """Nodes of equal text whose descendants correspond one by one: they need not be looked into."""
    old, new, to_new = matching.old, matching.new, matching.to_new
    whole = [False] * len(old.kind), [False] * len(new.kind)
    i = 0
    while i < len(old.kind):
        j, size = to_new[i], old.size[i]
        if (
            j >= 0
            and old.ident[i] == new.ident[j]
            and old_text[old.start[i] : old.end[i]] == new_text[new.start[j] : new.end[j]]
            and to_new[i : i + size] == list(range(j, j + size))
        ):
            whole[0][i] = whole[1][j] = True
            i += size
        else:
            i += 1
    return whole


def _pair_tokens(old: _Side, new: _Side) -> None:
    """Pair the tokens of nodes that correspond, in order, between the children that stay."""
    for i, j in enumerate(old.partner):
        if j < 0 or not old.items[i] or not new.items[j]:
            continue
        stay = {k for k in old.items[i] if _stays(old, k, new, j)}
        there = {old.partner[k] for k in stay}
        segments = _segments(old, old.items[i], stay), _segments(new, new.items[j], there)
        for left, right in zip(*segments, strict=True):
            if left and right and len(left) * len(right) <= MOST_ALIGNED:
                for p, q in in_order([old.kind[k] for k in left], [new.kind[k] for k in right]):
                    _pair(old, left[p], new, right[q])


def _stays(old: _Side, k: int, new: _Side, parent: int) -> bool:
    """Whether a child of the old file keeps its place, below the node ``parent`` of the new one."""
    return old.partner[k] >= 0 and k not in old.moved and new.parent[old.partner[k]] == parent


def _segments(side: _Side, row: Sequence[int], anchors: set[int]) -> list[list[int]]:
    """The tokens of a row, parted at the children that stay."""
    segments: list[list[int]] = [[]]
    for k in row:
        if k in anchors:
            segments.append([])
        elif k in side.tokens:
            segments[-1].append(k)
    return segments


def _actions(old: _Side, new: _Side) -> list[Action]:
    actions: list[Action] = []
    at_old = {k: at for row in old.items for at, k in enumerate(row)}
    number = {0: 0}  # of the script, by the number in the new file
    count = len(old.kind)
    todo = [0]
    while todo:
        parent = todo.pop()
        after = -1
        for at, node in enumerate(new.items[parent]):
            was, before, text = new.partner[node], new.before(parent, at), new.before(node, len(new.items[node]))
            if was < 0:
                number[node], count = count, count + 1
                actions.append(_action("insert", new, node, number, after, before, text))
            else:
                number[node] = was
                if _stays(old, was, new, parent) and new.partner[parent] == old.parent[was]:
                    changed = None if before == old.before(old.parent[was], at_old[was]) else before
                else:
                    actions.append(_action("move", new, node, number, after, before, None, old.span[was]))
                    changed = None
                tail = None if text == old.before(was, len(old.items[was])) else text
                if old.says(was) != new.says(node):
                    actions.append(_action("update", new, node, number, -1, changed, text, old.span[was]))
                elif changed is not None or tail is not None:
                    actions.append(_action("space", new, node, number, -1, changed, tail, old.span[was]))
            after = number[node]
            todo.append(node)
    end = new.before(0, len(new.items[0]))
    if end != old.before(0, len(old.items[0])):
        actions.append(_action("space", new, 0, number, -1, None, end, old.span[0]))
    for was in range(len(old.kind) - 1, 0, -1):
        if old.partner[was] < 0:
            actions.append(Action("delete", was, old.kind[was], old.symbol[was], old=old.span[was]))
    return actions


def _action(
    kind: Literal["insert", "move", "update", "space"],
    new: _Side,
    node: int,
    number: Mapping[int, int],
    after: int,
    before: bytes | None,
    text: bytes | None,
    old: Span | None = None,
) -> Action:
    parent = number[new.parent[node]] if kind in ("insert", "move") else -1
    return Action(
        kind, number[node], new.kind[node], new.symbol[node], parent, after, before, text, old, new.span[node]
    )


class _Replay:
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
