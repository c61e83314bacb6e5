"""How points become grades."""

LEVELS = [(90, "A"), (75, "B"), (60, "C"), (50, "D")]


def grade(percent):
    """A from 90, B from 75, C from 60, D from 50, else F."""
    for least, letter in LEVELS:
        if percent >= least:
            return letter
    return "F"


def drop_lowest(scores, count):
    """The scores in their order without the ``count`` lowest (of equal ones the first), but at least one stays."""
    kept = list(scores)
    for _ in range(min(count, len(kept) - 1)):
        kept.remove(min(kept))
    return kept


def ranks(points):
    """The rank of each number, 1 for the highest; equal ones share a rank and the next ranks are left out."""
    return [1 + sum(other > own for other in points) for own in points]
