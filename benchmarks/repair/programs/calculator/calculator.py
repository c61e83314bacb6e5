"""Evaluates arithmetic in whole numbers."""

from parsing import parse


def calculate(text):
    """The value of an expression; ``/`` rounds down.

    ValueError as in ``parse``, or "negative exponent"; ZeroDivisionError "division by zero".
    """
    return value(parse(text))


def value(tree):
    """The value of a tree of ``parse``."""
    if isinstance(tree, int):
        return tree
    if tree[0] == "neg":
        return -value(tree[1])
    sign, left, right = tree[0], value(tree[1]), value(tree[2])
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    if sign == "*":
        return left * right
    if sign == "/":
        if right == 0:
            raise ZeroDivisionError("division by zero")
        return left // right
    if right < 0:
        raise ValueError("negative exponent")
    return left**right
