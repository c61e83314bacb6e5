"""Version numbers like ``1.4.0-rc2`` and conditions on them."""


def parse(text):
    """``((major, minor, patch), label)``; missing numbers are 0, label "" if there is none.

    ValueError "bad version TEXT" if there are no or more than three numbers, or something else than digits.
    """
    numbers, _, label = text.partition("-")
    parts = numbers.split(".")
    if len(parts) > 3 or not all(part.isdigit() for part in parts):
        raise ValueError(f"bad version {text}")
    values = [int(part) for part in parts] + [0] * (3 - len(parts))
    return tuple(values), label


def compare(a, b):
    """-1, 0 or 1 as ``a`` is before, the same as or after ``b``.

    The numbers decide; of equal ones, a version with a label comes before that without, and labels
    compare as text.
    """
    (a_numbers, a_label), (b_numbers, b_label) = parse(a), parse(b)
    left = (a_numbers, a_label == "", a_label)
    right = (b_numbers, b_label == "", b_label)
    return (left > right) - (left < right)


def bump(version, part):
    """The next version without a label: part is "major", "minor" or "patch"; the numbers after it become 0.

    ValueError "unknown part PART" for another.
    """
    (major, minor, patch), _ = parse(version)
    if part == "major":
        return f"{major + 1}.0.0"
    if part == "minor":
        return f"{major}.{minor + 1}.0"
    if part == "patch":
        return f"{major}.{minor}.{patch + 1}"
    raise ValueError(f"unknown part {part}")


def satisfies(version, condition):
    """True if the version meets all conditions, joined by commas: ``>= > <= < == !=`` and ``^``, then a version.

    ``^1.2`` is at least 1.2 and below the next major version. ValueError "bad condition C" without a sign.
    """
    return all(_meets(version, part.strip()) for part in condition.split(","))


def _meets(version, part):
    for sign in (">=", "<=", "==", "!=", ">", "<", "^"):
        if part.startswith(sign):
            bound = part[len(sign) :].strip()
            break
    else:
        raise ValueError(f"bad condition {part}")
    order = compare(version, bound)
    if sign == "^":
        return order >= 0 and parse(version)[0][0] == parse(bound)[0][0]
    if sign in ("==", "!="):
        return (order == 0) == (sign == "==")
    return {">=": order >= 0, "<=": order <= 0, ">": order > 0, "<": order < 0}[sign]


def newest(versions, condition):
    """The highest version without a label that satisfies the condition, of the same ones the first; None if none."""
    best = None
    for version in versions:
        if parse(version)[1] == "" and satisfies(version, condition):
            if best is None or compare(version, best) > 0:
                best = version
    return best
