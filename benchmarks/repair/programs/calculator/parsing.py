"""Parses tokens into trees: an int, ``("neg", tree)`` or ``(sign, left, right)``."""

from scanning import tokens


def parse(text):
    """The tree of an expression.

    ``+ -`` bind weakest, then ``* /``, then the minus in front, then ``^``. Equal ones group to
    the left, ``^`` to the right; ``2^-1`` has a minus in front of its exponent.
    ValueError "unexpected end" or "unexpected TOKEN".
    """
    rest = tokens(text)
    tree = _sum(rest)
    if rest:
        raise ValueError(f"unexpected {rest[0]}")
    return tree


def _chain(rest, signs, operand):
    tree = operand(rest)
    while rest and rest[0] in signs:
        sign = rest.pop(0)
        tree = (sign, tree, operand(rest))
    return tree


def _sum(rest):
    return _chain(rest, ("+", "-"), _product)


def _product(rest):
    return _chain(rest, ("*", "/"), _minus)


def _minus(rest):
    if rest and rest[0] == "-":
        rest.pop(0)
        return ("neg", _minus(rest))
    return _power(rest)


def _power(rest):
    base = _atom(rest)
    if rest and rest[0] == "^":
        rest.pop(0)
        return ("^", base, _minus(rest))
    return base


def _atom(rest):
    if not rest:
        raise ValueError("unexpected end")
    token = rest.pop(0)
    if token == "(":
        tree = _sum(rest)
        if not rest:
            raise ValueError("unexpected end")
        if rest[0] != ")":
            raise ValueError(f"unexpected {rest[0]}")
        rest.pop(0)
        return tree
    if not isinstance(token, int):
        raise ValueError(f"unexpected {token}")
    return token
