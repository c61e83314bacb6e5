"""Bugs in comparisons, conditions and branches."""

from __future__ import annotations

import ast
import re

from benchmarks.repair.mutations.site import Edits, on, swap
from benchmarks.repair.syntax import Source

_SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
_WORDS = {ast.In: r"in\b", ast.NotIn: r"not\s+in\b", ast.Is: r"is\b", ast.IsNot: r"is\s+not\b"}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "!=", "!=": "=="}
_FLIPPED_WORDS = {ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}
_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


@on(ast.Compare)
def comparison_flipped(source: Source, node: ast.Compare) -> Edits:
    """``a < b`` -> ``a > b``, ``a == b`` -> ``a != b``, ``a in b`` -> ``a not in b``."""
    for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        sign = _SIGNS.get(type(op))
        pattern, new = (re.escape(sign), _FLIPPED[sign]) if sign else (_WORDS[type(op)], _FLIPPED_WORDS[type(op)])
        if span := source.between(left, right, pattern.encode()):
            yield span, new.encode()


@on(ast.Compare)
def comparison_boundary(source: Source, node: ast.Compare) -> Edits:
    """``a < b`` -> ``a <= b`` and the like."""
    for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        sign = _SIGNS.get(type(op), "")
        if sign in _BOUNDARY and (span := source.between(left, right, re.escape(sign).encode())):
            yield span, _BOUNDARY[sign].encode()


@on(ast.BoolOp)
def boolean_operator(source: Source, node: ast.BoolOp) -> Edits:
    """``a and b`` -> ``a or b``."""
    old, new = (b"and", b"or") if isinstance(node.op, ast.And) else (b"or", b"and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        if span := source.between(left, right, rb"\b%s\b" % old):
            yield span, new


@on(ast.BoolOp)
def dropped_condition(source: Source, node: ast.BoolOp) -> Edits:
    """``a and b`` -> ``a``, or ``b``."""
    if len(node.values) == 2:
        for value in node.values:
            yield source.span(node), source.atom(value)


@on(ast.If, ast.While, ast.IfExp)
def negated_condition(source: Source, node: ast.If | ast.While | ast.IfExp) -> Edits:
    """``if a:`` -> ``if not a:``."""
    if not isinstance(node.test, ast.UnaryOp):
        yield source.span(node.test), b"not " + source.atom(node.test)


@on(ast.UnaryOp)
def dropped_not(source: Source, node: ast.UnaryOp) -> Edits:
    """``not a`` -> ``a``."""
    if isinstance(node.op, ast.Not):
        yield source.span(node), source.atom(node.operand)


@on(ast.If)
def elif_to_if(source: Source, node: ast.If) -> Edits:
    """``elif a:`` -> ``if a:``: both branches run."""
    start, _ = source.span(node)
    if source.content[start : start + 4] == b"elif":
        yield (start, start + 4), b"if"


@on(ast.If, ast.IfExp)
def swapped_branches(source: Source, node: ast.If | ast.IfExp) -> Edits:
    """The two branches of an ``if``, or of ``a if c else b``, changed places."""
    if isinstance(node, ast.IfExp):
        yield from swap(source, node.body, node.orelse)
    elif node.orelse and node.body[0].lineno > node.test.lineno:
        first, second = source.span(node.orelse[0])[0], source.span(node.orelse[-1])[1]
        start, middle = source.span(node.body[0])[0], source.span(node.body[-1])[1]
        same_depth = node.orelse[0].col_offset == node.body[0].col_offset  # not an elif, not on the line of the else
        if same_depth:
            content = source.content
            yield (start, second), content[first:second] + content[middle:first] + content[start:middle]


@on(ast.While)
def while_to_if(source: Source, node: ast.While) -> Edits:
    """``while a:`` -> ``if a:``: the loop runs once at most."""
    start, _ = source.span(node)
    yield (start, start + 5), b"if"
