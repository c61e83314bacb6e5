"""Patterns for names: ``*`` any text, ``?`` any one character, ``[...]`` one of some, ``{a,b}`` alternatives."""


def expand(pattern):
    """The patterns without braces that a pattern stands for, in order; the first brace varies slowest.

    Braces do not nest. ValueError "unclosed brace".
    """
    start = pattern.find("{")
    if start == -1:
        return [pattern]
    end = pattern.find("}", start)
    if end == -1:
        raise ValueError("unclosed brace")
    tails = expand(pattern[end + 1 :])
    return [pattern[:start] + choice + tail for choice in pattern[start + 1 : end].split(",") for tail in tails]


def char_in_class(char, members):
    """True if ``members`` (the text between the brackets) holds the character.

    ``a-z`` is a range, both ends included; a minus at either end is a minus. ``!`` in front means none of the rest.
    """
    if members.startswith("!"):
        return not char_in_class(char, members[1:])
    position = 0
    while position < len(members):
        low = high = members[position]
        if members[position + 1 : position + 2] == "-" and position + 2 < len(members):
            high = members[position + 2]
            position += 2
        if low <= char <= high:
            return True
        position += 1
    return False


def matches(pattern, name):
    """True if the whole name fits the pattern. ValueError "unclosed brace" or "unclosed bracket"."""
    return any(_fits(plain, name) for plain in expand(pattern))


def _fits(pattern, name):
    if not pattern:
        return not name
    first = pattern[0]
    if first == "*":
        return any(_fits(pattern[1:], name[skip:]) for skip in range(len(name) + 1))
    rest = pattern[1:]
    if first == "[":
        members, bracket, rest = rest.partition("]")
        if not bracket:
            raise ValueError("unclosed bracket")
        fits = name != "" and char_in_class(name[0], members)
    else:
        fits = name != "" and first in ("?", name[0])
    return fits and _fits(rest, name[1:])


def select(names, include, exclude=()):
    """The names, in their order, that fit a pattern to include and none to exclude."""
    return [
        name
        for name in names
        if any(matches(pattern, name) for pattern in include) and not any(matches(pattern, name) for pattern in exclude)
    ]
