"""Sets of small integers kept in the bits of one number."""


class BitSet:
    """A set of integers from 0 up; ValueError "negative item" for others. Starts with the items given."""

    def __init__(self, items=()):
        self._bits = 0
        for item in items:
            self.add(item)

    @classmethod
    def _of(cls, bits):
        new = cls()
        new._bits = bits
        return new

    def add(self, item):
        """Put an item in."""
        if item < 0:
            raise ValueError("negative item")
        self._bits |= 1 << item

    def discard(self, item):
        """Take an item out, if it is in."""
        if item in self:
            self._bits ^= 1 << item

    def __contains__(self, item):
        """True if the item is in; negative ones never are."""
        return item >= 0 and (self._bits >> item) & 1 == 1

    def __len__(self):
        """The number of items."""
        return self._bits.bit_count()

    def __iter__(self):
        """The items, ascending."""
        bits = self._bits
        item = 0
        while bits:
            if bits & 1:
                yield item
            bits >>= 1
            item += 1

    def __eq__(self, other):
        """Equal if the items are."""
        return isinstance(other, BitSet) and self._bits == other._bits

    def __or__(self, other):
        """The items of either."""
        return self._of(self._bits | other._bits)

    def __and__(self, other):
        """The items of both."""
        return self._of(self._bits & other._bits)

    def __sub__(self, other):
        """The items of this one that are not in the other."""
        return self._of(self._bits & ~other._bits)

    def __le__(self, other):
        """True if the other has all items of this one."""
        return self._bits & other._bits == self._bits

    def __repr__(self):
        return "BitSet({})".format(", ".join(map(str, self)))

    def subsets(self):
        """All subsets, by ascending value of their bits: the empty one first, this one last."""
        found = []
        bits = 0
        while True:
            found.append(self._of(bits))
            if bits == self._bits:
                return found
            bits = (bits - self._bits) & self._bits
