"""Disjoint sets of the integers 0 .. n-1, with union by size and path halving."""


class UnionFind:
    """Starts with ``n`` sets of one member each. ValueError if ``n`` is negative."""

    def __init__(self, n):
        if n < 0:
            raise ValueError("n must not be negative")
        self._parent = list(range(n))
        self._size = [1] * n
        self.count = n

    def find(self, item):
        """The representative of the set of ``item``. IndexError if ``item`` is not in 0 .. n-1."""
        if not 0 <= item < len(self._parent):
            raise IndexError(f"no item {item}")
        while self._parent[item] != item:
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def union(self, a, b):
        """Join the sets of ``a`` and ``b``; False if they were one already.

        The representative of the larger set stays; of two equally large ones, that of ``a``.
        ``count`` is the number of sets.
        """
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self._size[a] < self._size[b]:
            a, b = b, a
        self._parent[b] = a
        self._size[a] += self._size[b]
        self.count -= 1
        return True

    def connected(self, a, b):
        """True if ``a`` and ``b`` are in one set."""
        return self.find(a) == self.find(b)

    def size(self, item):
        """How many members the set of ``item`` has."""
        return self._size[self.find(item)]

    def groups(self):
        """All sets as sorted lists, ordered by their smallest members."""
        members = {}
        for item in range(len(self._parent)):
            members.setdefault(self.find(item), []).append(item)
        return sorted(members.values())


def spanning_edges(n, edges):
    """The edges ``(weight, a, b)`` of a cheapest forest over 0 .. n-1, in the order chosen: ascending tuples."""
    sets = UnionFind(n)
    return [edge for edge in sorted(edges) if sets.union(edge[1], edge[2])]
