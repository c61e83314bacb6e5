"""A cache of bounded size that forgets what was used longest ago."""


class LRUCache:
    """Maps keys to values, at most ``capacity`` of them. ValueError if ``capacity`` is below 1."""

    def __init__(self, capacity):
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self.capacity = capacity
        self.hits = 0
        self.misses = 0
        self._items = {}

    def __len__(self):
        """The number of keys held."""
        return len(self._items)

    def get(self, key, default=None):
        """The value of ``key``, which becomes the newest; counts a hit. ``default`` and a miss if it is not held."""
        if key not in self._items:
            self.misses += 1
            return default
        self.hits += 1
        value = self._items.pop(key)
        self._items[key] = value
        return value

    def put(self, key, value):
        """Set ``key`` and make it the newest. Returns the key evicted to make room (the oldest), or None."""
        if key in self._items:
            del self._items[key]
        self._items[key] = value
        if len(self._items) > self.capacity:
            oldest = next(iter(self._items))
            del self._items[oldest]
            return oldest
        return None

    def keys(self):
        """All keys, the oldest first. Changes nothing."""
        return list(self._items)

    def resize(self, capacity):
        """Change the capacity; returns the keys evicted, the oldest first. ValueError if it is below 1."""
        if capacity < 1:
            raise ValueError("capacity must be at least 1")
        self.capacity = capacity
        surplus = max(0, len(self._items) - capacity)
        evicted = self.keys()[:surplus]
        for key in evicted:
            del self._items[key]
        return evicted
