"""Cells with numbers and formulas."""

from cells import expand, split


class CircularError(Exception):
    """A cell needs itself."""


class Sheet:
    """Cells by name. A cell never set is 0."""

    def __init__(self):
        self._cells = {}

    def set(self, name, content):
        """Set a cell to an integer or a formula, text: terms joined by ``+`` and ``-`` with spaces around.

        A term is an integer, a cell, or SUM, MIN, MAX or COUNT of an area: ``A1 + SUM(B1:B3) - 2``.
        COUNT counts the cells of the area that were set, the others take all. ValueError for a bad cell.
        """
        split(name)
        self._cells[name] = content

    def get(self, name):
        """The value of a cell. CircularError "circular: NAME" if it needs itself; ValueError for a bad formula."""
        return self._value(name, ())

    def _value(self, name, above):
        split(name)
        if name in above:
            raise CircularError(f"circular: {name}")
        content = self._cells.get(name, 0)
        if isinstance(content, int):
            return content
        words = content.split(" ")
        total = self._term(words[0], (*above, name))
        for sign, term in zip(words[1::2], words[2::2]):
            value = self._term(term, (*above, name))
            total += value if sign == "+" else -value
        return total

    def _term(self, term, above):
        if term.isdigit():
            return int(term)
        if not term.endswith(")"):
            return self._value(term, above)
        function, area = term[:-1].split("(")
        if function == "COUNT":
            return sum(cell in self._cells for cell in expand(area))
        values = [self._value(cell, above) for cell in expand(area)]
        if function not in ("SUM", "MIN", "MAX"):
            raise ValueError(f"unknown function {function}")
        return {"SUM": sum, "MIN": min, "MAX": max}[function](values)
