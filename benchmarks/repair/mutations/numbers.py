"""Bugs in arithmetic, indices and bounds."""

from __future__ import annotations

import ast
import re

from benchmarks.repair.mutations.site import Edits, is_range, on, shift, swap
from benchmarks.repair.syntax import Source

_OPERATORS: dict[type[ast.operator], tuple[bytes, bytes]] = {
    ast.Add: (b"+", b"-"),
    ast.Sub: (b"-", b"+"),
    ast.Mult: (b"*", b"+"),
    ast.Div: (b"/", b"//"),
    ast.FloorDiv: (b"//", b"%"),
    ast.Mod: (b"%", b"//"),
    ast.Pow: (b"**", b"*"),
    ast.LShift: (b"<<", b">>"),
    ast.RShift: (b">>", b"<<"),
    ast.BitAnd: (b"&", b"|"),
    ast.BitOr: (b"|", b"&"),
    ast.BitXor: (b"^", b"|"),
}
_ONE_WAY = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


@on(ast.BinOp)
def arithmetic_operator(source: Source, node: ast.BinOp) -> Edits:
    """``a + b`` -> ``a - b``, ``a // b`` -> ``a % b`` and the like."""
    old, new = _OPERATORS.get(type(node.op), (b"", b""))
    if old and (span := source.between(node.left, node.right, re.escape(old))):
        yield span, new


@on(ast.AugAssign)
def augmented_operator(source: Source, node: ast.AugAssign) -> Edits:
    """``a += b`` -> ``a -= b``, or ``a = b``."""
    old, new = _OPERATORS.get(type(node.op), (b"", b""))
    if old and (span := source.between(node.target, node.value, re.escape(old) + b"=")):
        yield span, new + b"="
        yield span, b"="


@on(ast.BinOp)
def swapped_operands(source: Source, node: ast.BinOp) -> Edits:
    """``a - b`` -> ``b - a``."""
    if isinstance(node.op, _ONE_WAY):
        yield from swap(source, node.left, node.right)


@on(ast.BinOp)
def dropped_term(source: Source, node: ast.BinOp) -> Edits:
    """``a + b`` -> ``a``."""
    yield source.span(node), source.atom(node.left)


@on(ast.UnaryOp)
def dropped_minus(source: Source, node: ast.UnaryOp) -> Edits:
    """``-a`` -> ``a``."""
    if isinstance(node.op, ast.USub) and not isinstance(source.up(node), ast.Subscript | ast.Slice):
        yield source.span(node), source.atom(node.operand)


@on(ast.Subscript)
def wrong_index(source: Source, node: ast.Subscript) -> Edits:
    """``a[i]`` -> ``a[i + 1]`` or ``a[i - 1]``, ``a[-1]`` -> ``a[0]``."""
    index = node.slice
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub):
        yield source.span(index), b"0"
    elif source.is_integer(index):
        yield source.span(index), shift(source, index, 1)
        yield source.span(index), shift(source, index, -1)


@on(ast.Slice)
def slice_bound(source: Source, node: ast.Slice) -> Edits:
    """``a[1:]`` -> ``a[2:]``, ``a[:n]`` -> ``a[:n - 1]``, ``a[:n]`` -> ``a[1:n]``."""
    start, _ = source.span(node)
    for bound in (node.lower, node.upper):
        if bound is not None and source.is_integer(bound):
            yield source.span(bound), shift(source, bound, 1)
            yield source.span(bound), shift(source, bound, -1)
    if node.lower is None and node.step is None:
        yield (start, start), b"1"


@on(ast.Call)
def range_bound(source: Source, node: ast.Call) -> Edits:
    """``range(a, b)`` -> ``range(a, b - 1)``, ``range(a, b + 1)``, ``range(a + 1, b)``."""
    if is_range(node) and node.args and not any(isinstance(value, ast.Starred) for value in node.args):
        stop = node.args[min(1, len(node.args) - 1)]
        yield source.span(stop), shift(source, stop, -1)
        yield source.span(stop), shift(source, stop, 1)
        if len(node.args) > 1:
            yield source.span(node.args[0]), shift(source, node.args[0], 1)
