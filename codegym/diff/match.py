"""Which node of the old tree is which node of the new one.

After GumTree (Falleri et al., "Fine-grained and accurate source code differencing", ASE 2014), in six passes: what no
hunk touches, and the nodes around it; equal subtrees, largest first; then inner nodes that share enough descendants
(dice >= .2); then, below nodes that correspond, the children left over: in order, of the same kind, those that share
most; and what was put into a new child, or taken out of an old one, changed or not; then what was taken out at one
place and put in at another. At last, what would have to move and is hardly the same is parted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain

from codegym.diff.forest import Forest, TooLarge
from codegym.diff.lines import heaviest
from codegym.diff.moves import around_kept, in_order_still, kind_key, moved_nodes, unlike
from codegym.diff.tree import Differing, in_order

#: Shared descendants x 2 / descendants of both, from which inner nodes correspond. On 600 commits .2 gave shorter
#: scripts than .3 (-1 %), .4 (-2 %) and .5 (-3 %).
LEAST_DICE = 0.2
#: Pairs of equal subtrees weighed by their surroundings; more are paired in order.
MOST_WEIGHED = 10_000
#: Pairs of siblings weighed by what they share, and nodes looked at for it; more are paired in order.
MOST_SIBLINGS, MOST_SHARED = 400, 20_000
#: Shared subtrees and kinds x 2 / those of both, from which nodes at different places correspond: a move says that most
#: is the same. On 600 commits scripts are 1 % shorter than without; .3 would make them another .5 % shorter.
LEAST_SHARED = 0.5
#: Descendants looked at in the second pass; deeper trees make its work quadratic.
MOST_VISITED = 500_000
#: Ancestors of a matched node that are tried as partners of its partner's parent.
MOST_ANCESTORS = 8


class Matching:
    """``to_new[i]`` and ``to_old[j]`` are partners, -1 where there is none. The outermost lists correspond."""

    def __init__(self, found: Differing) -> None:
        old, new = found.old, found.new
        self.old, self.new, self.levels = old, new, found.levels
        self.to_new, self.to_old = [-1] * len(old.kind), [-1] * len(new.kind)
        places = {(new.ident[j], new.place(j)): j for j in new.closed}
        twins = ((i, places.get((old.ident[i], old.place(i)), -1)) for i in old.closed)
        self._kept = {i: j for i, j in twins if j >= 0}
        around = dict(around_kept(old, new, self._kept))
        if not found.levels:  # the outermost nodes are the roots
            self._pair(0, 0)
        for i, j in chain(self._kept.items(), around.items()):
            if self.to_new[i] < 0 and self.to_old[j] < 0:
                self._pair(i, j)
        self._equal_subtrees()
        self._shared_descendants()
        self._left_over(old.top, new.top)
        self._below(range(len(old.kind)))
        self._elsewhere()
        self.moved = moved_nodes(old, new, self.to_new, self._kept)  # of the old nodes
        for i, parted in unlike(old, new, self.to_new, self.moved, around).items():
            if parted:
                self.to_old[self.to_new[i]], self.to_new[i] = -1, -1
                self.moved.discard(i)
            else:
                self.moved.add(i)

    def closed_stay(self) -> bool:
        """Whether all closed nodes correspond in their places, and no run moves: nothing depends on what is inside."""
        return len(self._kept) == len(self.old.closed) == len(self.new.closed) and self.moved.isdisjoint(self.old.runs)

    def _pair(self, i: int, j: int, size: int = 1) -> None:
        self.to_new[i : i + size] = range(j, j + size)
        self.to_old[j : j + size] = range(i, i + size)

    def _equal_subtrees(self) -> None:
        old, new = self.old, self.new
        where_old, where_new = (_by_ident(forest, range(len(forest.kind))) for forest in (old, new))
        shared = [ident for ident in where_old if ident in where_new]
        # A lone leaf is equal to too many others to say anything.
        shared = [ident for ident in shared if old.size[where_old[ident][0]] > 1]
        for ident in sorted(shared, key=lambda ident: (-old.size[where_old[ident][0]], where_old[ident][0])):
            olds, news = self._free_of(where_old[ident], where_new[ident])
            if len(olds) * len(news) > 1:
                in_place = {new.place(j): j for j in news}
                for i in olds:
                    if (at := old.place(i)) is not None and (j := in_place.get(at, -1)) >= 0:
                        self._pair_whole(i, j)
                olds, news = self._free_of(olds, news)
            if not olds or not news:
                continue
            if len(olds) == len(news) or len(olds) * len(news) > MOST_WEIGHED:
                pairs = list(zip(olds, news, strict=False))
            else:
                around_old = [self._around(old, i) for i in olds]
                around_new = [self._around(new, j) for j in news]
                weighed = sorted(
                    (-sum(x == y for x, y in zip(around_old[p], around_new[q], strict=True)), abs(p - q), p, q)
                    for p in range(len(olds))
                    for q in range(len(news))
                )
                used: tuple[set[int], set[int]] = set(), set()
                pairs = []
                for _, _, p, q in weighed:
                    if p not in used[0] and q not in used[1]:
                        used[0].add(p)
                        used[1].add(q)
                        pairs.append((olds[p], news[q]))
            for i, j in pairs:
                self._pair_whole(i, j)

    def _free_of(self, olds: Sequence[int], news: Sequence[int]) -> tuple[list[int], list[int]]:
        return [i for i in olds if self.to_new[i] < 0], [j for j in news if self.to_old[j] < 0]

    @staticmethod
    def _around(forest: Forest, node: int) -> tuple[Hashable, ...]:
        parent = forest.parent[node]
        row = forest.kids[parent] if parent >= 0 else forest.top
        at = row.index(node)
        return (
            forest.symbol(node),
            forest.kind[parent] if parent >= 0 else "",
            forest.ident[row[at - 1]] if at else -1,
            forest.ident[row[at + 1]] if at + 1 < len(row) else -1,
        )

    def _shared_descendants(self) -> None:
        old, new = self.old, self.new
        own = [1] * len(old.kind)
        for i in old.closed:
            own[i] = old.weight[i]
        visited = 0
        for i in range(len(old.kind) - 1, -1, -1):
            if self.to_new[i] >= 0 or not old.kids[i]:
                continue
            candidates: dict[int, None] = {}  # in the order found
            for kid in old.kids[i]:
                j = self.to_new[kid]
                for _ in range(MOST_ANCESTORS):
                    j = new.parent[j] if j >= 0 else -1
                    if j < 0:
                        break
                    if self.to_old[j] < 0 and new.kind[j] == old.kind[i]:
                        candidates[j] = None
            best, best_dice = -1, LEAST_DICE
            for j in candidates:
                visited += old.size[i]
                if visited > MOST_VISITED:
                    raise TooLarge("the syntax tree is too deep")
                end = j + new.size[j]
                partners = enumerate(self.to_new[i + 1 : i + old.size[i]], i + 1)
                common = sum([own[k] for k, partner in partners if j < partner < end])
                dice = 2 * common / max(1, old.weight[i] + new.weight[j] - 2)
                if dice > best_dice or (dice == best_dice and best < 0):
                    best, best_dice = j, dice
            if best >= 0:
                self._pair(i, best)

    def _left_over(self, olds: Sequence[int], news: Sequence[int]) -> None:
        for key in (self._place_key, lambda forest, node: forest.ident[node]):
            left, right = self._free_of(olds, news)
            for p, q in in_order([key(self.old, i) for i in left], [key(self.new, j) for j in right]):
                self._pair_whole(left[p], right[q])
        left, right = self._free_of(olds, news)
        if not left or not right:
            return
        same = _by_ident(self.new, reversed(right))  # in another order
        for i in left:
            if found := same.get(self.old.ident[i]):
                self._pair_whole(i, found.pop())
        # A definition is known by its name; two that share neither name nor content are two.
        for left, right in self._between(olds, news):
            if len(left) * len(right) > 1 and self._few(left, right):
                pairs = self._most_shared(left, right)
            else:
                pairs = in_order([kind_key(self.old, i) for i in left], [kind_key(self.new, j) for j in right])
            for p, q in pairs:
                self._pair_whole(left[p], right[q])
        left, right = self._free_of(olds, news)
        if left and right:
            self._put_inside(left, right)

    def _between(self, olds: Sequence[int], news: Sequence[int]) -> Iterable[tuple[list[int], list[int]]]:
        """The siblings that have no partner, parted at those that stay: nothing is paired across them."""
        home = set(news)
        stay = in_order_still([i for i in olds if self.to_new[i] in home], self.to_new, self._kept)
        parts: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        there = {self.to_new[i] for i in stay}
        sides = ((olds, self.old, self.to_new, stay), (news, self.new, self.to_old, there))
        for side, (row, forest, partners, stops) in enumerate(sides):
            passed = 0
            for k in row:
                passed += k in stops
                if partners[k] < 0:
                    parts.setdefault((forest.gap.get(k, 0), passed), ([], []))[side].append(k)
        return parts.values()

    def _below(self, nodes: range) -> None:
        for i in nodes:  # preorder: partners found below i come later
            j = self.to_new[i]
            if j >= 0 and self.old.kids[i] and self.new.kids[j]:
                self._left_over(self.old.kids[i], self.new.kids[j])

    def _elsewhere(self) -> None:
        """Pair what was taken out at one place with what was put in at another, if they share most."""
        outermost: list[list[int]] = []
        for forest, partners in ((self.old, self.to_new), (self.new, self.to_old)):
            above = zip(partners, forest.parent, strict=True)
            outermost.append([k for k, (own, p) in enumerate(above) if own < 0 and (p < 0 or partners[p] >= 0)])
        for i in self._alike(*outermost):
            self._below(range(i, i + self.old.size[i]))

    def _alike(self, olds: Sequence[int], news: Sequence[int]) -> list[int]:
        """Pair inner nodes of the same kind and name that share most, best first. Returns the old ones."""
        groups: dict[Hashable, tuple[list[int], list[int]]] = {}
        for side, forest, row in ((0, self.old, olds), (1, self.new, news)):
            for node in row:
                if forest.kids[node]:
                    groups.setdefault(kind_key(forest, node), ([], []))[side].append(node)
        found: list[int] = []
        for left, right in groups.values():
            if not self._few(left, right):
                continue
            has_old, has_new = [self._holds(self.old, i) for i in left], [self._holds(self.new, j) for j in right]
            shares = (
                (2 * (x & y).total() / (x.total() + y.total()), i, j)
                for i, x in zip(left, has_old, strict=True)
                for j, y in zip(right, has_new, strict=True)
            )
            for _, i, j in sorted((-share, i, j) for share, i, j in shares if share >= LEAST_SHARED):
                if self.to_new[i] < 0 and self.to_old[j] < 0:
                    self._pair_whole(i, j)
                    found.append(i)
        return found

    @staticmethod
    def _holds(forest: Forest, node: int) -> Counter[Hashable]:
        """The subtrees and the kinds of node in a subtree."""
        span = slice(node, node + forest.size[node])
        return Counter(chain(forest.ident[span], forest.kind[span]))

    def _pair_whole(self, i: int, j: int) -> None:
        self._pair(i, j, self.old.size[i] if self.old.ident[i] == self.new.ident[j] and self._free(i, j) else 1)

    def _few(self, left: Sequence[int], right: Sequence[int]) -> bool:
        nodes = sum(self.old.size[i] for i in left) + sum(self.new.size[j] for j in right)
        return 0 < len(left) * len(right) <= MOST_SIBLINGS and nodes * min(len(left), len(right)) <= MOST_SHARED

    def _most_shared(self, left: Sequence[int], right: Sequence[int]) -> list[tuple[int, int]]:
        """Pairs in order, of the same kind and name, that share most: equal subtrees, and kinds that can be updated."""
        keys, has = [], []
        for forest, row in ((self.old, left), (self.new, right)):
            keys.append([kind_key(forest, k) for k in row])
            has.append([self._holds(forest, k) for k in row])
        shared = [
            [(x & y).total() if a == b else 0 for y, b in zip(has[1], keys[1], strict=True)]
            for x, a in zip(has[0], keys[0], strict=True)
        ]
        return heaviest(shared)

    def _put_inside(self, olds: Sequence[int], news: Sequence[int]) -> None:
        """Pair an old child with its equal inside a new one (``x`` became ``f(x)``), and the other way round; then with
        one that shares most.
        """
        for outer, inner, forest, partners, whole in (
            (news, olds, self.new, self.to_old, self.old),
            (olds, news, self.old, self.to_new, self.new),
        ):
            free = [k for k in inner if (self.to_new if whole is self.old else self.to_old)[k] < 0]
            where = _by_ident(whole, reversed(free))
            for top in outer:
                if not where or partners[top] >= 0:
                    continue
                node, end = top + 1, top + forest.size[top]
                while node < end:
                    found = where.get(forest.ident[node]) if partners[node] < 0 else None
                    if found:
                        i, j = (found[-1], node) if whole is self.old else (node, found[-1])
                        if self._free(i, j):
                            found.pop()
                            self._pair(i, j, forest.size[node])
                    node += forest.size[node] if partners[node] >= 0 else 1
        left, right = self._free_of(olds, news)
        self._alike([k for i in left for k in range(i + 1, i + self.old.size[i]) if self.to_new[k] < 0], right)
        left, right = self._free_of(olds, news)
        self._alike(left, [k for j in right for k in range(j + 1, j + self.new.size[j]) if self.to_old[k] < 0])

    def _place_key(self, forest: Forest, node: int) -> Hashable:
        at = forest.place(node)
        return (forest.ident[node], at) if at is not None else (forest is self.old, node, None)

    def _free(self, i: int, j: int) -> bool:
        """Whether no node of two equal subtrees has a partner yet."""
        size = self.old.size[i]
        return all(k < 0 for k in self.to_new[i : i + size]) and all(k < 0 for k in self.to_old[j : j + size])


def _by_ident(forest: Forest, nodes: Iterable[int]) -> dict[int, list[int]]:
    where: dict[int, list[int]] = {}
    for node in nodes:
        where.setdefault(forest.ident[node], []).append(node)
    return where
