"""A rectangular map of cells."""

STEPS = {"N": (0, -1), "E": (1, 0), "S": (0, 1), "W": (-1, 0)}


class Grid:
    """A map from lines of text: ``#`` is a wall, anything else is free; (0, 0) is the upper left cell, x goes right."""

    def __init__(self, text):
        self.rows = text.split("\n")

    def is_free(self, x, y):
        """True if the cell is on the map and no wall."""
        return 0 <= y < len(self.rows) and 0 <= x < len(self.rows[y]) and self.rows[y][x] != "#"

    def find(self, mark):
        """The first cell with this character, line by line, as ``(x, y)``. ValueError "no mark C" if there is none."""
        for y, row in enumerate(self.rows):
            if mark in row:
                return row.index(mark), y
        raise ValueError(f"no mark {mark}")

    def neighbours(self, x, y):
        """The free cells next to one, as ``(direction, (x, y))``, in the order N, E, S, W."""
        cells = [(name, (x + dx, y + dy)) for name, (dx, dy) in STEPS.items()]
        return [(name, cell) for name, cell in cells if self.is_free(*cell)]
