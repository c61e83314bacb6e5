"""A prefix tree of words."""


class Trie:
    """A set of words, each with a count. Starts with the words given, each added once."""

    def __init__(self, words=()):
        self._root = {}
        self._size = 0
        for word in words:
            self.add(word)

    def __len__(self):
        """The number of different words."""
        return self._size

    def _walk(self, text):
        node = self._root
        for letter in text:
            node = node.get(letter)
            if node is None:
                return None
        return node

    def add(self, word):
        """Count ``word`` once more. The empty word is a word too; words are of letters, without digits."""
        node = self._root
        for letter in word:
            node = node.setdefault(letter, {})
        if 0 not in node:
            self._size += 1
        node[0] = node.get(0, 0) + 1

    def count(self, word):
        """How often ``word`` was added (and not removed)."""
        node = self._walk(word)
        return 0 if node is None else node.get(0, 0)

    def remove(self, word):
        """Forget ``word``, whatever its count; False if it was not there."""
        path = [self._root]
        for letter in word:
            if letter not in path[-1]:
                return False
            path.append(path[-1][letter])
        if path[-1].pop(0, 0) == 0:
            return False
        self._size -= 1
        for parent, letter in zip(reversed(path[:-1]), reversed(word)):
            if parent[letter]:
                break
            del parent[letter]
        return True

    def words(self, prefix=""):
        """All words that start with ``prefix``, sorted."""
        found = []
        stack = [(prefix, self._walk(prefix) or {})]
        while stack:
            word, node = stack.pop()
            for key, value in node.items():
                if key == 0:
                    found.append(word)
                else:
                    stack.append((word + key, value))
        return sorted(found)

    def longest_prefix(self, text):
        """The longest word that ``text`` starts with, or None."""
        for end in range(len(text), -1, -1):
            if self.count(text[:end]) > 0:
                return text[:end]
        return None

    def nodes(self):
        """The number of nodes, the root included; none is kept without need."""
        total = 0
        stack = [self._root]
        while stack:
            node = stack.pop()
            total += 1
            stack += [child for key, child in node.items() if key != 0]
        return total
