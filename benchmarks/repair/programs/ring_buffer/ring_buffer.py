"""A queue in a fixed number of slots."""


class Full(Exception):
    """No slot is free."""


class Empty(Exception):
    """No item is there."""


class RingBuffer:
    """Holds at most ``capacity`` items, first in, first out. ValueError if capacity is below 1.

    With ``overwrite``, pushing into a full buffer drops the oldest item; else it raises Full.
    """

    def __init__(self, capacity, overwrite=False):
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self._slots = [None] * capacity
        self._overwrite = overwrite
        self._head = 0
        self._size = 0
        self.dropped = 0

    def __len__(self):
        """The number of items."""
        return self._size

    def is_full(self):
        """True if no slot is free."""
        return self._size == len(self._slots)

    def push(self, item):
        """Add an item as the newest. ``dropped`` counts the items that had to go."""
        if self.is_full():
            if not self._overwrite:
                raise Full(f"all {self._size} slots are taken")
            self.pop()
            self.dropped += 1
        tail = (self._head + self._size) % len(self._slots)
        self._slots[tail] = item
        self._size += 1

    def pop(self):
        """Remove and return the oldest item. Raises Empty if there is none."""
        item = self.peek()
        self._slots[self._head] = None
        self._head = (self._head + 1) % len(self._slots)
        self._size -= 1
        return item

    def peek(self, index=0):
        """The item at an index, 0 for the oldest, -1 for the newest. Raises Empty if there is none, else IndexError."""
        if self._size == 0:
            raise Empty("no items")
        if not -self._size <= index < self._size:
            raise IndexError(f"no item {index}")
        return self._slots[(self._head + index % self._size) % len(self._slots)]

    def items(self):
        """All items, the oldest first."""
        return [self.peek(index) for index in range(self._size)]

    def drain(self, most):
        """Remove up to ``most`` items; returns them, the oldest first."""
        taken = []
        while self._size > 0 and len(taken) < most:
            taken.append(self.pop())
        return taken
