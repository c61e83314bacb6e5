"""A line of text with a cursor, undo and redo."""


class Editor:
    """Text and a cursor between its characters: 0 is before the first."""

    def __init__(self, text=""):
        self.text = text
        self.cursor = len(text)
        self._undo = []
        self._redo = []

    def move(self, steps):
        """Move the cursor right, or left if negative; it stops at the ends."""
        self.cursor = min(len(self.text), max(0, self.cursor + steps))

    def _replace(self, start, end, new):
        old = self.text[start:end]
        self.text = self.text[:start] + new + self.text[end:]
        self.cursor = start + len(new)
        return old

    def _change(self, start, end, new):
        old = self._replace(start, end, new)
        self._undo.append((start, old, new))
        self._redo.clear()

    def insert(self, new):
        """Put text in at the cursor, which goes behind it. Empty text is no change."""
        if new:
            self._change(self.cursor, self.cursor, new)

    def delete(self, count):
        """Delete up to ``count`` characters before the cursor; returns them. Nothing deleted is no change."""
        start = max(0, self.cursor - count)
        gone = self.text[start : self.cursor]
        if gone:
            self._change(start, self.cursor, "")
        return gone

    def replace_all(self, old, new):
        """Replace each ``old`` in the text, as one change; the cursor goes to the end. Returns how many there were.

        ValueError "nothing to replace" if ``old`` is empty.
        """
        if not old:
            raise ValueError("nothing to replace")
        count = self.text.count(old)
        if count > 0:
            self._change(0, len(self.text), self.text.replace(old, new))
        return count

    def undo(self):
        """Take the last change back; False if there is none. The cursor goes behind what came back."""
        if not self._undo:
            return False
        start, old, new = self._undo.pop()
        self._replace(start, start + len(new), old)
        self._redo.append((start, old, new))
        return True

    def redo(self):
        """Do the change again that was last taken back; False if there is none. Any new change forgets them all."""
        if not self._redo:
            return False
        start, old, new = self._redo.pop()
        self._replace(start, start + len(old), new)
        self._undo.append((start, old, new))
        return True
