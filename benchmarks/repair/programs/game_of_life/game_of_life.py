"""Conway's Game of Life on a plane without bounds."""


def parse(text):
    """The living cells ``(x, y)`` of a drawing, as a set: ``#`` lives; y is the line, x the place in it, from 0."""
    return {(x, y) for y, line in enumerate(text.split("\n")) for x, char in enumerate(line) if char == "#"}


def draw(cells):
    """The smallest drawing of the cells: ``#`` and ``.``, lines joined by newlines; "" for none."""
    if not cells:
        return ""
    xs = [x for x, _ in cells]
    ys = [y for _, y in cells]
    lines = []
    for y in range(min(ys), max(ys) + 1):
        lines.append("".join("#" if (x, y) in cells else "." for x in range(min(xs), max(xs) + 1)))
    return "\n".join(lines)


def step(cells):
    """The cells of the next generation: those with 3 living neighbours, and the living ones with 2."""
    counts = {}
    for x, y in cells:
        for dx in (-1, 0, 1):
            for dy in (-1, 0, 1):
                if (dx, dy) != (0, 0):
                    neighbour = (x + dx, y + dy)
                    counts[neighbour] = counts.get(neighbour, 0) + 1
    return {cell for cell, count in counts.items() if count == 3 or (count == 2 and cell in cells)}


def run(cells, generations):
    """The cells after so many steps."""
    for _ in range(generations):
        cells = step(cells)
    return cells


def move(cells, dx, dy):
    """The cells moved right by dx and down by dy."""
    return {(x + dx, y + dy) for x, y in cells}


def _corner(cells):
    return min((x for x, _ in cells), default=0), min((y for _, y in cells), default=0)


def same_shape(a, b):
    """True if moving makes ``b`` of ``a``."""
    (ax, ay), (bx, by) = _corner(a), _corner(b)
    return move(a, bx - ax, by - ay) == b


def period(cells, limit):
    """``(n, dx, dy)``: the least n from 1 to ``limit`` so that n steps only move the cells, by (dx, dy); else None.

    (1, 0, 0) for no cells.
    """
    x, y = _corner(cells)
    later = cells
    for n in range(1, limit + 1):
        later = step(later)
        if same_shape(cells, later):
            new_x, new_y = _corner(later)
            return n, new_x - x, new_y - y
    return None
