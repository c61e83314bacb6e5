"""A search index of short texts."""

STOP = ("a", "an", "and", "of", "the")


def words(text):
    """The words of a text in small letters, without the stop words: runs of letters and digits."""
    cleaned = "".join(char if char.isalnum() else " " for char in text.lower())
    return [word for word in cleaned.split() if word not in STOP]


class Index:
    """Texts by name, found by their words."""

    def __init__(self):
        self._places = {}
        self._names = []

    def add(self, name, text):
        """Index a text; one with the same name is replaced and counts as added last."""
        self.remove(name)
        self._names.append(name)
        for place, word in enumerate(words(text)):
            self._places.setdefault(word, {}).setdefault(name, []).append(place)

    def remove(self, name):
        """Forget a text; False if there is none of this name."""
        if name not in self._names:
            return False
        self._names.remove(name)
        for word in list(self._places):
            self._places[word].pop(name, None)
            if not self._places[word]:
                del self._places[word]
        return True

    def vocabulary(self):
        """All words, sorted."""
        return sorted(self._places)

    def search(self, query):
        """The names of texts that have all words of the query (no words: none).

        Those in which they occur most often (added up) come first, equal ones in the order of adding.
        """
        wanted = words(query)
        if not wanted:
            return []
        found = [name for name in self._names if all(name in self._places.get(word, {}) for word in wanted)]
        return sorted(found, key=lambda name: -sum(len(self._places[word][name]) for word in wanted))

    def phrase(self, query):
        """The names of texts that have the words of the query one after the other, in the order of adding."""
        found = self.search(query)
        return [name for name in self._names if name in found and self._has_phrase(name, words(query))]

    def _has_phrase(self, name, wanted):
        rows = [self._places[word].get(name, []) for word in wanted]
        return any(all(start + shift in row for shift, row in enumerate(rows)) for start in rows[0])

    def completions(self, prefix, most):
        """Up to ``most`` words that start with the prefix: those in most texts first, then by word."""
        found = [word for word in self._places if word.startswith(prefix)]
        return sorted(found, key=lambda word: (-len(self._places[word]), word))[:most]
