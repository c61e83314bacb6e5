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
from typing import Literal

from codegym.diff.languages import language_of
from codegym.diff.lines import Cut, cut_file
from codegym.diff.match import Matching
from codegym.diff.replay import Action, OldNode, Replay
from codegym.diff.sources import Written
from codegym.diff.syntax import compare
from codegym.diff.whole import Whole, fill, fill_lines, stays
from codegym.spans import Span


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
        tree = Replay(self.nodes, old)
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
    trees = Whole(old), Whole(new)
    if isinstance(found, Matching):
        fill(found, *trees)
    else:
        fill_lines(found, *trees)
    return Script(tuple(map(OldNode, trees[0].kind, trees[0].span, trees[0].parent)), tuple(_actions(*trees)))


def _actions(old: Whole, new: Whole) -> list[Action]:
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
                if stays(old, was, new, parent) and new.partner[parent] == old.parent[was]:
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
    new: Whole,
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
