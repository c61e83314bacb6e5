"""Names of cells: letters for the column, a number for the row."""


def column_number(letters):
    """A -> 1, Z -> 26, AA -> 27."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def column_letters(number):
    """1 -> A, 26 -> Z, 27 -> AA."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def split(name):
    """``(column number, row)`` of a name like "B12". ValueError "bad cell NAME" for others."""
    letters = name.rstrip("0123456789")
    digits = name[len(letters) :]
    if not letters.isalpha() or not letters.isupper() or not digits or digits[0] == "0":
        raise ValueError(f"bad cell {name}")
    return column_number(letters), int(digits)


def expand(area):
    """All cells of an area like "A1:B2", row by row; the two corners may be any opposite ones."""
    (column, row), (other_column, other_row) = map(split, area.split(":"))
    left, right = sorted((column, other_column))
    top, bottom = sorted((row, other_row))
    return [f"{column_letters(c)}{r}" for r in range(top, bottom + 1) for c in range(left, right + 1)]
