"""Splits arithmetic text into tokens."""

SYMBOLS = "+-*/^()"


def tokens(text):
    """A list of tokens: integers as int, the signs ``+ - * / ^ ( )`` as text; spaces are skipped.

    ValueError "bad character: c" for anything else.
    """
    found = []
    position = 0
    while position < len(text):
        char = text[position]
        if char.isdigit():
            end = position
            while end < len(text) and text[end].isdigit():
                end += 1
            found.append(int(text[position:end]))
            position = end
            continue
        if char in SYMBOLS:
            found.append(char)
        elif char != " ":
            raise ValueError(f"bad character: {char}")
        position += 1
    return found
