"""What stays where it is and what moved: the parts of matching that know where a node stands.

dict(around_kept(old, new, kept))         # the nodes around text that no hunk touches
moved_nodes(old, new, to_new, kept)       # what has another parent, or another order
unlike(old, new, to_new, moved, sure)     # what of it shares too little to be called the same
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from codegym.diff.forest import Forest, TooLarge
from codegym.diff.lines import rising

#: Equal leaves x 2 / leaves of both, from which a node at another place is the same node. On 600 commits scripts are
#: 1.3 % longer than without a bound; .5 would make them another .7 % longer.
LEAST_LIKE = 0.4
#: Levels above untouched text that it speaks for; each pair of levels is looked at.
MOST_LEVELS = 24
#: Nodes looked at to compare what moved; moves inside moves make this work quadratic.
MOST_COMPARED = 500_000


def around_kept(old: Forest, new: Forest, kept: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Pairs of nodes that hold the same untouched text, ``kept``: first a definition and the one of its name, then
    those that have the largest share of it in common, then those whose parents are alike, then the inner ones.
    """
    direct: Counter[tuple[int, int]] = Counter()
    for i, j in kept.items():
        direct[old.parent[i], new.parent[j]] += old.weight[i]
    held: tuple[Counter[int], Counter[int]] = Counter(), Counter()
    common: Counter[tuple[int, int]] = Counter()
    for (p, q), weight in direct.items():
        above_old, above_new = _above(old, p), _above(new, q)
        for side, above in zip(held, (above_old, above_new), strict=True):
            for k in above:
                side[k] += weight
        for i in above_old:
            for j in above_new:
                if old.kind[i] == new.kind[j]:
                    common[i, j] += weight

    def key(pair: tuple[int, int]) -> tuple[bool, float, bool, int, int]:
        i, j = pair
        share = 2 * common[pair] / (held[0][i] + held[1][j])
        return _same_name(old, i, new, j), share, kind_key(old, old.parent[i]) == kind_key(new, new.parent[j]), i, j

    used: tuple[set[int], set[int]] = set(), set()
    for i, j in sorted(common, key=key, reverse=True):
        if i not in used[0] and j not in used[1]:
            used[0].add(i)
            used[1].add(j)
            yield i, j


def _above(forest: Forest, node: int) -> list[int]:
    found: list[int] = []
    while node >= 0 and len(found) < MOST_LEVELS:
        found.append(node)
        node = forest.parent[node]
    return found


def kind_key(forest: Forest, node: int) -> tuple[str, str]:
    """A node's kind and the name that it defines; of -1, what is around the outermost nodes."""
    return (forest.kind[node], forest.name[node]) if node >= 0 else ("", "")


def _same_name(old: Forest, i: int, new: Forest, j: int) -> bool:
    """Whether both define the same name."""
    return bool(old.name[i]) and old.name[i] == new.name[j]


def in_order_still(row: Sequence[int], to_new: Sequence[int], kept: Collection[int]) -> set[int]:
    """Of siblings whose partners are siblings: as many as keep their order, and ``kept`` among them."""
    if len(rising([to_new[i] for i in row])) == len(row):
        return set(row)
    low, lows, highs = -1, [], []
    for i in row:
        lows.append(low)
        if i in kept:
            low = to_new[i]
    high = sys.maxsize
    for i in reversed(row):
        highs.append(high)
        if i in kept:
            high = to_new[i]
    fits = [i for i, low, high in zip(row, lows, reversed(highs), strict=True) if low < to_new[i] < high]
    return {fits[k] for k in rising([to_new[i] for i in fits])}


def moved_nodes(old: Forest, new: Forest, to_new: Sequence[int], kept: Collection[int]) -> set[int]:
    """Old nodes whose partner has another parent, or another order among the same siblings."""
    moved: set[int] = set()
    rows: list[tuple[int, list[int]]] = [(-1, old.top)]
    rows += [(i, old.kids[i]) for i in range(len(old.kind)) if old.kids[i]]
    for parent, row in rows:
        partner = to_new[parent] if parent >= 0 else -1
        stay: list[int] = []
        for i in row:
            j = to_new[i]
            if j < 0:
                continue
            home = new.parent[j] == partner and (parent < 0 or partner >= 0)
            if home and (parent >= 0 or old.gap[i] == new.gap[j]):
                stay.append(i)
            else:
                moved.add(i)
        moved.update(set(stay) - in_order_still(stay, to_new, kept))
    return moved


def unlike(
    old: Forest, new: Forest, to_new: Sequence[int], moved: Collection[int], sure: Collection[int]
) -> dict[int, bool]:
    """Of the nodes that moved, and then of those inside what turns out to be no move: whether they are none either.

    ``sure`` are known to correspond. A lone leaf inside says nothing; what is the same as before moved by itself.
    Raises TooLarge.
    """
    parted: dict[int, bool] = {}
    compared = 0
    for i, j in enumerate(to_new):
        left_behind = parted.get(old.parent[i], False)
        if j < 0 or not (left_behind or i in moved):
            continue
        alike = old.ident[i] == new.ident[j] or i in sure or _same_name(old, i, new, j)
        if not alike:
            compared += old.size[i] + new.size[j]
            if compared > MOST_COMPARED:
                raise TooLarge("too much moved")
            x, y = _leaves(old, i), _leaves(new, j)
            alike = 2 * (x & y).total() >= LEAST_LIKE * (x.total() + y.total())
        parted[i] = not alike or (i not in moved and old.weight[i] == 1)
    return parted


def _leaves(forest: Forest, node: int) -> Counter[int]:
    found: Counter[int] = Counter()
    for k in range(node, node + forest.size[node]):
        if not forest.kids[k]:
            found[forest.ident[k]] += forest.weight[k]
    return found
