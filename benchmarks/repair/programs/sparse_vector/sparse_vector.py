"""Vectors of which most elements are 0."""


class SparseVector:
    """A vector of ``size`` numbers; only those that are not 0 are kept. Built from ``{index: value}``.

    IndexError "no index N" for an index not from 0 to size - 1. ValueError "sizes differ" where two
    vectors of different sizes meet.
    """

    def __init__(self, size, values=None):
        self.size = size
        self._values = {}
        for index, value in (values or {}).items():
            self[index] = value

    def _check(self, index):
        if not 0 <= index < self.size:
            raise IndexError(f"no index {index}")

    def _fit(self, other):
        if self.size != other.size:
            raise ValueError("sizes differ")

    def __getitem__(self, index):
        """The element at an index."""
        self._check(index)
        return self._values.get(index, 0)

    def __setitem__(self, index, value):
        """Set the element at an index."""
        self._check(index)
        if value != 0:
            self._values[index] = value
        else:
            self._values.pop(index, None)

    def count(self):
        """How many elements are not 0."""
        return len(self._values)

    def items(self):
        """Pairs ``(index, value)`` of the elements that are not 0, by index."""
        return sorted(self._values.items())

    def dense(self):
        """All elements in a list."""
        return [self[index] for index in range(self.size)]

    def __add__(self, other):
        """The sum."""
        self._fit(other)
        total = SparseVector(self.size, self._values)
        for index, value in other._values.items():
            total[index] += value
        return total

    def scale(self, factor):
        """The vector times a number."""
        return SparseVector(self.size, {index: factor * value for index, value in self._values.items()})

    def dot(self, other):
        """The sum of the products of the elements at the same index."""
        self._fit(other)
        return sum(value * other[index] for index, value in self._values.items())

    def shift(self, places):
        """The elements moved to indices higher by ``places`` (lower if negative); those pushed out are lost."""
        moved = {index + places: value for index, value in self._values.items()}
        return SparseVector(self.size, {i: value for i, value in moved.items() if 0 <= i < self.size})

    def nearest(self, index):
        """The index nearest to ``index`` with an element not 0, of two equally near the lower; None if all are 0."""
        self._check(index)
        return min(self._values, key=lambda other: (abs(other - index), other), default=None)
