"""Roman numerals from 1 to 3999."""

_SIGNS = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
]


def to_roman(number):
    """The numeral of ``number`` in capitals. ValueError unless it is from 1 to 3999."""
    if not 1 <= number <= 3999:
        raise ValueError(f"out of range: {number}")
    text = ""
    for value, sign in _SIGNS:
        text += sign * (number // value)
        number %= value
    return text


def from_roman(text):
    """The number of a numeral, capitals or not. ValueError if ``text`` is not how ``to_roman`` writes a number."""
    letters = {sign: value for value, sign in _SIGNS if len(sign) == 1}
    capitals = text.upper()
    total = 0
    previous = 0
    for letter in reversed(capitals):
        value = letters.get(letter, 0)
        if value < previous:
            total -= value
        else:
            total += value
            previous = value
    if not 1 <= total <= 3999 or to_roman(total) != capitals:
        raise ValueError(f"not a numeral: {text}")
    return total


def is_roman(text):
    """True if ``from_roman`` takes ``text``."""
    try:
        from_roman(text)
    except ValueError:
        return False
    return True
