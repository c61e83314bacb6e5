"""Python source as a tree with byte spans, for edits that touch nothing but their span.

``Source`` parses once and answers what the kinds of mutation ask: the span of a node, the operator between two
nodes, the function and class around it, the names bound in a function::

    source = Source(b"def f(a):\\n    return a + 1\\n")
    source.text(source.nodes[-1])
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from functools import cached_property

Span = tuple[int, int]
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set, ast.Tuple)


class Source:
    """One parsed file. ``nodes``: every node with a place in the file, in the order of the text, outer nodes first.

    Annotations, decorators, docstrings and the insides of f-strings are left out: they do nothing, or have no
    exact place. Raises SyntaxError if the file does not parse.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.tree = ast.parse(content)
        self._starts = [0]
        for line in content.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.parent: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        self._collect(self.tree)
        self._counters: set[tuple[ast.AST | None, str]] = set()
        self._count()

    def _collect(self, node: ast.AST) -> None:
        if hasattr(node, "lineno"):
            self.nodes.append(node)
        if isinstance(node, ast.JoinedStr):
            return
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_bare_constant(child):
                    self.parent[child] = node
                    self._collect(child)

    def span(self, node: ast.AST) -> Span:
        """Half-open byte range of a node, without parentheses around it."""
        place: ast.expr = node  # type: ignore[assignment]  # every node in ``nodes`` has the four attributes
        assert place.end_lineno is not None
        assert place.end_col_offset is not None
        return (
            self._starts[place.lineno - 1] + place.col_offset,
            self._starts[place.end_lineno - 1] + place.end_col_offset,
        )

    def text(self, node: ast.AST) -> bytes:
        """The bytes of a node."""
        start, end = self.span(node)
        return self.content[start:end]

    def atom(self, node: ast.AST) -> bytes:
        """The bytes of an expression, in parentheses unless it binds as tightly as anything."""
        return self.text(node) if isinstance(node, _ATOMS) else b"(" + self.text(node) + b")"

    def between(self, left: ast.AST, right: ast.AST, pattern: bytes) -> Span | None:
        """Where the pattern is between two nodes; None if a comment there could hold it too."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.content[start:end]
        match = None if b"#" in gap else re.search(pattern, gap)
        return None if match is None else (start + match.start(), start + match.end())

    def lines(self, span: Span) -> tuple[int, int]:
        """First and last line of a span, from 1."""
        return bisect_right(self._starts, span[0]), bisect_right(self._starts, span[1])

    def up(self, node: ast.AST) -> ast.AST:
        """The node around this one."""
        return self.parent[node]

    def around(self, node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> ast.AST | None:
        """The nearest enclosing node of these kinds, the node itself excluded."""
        while (node := self.parent.get(node, self.tree)) is not self.tree:
            if isinstance(node, kinds):
                return node
        return None

    def scope(self, node: ast.AST) -> str:
        """Qualified name of the function or class a node is in; "" at the top of the module."""
        names = []
        outer: ast.AST | None = node
        while (outer := self.around(outer, (*Function, ast.ClassDef))) is not None:  # type: ignore[arg-type]
            names.append(outer.name)  # type: ignore[attr-defined]
        return ".".join(reversed(names))

    def locals(self, function: ast.AST) -> dict[str, int]:
        """Names bound in a function -> line of the first binding, in that order. Nested functions are left out."""
        return self._bindings.get(function, {})

    def attributes(self, node: ast.AST) -> list[str]:
        """The attributes that the class around a node gives to ``self``, sorted."""
        outer = self.around(node, (ast.ClassDef,))
        names = (
            each.attr
            for each in (ast.walk(outer) if outer else ())
            if isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and is_self(each.value)
        )
        return sorted(set(names))

    @cached_property
    def _bindings(self) -> dict[ast.AST, dict[str, int]]:
        found: dict[ast.AST, dict[str, int]] = {}
        for node in self.nodes:
            function = self.around(node, Function)
            if isinstance(node, ast.arg) and isinstance(self.up(self.up(node)), Function):
                name = node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            else:
                continue
            if function is not None and self.around(node, (ast.comprehension,)) is None:
                found.setdefault(function, {}).setdefault(name, node.lineno)
        return found

    def is_integer(self, node: ast.AST) -> bool:
        """The expression is surely meant as an integer: a constant, a length, a counter, or a sum of such."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.Add | ast.Sub | ast.FloorDiv | ast.Mod) and (
                self.is_integer(node.left) or self.is_integer(node.right)
            )
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id == "len"
        return isinstance(node, ast.Name) and (self.around(node, Function), node.id) in self._counters

    def _count(self) -> None:
        """Note the names that a loop over ``range`` or ``enumerate`` binds, or that get an integer value or step.

        In the order of the text, so that a value may name a counter noted before it.
        """
        for node in self.nodes:
            target: ast.AST | None = None
            if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name):
                if node.iter.func.id == "range":
                    target = node.target
                elif node.iter.func.id == "enumerate" and isinstance(node.target, ast.Tuple):
                    target = node.target.elts[0]
            elif isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant):
                target = node.target if type(node.value.value) is int else None
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.BinOp | ast.Call):
                constant = not isinstance(node.value, ast.BinOp) or isinstance(node.value.op, ast.FloorDiv)
                target = node.targets[0] if constant and self.is_integer(node.value) else None
            if isinstance(target, ast.Name):
                self._counters.add((self.around(target, Function), target.id))


def is_self(node: ast.AST) -> bool:
    """The node is the name ``self``."""
    return isinstance(node, ast.Name) and node.id == "self"


def _is_bare_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
