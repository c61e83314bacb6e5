"""The books of a library."""


class Shelf:
    """Titles and how many copies of each are there."""

    def __init__(self):
        self._copies = {}
        self._authors = {}

    def add(self, title, author, copies=1):
        """Add copies of a title. ValueError "other author" if it is known with another one."""
        if self._authors.setdefault(title, author) != author:
            raise ValueError("other author")
        self._copies[title] = self.copies(title) + copies

    def copies(self, title):
        """How many copies are there; 0 for an unknown title."""
        return self._copies.get(title, 0)

    def take(self, title):
        """Take a copy; False if none is there."""
        if self.copies(title) == 0:
            return False
        self._copies[title] -= 1
        return True

    def put(self, title):
        """Put a copy back."""
        self._copies[title] += 1

    def by(self, author):
        """The titles of an author, sorted, whether copies are there or not."""
        return sorted(title for title, name in self._authors.items() if name == author)
