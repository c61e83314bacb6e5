"""Both files of a script as trees that lose nothing: every node and token, and the text between them.

:func:`fill` builds them from a matching, :func:`fill_lines` from hunks. What is equal on both sides is one node of kind
"same".
"""

from __future__ import annotations

from collections.abc import Sequence

from codegym.diff.lines import MOST_ALIGNED, Cut
from codegym.diff.match import Matching
from codegym.diff.tree import Level, in_order
from codegym.spans import Span


class Whole:
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


def fill_lines(cuts: Sequence[Cut], old: Whole, new: Whole) -> None:
    i = j = 0
    for a, b, c, d in [*cuts, (len(old.text), len(old.text), len(new.text), len(new.text))]:
        if a > i:
            _pair(old, old.add("same", i, a, 0, ""), new, new.add("same", j, c, 0, ""))
        left = old.add("line", a, b, 0, "") if b > a else -1
        right = new.add("line", c, d, 0, "") if d > c else -1
        if left >= 0 and right >= 0:
            _pair(old, left, new, right)
        i, j = b, d


def _pair(old: Whole, i: int, new: Whole, j: int) -> None:
    old.partner[i], new.partner[j] = j, i


def fill(matching: Matching, old: Whole, new: Whole) -> None:
    at = 0, 0
    outer = ".".join(matching.old.outer)
    whole = _alike(matching, old.text, new.text)
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
    old.moved = {numbers[0][i] for i in matching.moved if numbers[0][i] >= 0}
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


def _alike(matching: Matching, old_text: bytes, new_text: bytes) -> tuple[list[bool], list[bool]]:
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


def _pair_tokens(old: Whole, new: Whole) -> None:
    """Pair the tokens of nodes that correspond, in order, between the children that stay."""
    for i, j in enumerate(old.partner):
        if j < 0 or not old.items[i] or not new.items[j]:
            continue
        stay = {k for k in old.items[i] if stays(old, k, new, j)}
        there = {old.partner[k] for k in stay}
        segments = _segments(old, old.items[i], stay), _segments(new, new.items[j], there)
        for left, right in zip(*segments, strict=True):
            if left and right and len(left) * len(right) <= MOST_ALIGNED:
                for p, q in in_order([old.kind[k] for k in left], [new.kind[k] for k in right]):
                    _pair(old, left[p], new, right[q])


def stays(old: Whole, k: int, new: Whole, parent: int) -> bool:
    """Whether a child of the old file keeps its place, below the node ``parent`` of the new one."""
    return old.partner[k] >= 0 and k not in old.moved and new.parent[old.partner[k]] == parent


def _segments(side: Whole, row: Sequence[int], anchors: set[int]) -> list[list[int]]:
    """The tokens of a row, parted at the children that stay."""
    segments: list[list[int]] = [[]]
    for k in row:
        if k in anchors:
            segments.append([])
        elif k in side.tokens:
            segments[-1].append(k)
    return segments
