"""The changes between two texts as syntax: what was inserted, deleted, updated and moved.

Reported are the outermost nodes inserted and deleted, nodes whose own text changed (an identifier, a number, an
operator), nodes of which nothing but the kind stayed (as one update), and subtrees that went elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from tree_sitter import Node

from codegym.diff.forest import TooLarge
from codegym.diff.languages import Language, own_name
from codegym.diff.lines import Cut, Kept
from codegym.diff.match import Matching
from codegym.diff.model import Change
from codegym.diff.tree import differing
from codegym.diff.trees import GrammarMissing, parse, parse_both
from codegym.spans import Span

#: Larger files are compared by lines: parsing both would take longer than a second.
MOST_BYTES = 4 << 20


def compare(old: bytes, new: bytes, language: Language, cuts: Sequence[Cut]) -> Matching | str:
    """Which nodes correspond, or one line that says why the texts are not compared as syntax.

    ``cuts`` are the hunks: text that they leave alone is the same text, wherever equal text stands besides.
    """
    if max(len(old), len(new)) > MOST_BYTES:
        return f"larger than {MOST_BYTES} bytes, compared by lines"
    try:
        trees = parse_both(language, old, new, cuts)
    except GrammarMissing as reason:
        return f"{reason}, compared by lines"
    try:
        kept = Kept(cuts)
        for closed, joined in ((True, True), (True, False)):
            matching = Matching(differing(trees[0], old, trees[1], new, language, kept, closed=closed, joined=joined))
            if matching.closed_stay():
                return matching
        # The same bytes, read otherwise.
        return Matching(differing(trees[0], old, trees[1], new, language, kept, closed=False, joined=False))
    except TooLarge as reason:
        return f"{reason}, compared by lines"


def broken(text: bytes, language: Language) -> list[Span]:
    """Where a text does not parse: the definitions or statements that hold an error, in order.

    Of a definition only the broken statements inside, if its head is whole; of what the parser gave up on, all but the
    nodes that stand on lines of their own.
    """
    root = parse(language, text).root_node
    if not root.has_error:
        return []
    found: list[Span] = []
    todo = [root]
    while todo:
        node = todo.pop()
        known = len(found) + len(todo)
        for child in node.children:
            inside = child.type in language.definitions or child.type in language.wrappers or own_name(node, language)
            torn = any(part.is_error or part.is_missing for part in child.children)
            if node.is_error and not child.has_error and not child.is_error:
                if not (child.is_named and _own_lines(child, text)):
                    found.append(Span(child.start_byte, child.end_byte))
            elif child.is_error or (child.has_error and inside and not torn):
                todo.append(child)
            elif child.has_error or child.is_missing:
                found.append(Span(child.start_byte, child.end_byte))
        if len(found) + len(todo) == known:  # whole in all its parts: it should not stand here, or lacks a hidden token
            found.append(Span(node.start_byte, node.end_byte))
    return sorted(found)


def _own_lines(node: Node, text: bytes) -> bool:
    start, end = text.rfind(b"\n", 0, node.start_byte) + 1, text.find(b"\n", node.end_byte)
    around = text[start : node.start_byte] + text[node.end_byte : end if end >= 0 else len(text)]
    return not around.strip()


def changes_of(matching: Matching) -> list[Change]:
    """The changes, without sources and in no order."""
    old, new, to_new, to_old = matching.old, matching.new, matching.to_new, matching.to_old
    # matched[k]: nodes before k that have a partner, so that a range is counted in one step.
    matched = [0, *accumulate(int(j >= 0) for j in to_new)]
    changes: list[Change] = []
    whole_old, whole_new = [False] * len(old.kind), [False] * len(new.kind)  # inside a node that is reported whole
    moved = matching.moved

    def change(kind: str, i: int, j: int) -> None:
        forest, node = (new, j) if j >= 0 else (old, i)
        before = Span(old.start[i], old.end[i]) if i >= 0 else None
        after = Span(new.start[j], new.end[j]) if j >= 0 else None
        changes.append(Change(kind, forest.kind[node], forest.symbol(node), before, after))  # type: ignore[arg-type]

    for i in range(len(old.kind)):
        parent, j = old.parent[i], to_new[i]
        if parent >= 0 and whole_old[parent]:
            whole_old[i] = True
            continue
        if j < 0:
            if parent < 0 or to_new[parent] >= 0:
                change("delete", i, -1)
            continue
        if i in moved:
            change("move", i, j)
        if old.ident[i] == new.ident[j]:
            continue
        alone = matched[i + old.size[i]] == matched[i + 1] and all(k < 0 for k in to_old[j + 1 : j + new.size[j]])
        if alone:
            whole_old[i] = whole_new[j] = True
        if alone or says_otherwise(matching, i, j):
            change("update", i, j)
    for j in range(len(new.kind)):
        parent = new.parent[j]
        if parent >= 0 and whole_new[parent]:
            whole_new[j] = True
        elif to_old[j] < 0 and (parent < 0 or to_old[parent] >= 0):
            change("insert", -1, j)
    return changes


def says_otherwise(matching: Matching, i: int, j: int) -> bool:
    """Whether two nodes that correspond differ in themselves, not in their children (an operator, a number)."""
    old, new = matching.old, matching.new
    if old.form[i] == new.form[j]:
        return False
    # Commas come and go with children; where all children stay, punctuation is what differs.
    same_kids = [matching.to_new[kid] for kid in old.kids[i]] == new.kids[j]
    return same_kids or old.own(i) != new.own(j)
