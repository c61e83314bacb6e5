"""Reads a small JSON: null, true, false, integers, strings without escapes, arrays, objects."""

WORDS = {"null": None, "true": True, "false": False}


class JsonError(ValueError):
    """The text is not as it must be; the message ends with the place, ``at 7``."""


class Reader:
    """Reads one value from a text."""

    def __init__(self, text):
        self.text = text
        self.position = 0

    def fail(self, what):
        """Raise JsonError for the present position."""
        raise JsonError(f"{what} at {self.position}")

    def next(self):
        """The next character that is no space or newline, without taking it; "" at the end."""
        while self.text[self.position : self.position + 1] in (" ", "\n"):
            self.position += 1
        return self.text[self.position : self.position + 1]

    def take(self, char):
        """Take ``char`` if it is next; says whether it was."""
        if self.next() != char:
            return False
        self.position += 1
        return True

    def value(self):
        """Take one value. Fails with "expected a value" if none starts here."""
        start = self.next()
        if self.take("["):
            return self._items("]", self.value)
        if self.take("{"):
            return dict(self._items("}", self._pair))
        if start == '"':
            return self._string()
        if start and start in "-0123456789":
            return self._integer()
        for word, value in WORDS.items():
            if self.text.startswith(word, self.position):
                self.position += len(word)
                return value
        self.fail("expected a value")

    def _items(self, end, item):
        items = []
        if self.take(end):
            return items
        while True:
            items.append(item())
            if self.take(end):
                return items
            if not self.take(","):
                self.fail(f"expected , or {end}")

    def _pair(self):
        if self.next() != '"':
            self.fail("expected a key")
        key = self._string()
        if not self.take(":"):
            self.fail("expected :")
        return key, self.value()

    def _string(self):
        end = self.text.find('"', self.position + 1)
        if end == -1:
            self.fail("unclosed string")
        string = self.text[self.position + 1 : end]
        self.position = end + 1
        return string

    def _integer(self):
        end = self.position + 1
        while self.text[end : end + 1].isdigit():
            end += 1
        digits = self.text[self.position : end]
        if digits == "-":
            self.fail("expected a value")
        self.position = end
        return int(digits)
