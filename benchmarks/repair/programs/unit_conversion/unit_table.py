"""What units there are: each with its dimension and its size as a fraction of the base unit."""

from fractions import Fraction

UNITS = {
    "m": ("length", Fraction(1)),
    "km": ("length", Fraction(1000)),
    "cm": ("length", Fraction(1, 100)),
    "in": ("length", Fraction(254, 10000)),
    "ft": ("length", Fraction(3048, 10000)),
    "s": ("time", Fraction(1)),
    "min": ("time", Fraction(60)),
    "h": ("time", Fraction(3600)),
    "g": ("mass", Fraction(1, 1000)),
    "kg": ("mass", Fraction(1)),
}


def lookup(name):
    """Dimension and size of a unit. KeyError with its name if there is none."""
    return UNITS[name]


def units_of(dimension):
    """The names of the units of a dimension, the smallest first."""
    found = [(size, name) for name, (kind, size) in UNITS.items() if kind == dimension]
    return [name for _, name in sorted(found)]
