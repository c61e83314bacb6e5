"""Converts quantities, exactly."""

from fractions import Fraction

from unit_table import lookup, units_of


def convert(amount, source, target):
    """The amount (int or Fraction) in the unit ``target``, as a Fraction.

    Units may be quotients: "km/h". ValueError "cannot convert SOURCE to TARGET" if the dimensions differ.
    """
    kind, size = _resolve(source)
    target_kind, target_size = _resolve(target)
    if kind != target_kind:
        raise ValueError(f"cannot convert {source} to {target}")
    return amount * size / target_size


def _resolve(unit):
    if "/" not in unit:
        return lookup(unit)
    above, below = unit.split("/")
    (kind, size), (other_kind, other_size) = lookup(above), lookup(below)
    return f"{kind}/{other_kind}", size / other_size


def show(amount, digits):
    """The amount in decimal with so many digits after the point, half away from zero; no point if digits is 0."""
    scaled = abs(amount) * 10**digits
    number = int(scaled + Fraction(1, 2))
    sign = "-" if amount < 0 and number > 0 else ""
    text = str(number).rjust(digits + 1, "0")
    if digits == 0:
        return sign + text
    return f"{sign}{text[:-digits]}.{text[-digits:]}"


def best_unit(amount, unit):
    """The largest unit of the same dimension in which the amount is at least 1; the smallest if there is none."""
    kind, _ = lookup(unit)
    names = units_of(kind)
    for name in reversed(names):
        if convert(amount, unit, name) >= 1:
            return name
    return names[0]


def split_time(seconds):
    """Whole seconds (not negative) as text like "2h 5min 3s", parts of 0 left out; "0s" for none."""
    parts = []
    for name in reversed(units_of("time")):
        size = int(lookup(name)[1])
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{name}")
    return " ".join(parts) or "0s"
