"""Bugs in statements: left out, too early, in the wrong loop."""

from __future__ import annotations

import ast

from benchmarks.repair.mutations.site import Edits, on
from benchmarks.repair.syntax import Function, Source


@on(ast.Expr, ast.Assign, ast.AugAssign, ast.Delete)
def dropped_statement(source: Source, node: ast.stmt) -> Edits:
    """A statement left out (``pass``), unless a name would be unbound without it."""
    names = source.locals(source.around(node, Function) or source.tree)
    targets = node.targets if isinstance(node, ast.Assign) else []
    first = any(isinstance(each, ast.Name) and names.get(each.id, node.lineno) >= node.lineno for each in targets)
    if not first and not any(isinstance(each, ast.Tuple) for each in targets) and source.scope(node):
        yield source.span(node), b"pass"


@on(ast.If)
def missing_base_case(source: Source, node: ast.If) -> Edits:
    """``if a: return b`` left out (``pass``)."""
    leaves = len(node.body) == 1 and isinstance(node.body[0], ast.Return | ast.Raise | ast.Continue)
    start, end = source.span(node)
    if leaves and not node.orelse and not source.content.startswith(b"elif", start):
        yield (start, end), b"pass"


@on(ast.Return)
def forgotten_return(source: Source, node: ast.Return) -> Edits:
    """``return a`` -> ``a``."""
    start, _ = source.span(node)
    if node.value is not None and source.span(node.value)[0] == start + len(b"return "):
        yield (start, start + len(b"return ")), b""


@on(ast.For, ast.While)
def early_return(source: Source, node: ast.For | ast.While) -> Edits:
    """The function's last ``return`` also stands inside the loop before it."""
    function, last = source.up(node), node.body[-1]
    if isinstance(function, Function) and isinstance(function.body[-1], ast.Return) and last.lineno > node.lineno:
        leaves = isinstance(last, ast.Return | ast.Raise | ast.Break | ast.Continue)
        if node is function.body[-2] and not node.orelse and not leaves:
            _, end = source.span(last)
            yield (end, end), b"\n" + b" " * last.col_offset + source.text(function.body[-1])


@on(ast.Break, ast.Continue)
def break_continue(source: Source, node: ast.Break | ast.Continue) -> Edits:
    """``break`` -> ``continue`` and back."""
    yield source.span(node), b"continue" if isinstance(node, ast.Break) else b"break"
