"""Bugs in constants."""

from __future__ import annotations

import ast
import re

from benchmarks.repair.mutations.site import Edits, integer, is_range, on
from benchmarks.repair.syntax import Function, Source


@on(ast.Constant)
def constant_off_by_one(source: Source, node: ast.Constant) -> Edits:
    """``3`` -> ``4`` or ``2``, where no other kind of bug is about this number."""
    up = source.up(node)
    elsewhere = isinstance(up, ast.arguments | ast.Subscript | ast.Slice | ast.UnaryOp) or is_range(up)
    value = integer(node)
    if value is not None and not elsewhere:
        yield source.span(node), b"%d" % (value + 1)
        if value > 0:
            yield source.span(node), b"%d" % (value - 1)


@on(ast.Constant)
def boolean_constant(source: Source, node: ast.Constant) -> Edits:
    """``True`` -> ``False`` and back."""
    if isinstance(node.value, bool) and not isinstance(source.up(node), ast.arguments):
        yield source.span(node), str(not node.value).encode()


@on(ast.Constant)
def string_constant(source: Source, node: ast.Constant) -> Edits:
    """A text a little different: a blank too many, the last letter lost, another case. Not in error messages."""
    if isinstance(node.value, str) and source.around(node, (ast.Raise,)) is None:
        match = re.fullmatch(rb"(['\"])([^\\'\"\n]*)\1", source.text(node))
        if match is not None:
            quote, old = match.groups()
            for new in (old[:-1], old.swapcase()) if len(old) > 1 else (old + b" ",):
                yield source.span(node), quote + new + quote


@on(*Function)
def default_argument(source: Source, node: ast.FunctionDef) -> Edits:
    """``def f(a=0)`` -> ``def f(a=1)``, ``a=True`` -> ``a=False``, ``a=""`` -> ``a=" "``."""
    for default in (*node.args.defaults, *(value for value in node.args.kw_defaults if value)):
        if isinstance(default, ast.Constant):
            value = default.value
            if isinstance(value, bool):
                yield source.span(default), str(not value).encode()
            elif isinstance(value, int):
                yield source.span(default), b"%d" % (value + 1)
            elif value == "":
                yield source.span(default), b'" "'
