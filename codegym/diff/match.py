"""Which node of the old tree is which node of the new one.

After GumTree (Falleri et al., "Fine-grained and accurate source code differencing", ASE 2014), in three passes:
equal subtrees, largest first; then inner nodes that share enough descendants (dice >= .3); then, below nodes that
correspond, the children left over, in order, if they are of the same kind.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from codegym.diff.lines import Kept, unequal_blocks
from codegym.diff.tree import Forest, TooLarge

#: Shared descendants x 2 / descendants of both, from which inner nodes correspond. Measured as good as GumTree's rule.
LEAST_DICE = 0.3
#: Pairs of equal subtrees weighed by their surroundings; more are paired in order.
MOST_WEIGHED = 10_000
#: Descendants looked at in the second pass; deeper trees make its work quadratic.
MOST_VISITED = 500_000
#: Ancestors of a matched node that are tried as partners of its partner's parent.
MOST_ANCESTORS = 8


class Matching:
    """``to_new[i]`` and ``to_old[j]`` are partners, -1 where there is none. The outermost lists correspond."""

    def __init__(self, old: Forest, new: Forest, kept: Kept) -> None:
        self.old, self.new = old, new
        self._at_old = [kept.of_old(*span) for span in zip(old.start, old.end, strict=True)]
        self._at_new = [kept.of_new(*span) for span in zip(new.start, new.end, strict=True)]
        self.to_new, self.to_old = [-1] * len(old.kind), [-1] * len(new.kind)
        self._equal_subtrees()
        self._shared_descendants()
        self._left_over(old.top, new.top)
        for i in range(len(old.kind)):  # preorder: partners found below i come later
            j = self.to_new[i]
            if j >= 0 and old.ident[i] != new.ident[j]:
                self._left_over(old.kids[i], new.kids[j])

    def _pair(self, i: int, j: int, size: int = 1) -> None:
        self.to_new[i : i + size] = range(j, j + size)
        self.to_old[j : j + size] = range(i, i + size)

    def _equal_subtrees(self) -> None:
        old, new = self.old, self.new
        where_old, where_new = (_by_ident(forest) for forest in (old, new))
        shared = [ident for ident in where_old if ident in where_new]
        # A lone leaf is equal to too many others to say anything.
        shared = [ident for ident in shared if old.size[where_old[ident][0]] > 1]
        for ident in sorted(shared, key=lambda ident: (-old.size[where_old[ident][0]], where_old[ident][0])):
            size = old.size[where_old[ident][0]]
            olds, news = self._free_of(where_old[ident], where_new[ident])
            if len(olds) * len(news) > 1:
                in_place = {self._at_new[j]: j for j in news}
                for i in olds:
                    if self._at_old[i] is not None and (j := in_place.get(self._at_old[i], -1)) >= 0:
                        self._pair(i, j, size)
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
                self._pair(i, j, size)

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
                common = sum(j < partner < end for partner in self.to_new[i + 1 : i + old.size[i]])
                dice = 2 * common / max(1, old.size[i] + new.size[j] - 2)
                if dice > best_dice or (dice == best_dice and best < 0):
                    best, best_dice = j, dice
            if best >= 0:
                self._pair(i, best)

    def _left_over(self, olds: Sequence[int], news: Sequence[int]) -> None:
        old, new = self.old, self.new
        # A definition is known by its name; two that share neither name nor content are two.
        for key in (self._place_key, self._content_key, self._kind_key):
            left, right = self._free_of(olds, news)
            if not left or not right:
                return
            blocks = unequal_blocks([key(old, i) for i in left], [key(new, j) for j in right])
            if blocks is None:
                raise TooLarge("too many siblings differ")
            at, to = 0, 0
            for a, b, c, d in [*blocks, (len(left), len(left), len(right), len(right))]:
                for i, j in zip(left[at:a], right[to:c], strict=True):
                    size = old.size[i] if old.ident[i] == new.ident[j] and self._free(i, j) else 1
                    self._pair(i, j, size)
                at, to = b, d

    def _place_key(self, forest: Forest, node: int) -> Hashable:
        at = (self._at_old if forest is self.old else self._at_new)[node]
        return (forest.ident[node], at) if at is not None else (forest is self.old, node, None)

    @staticmethod
    def _content_key(forest: Forest, node: int) -> Hashable:
        return forest.ident[node]

    @staticmethod
    def _kind_key(forest: Forest, node: int) -> Hashable:
        return (forest.kind[node], forest.name[node])

    def _free(self, i: int, j: int) -> bool:
        """Whether no node of two equal subtrees has a partner yet."""
        size = self.old.size[i]
        return all(k < 0 for k in self.to_new[i : i + size]) and all(k < 0 for k in self.to_old[j : j + size])


def _by_ident(forest: Forest) -> dict[int, list[int]]:
    where: dict[int, list[int]] = {}
    for node, ident in enumerate(forest.ident):
        where.setdefault(ident, []).append(node)
    return where
