"""A priority queue as a binary heap whose priorities can change."""


class PriorityQueue:
    """Different items with priorities; the least priority comes first, of equal ones the item added first."""

    def __init__(self):
        self._heap = []
        self._place = {}
        self._added = 0

    def __len__(self):
        """The number of items."""
        return len(self._heap)

    def __contains__(self, item):
        """True if the item is in."""
        return item in self._place

    def _swap(self, i, j):
        heap = self._heap
        heap[i], heap[j] = heap[j], heap[i]
        self._place[heap[i][2]] = i
        self._place[heap[j][2]] = j

    def _up(self, i):
        while i > 0 and self._heap[i] < self._heap[(i - 1) // 2]:
            self._swap(i, (i - 1) // 2)
            i = (i - 1) // 2

    def _down(self, i):
        while 2 * i + 1 < len(self._heap):
            child = 2 * i + 1
            if child + 1 < len(self._heap) and self._heap[child + 1] < self._heap[child]:
                child += 1
            if self._heap[i] < self._heap[child]:
                break
            self._swap(i, child)
            i = child

    def push(self, item, priority):
        """Add an item. ValueError "already in" if it is in."""
        if item in self:
            raise ValueError("already in")
        self._added += 1
        self._heap.append((priority, self._added, item))
        self._place[item] = len(self._heap) - 1
        self._up(len(self._heap) - 1)

    def peek(self):
        """The first item and its priority. IndexError "empty queue" if there is none."""
        if not self._heap:
            raise IndexError("empty queue")
        priority, _, item = self._heap[0]
        return item, priority

    def pop(self):
        """Remove and return what ``peek`` gives."""
        first = self.peek()
        self.remove(first[0])
        return first

    def remove(self, item):
        """Take an item out. KeyError if it is not in."""
        i = self._place[item]
        self._swap(i, len(self._heap) - 1)
        self._heap.pop()
        del self._place[item]
        if i < len(self._heap):
            self._up(i)
            self._down(i)

    def change(self, item, priority):
        """Give an item a new priority; its age stays. KeyError if it is not in."""
        i = self._place[item]
        self._heap[i] = (priority, self._heap[i][1], item)
        self._up(i)
        self._down(self._place[item])
