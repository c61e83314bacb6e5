"""What a mutation is, and what the kinds of mutation share.

A kind is a function from a node to the edits it could have there, under ``on`` and the node types it looks at::

    @on(ast.Continue)
    def continue_to_pass(source: Source, node: ast.Continue) -> Edits:
        yield source.span(node), b"pass"
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.repair.syntax import Source, Span


@dataclass(frozen=True)
class Site:
    """One possible bug: the bytes ``start:end`` become ``new``.

    Attributes:
        scope: qualified name of the function around it, "" at the top of the module.
        lines: first and last line that it changes, from 1.
    """

    kind: str
    start: int
    end: int
    new: bytes
    scope: str
    lines: tuple[int, int]


Edits = Iterator[tuple[Span, bytes]]
KINDS: dict[str, tuple[tuple[type[ast.AST], ...], Callable[[Source, ast.AST], Edits]]] = {}


def on(*types: type[ast.AST]) -> Callable[[Callable[..., Edits]], Callable[..., Edits]]:
    """Make the decorated function, by its name, the kind of mutation for nodes of these types."""

    def add(function: Callable[..., Edits]) -> Callable[..., Edits]:
        KINDS[function.__name__] = (types, function)
        return function

    return add


def swap(source: Source, first: ast.AST, second: ast.AST) -> Edits:
    """Two nodes change places; what is between them stays."""
    (start, middle), (resume, end) = source.span(first), source.span(second)
    yield (start, end), source.text(second) + source.content[middle:resume] + source.text(first)


def shift(source: Source, node: ast.AST, by: int) -> bytes:
    """The text of an integer expression plus ``by``, as one would write it."""
    if (value := integer(node)) is not None:
        return b"%d" % (value + by)
    offset = integer(node.right) if isinstance(node, ast.BinOp) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and offset is not None:
        total = by + (offset if isinstance(node.op, ast.Add) else -offset)
        return source.text(node.left) + (b" %s %d" % (b"+" if total > 0 else b"-", abs(total)) if total else b"")
    return source.atom(node) + (b" + %d" % by if by > 0 else b" - %d" % -by)


def integer(node: ast.AST) -> int | None:
    """The value of an integer constant, else None."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_range(node: ast.AST) -> bool:
    """The node calls ``range``."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and bool(node.args)
    )
