"""Bugs in names, calls and exceptions."""

from __future__ import annotations

import ast

from benchmarks.repair.mutations.site import Edits, on, swap
from benchmarks.repair.syntax import Function, Source, is_self


def _others(source: Source, node: ast.Name) -> list[bytes]:
    """The names next to this one among those bound before it in its function: the two likeliest slips."""
    names = source.locals(source.around(node, Function) or source.tree)
    before = [name for name, line in names.items() if name not in ("self", "cls") and (line < node.lineno)]
    if node.id not in names or node.id not in before or len(before) < 2:
        return []
    place = before.index(node.id)
    return [name.encode() for name in dict.fromkeys((before[place - 1], before[(place + 1) % len(before)]))]


@on(ast.Name)
def wrong_variable(source: Source, node: ast.Name) -> Edits:
    """A variable read where another one of the function is meant."""
    if isinstance(node.ctx, ast.Load) and not isinstance(source.up(node), ast.Return):
        for name in _others(source, node):
            yield source.span(node), name


@on(ast.Return)
def wrong_return(source: Source, node: ast.Return) -> Edits:
    """``return a`` -> ``return b``."""
    if isinstance(node.value, ast.Name):
        for name in _others(source, node.value):
            yield source.span(node.value), name


@on(ast.Attribute)
def wrong_attribute(source: Source, node: ast.Attribute) -> Edits:
    """``self.a`` -> ``self.b``, the next attribute of the class."""
    names = source.attributes(node)
    if is_self(node.value) and isinstance(node.ctx, ast.Load) and node.attr in names and len(names) > 1:
        _, end = source.span(node)
        new = names[(names.index(node.attr) + 1) % len(names)]
        yield (end - len(node.attr.encode()), end), new.encode()


_CALLS = {
    "min": "max", "max": "min", "any": "all", "all": "any", "len": "sum", "sum": "len", "sorted": "list",
    "upper": "lower", "lower": "upper", "startswith": "endswith", "endswith": "startswith",
    "lstrip": "rstrip", "rstrip": "lstrip", "strip": "rstrip", "find": "rfind", "rfind": "find",
    "split": "rsplit", "append": "extend", "extend": "append", "popleft": "pop", "appendleft": "append",
    "keys": "values", "values": "keys", "add": "discard", "discard": "add", "isdigit": "isalpha",
    "isalpha": "isdigit", "heappush": "heappushpop", "bisect_left": "bisect_right", "bisect_right": "bisect_left",
    "union": "intersection", "intersection": "union", "setdefault": "get", "isalnum": "isalpha",
}  # fmt: skip


@on(ast.Call)
def wrong_call(source: Source, node: ast.Call) -> Edits:
    """A function or method mistaken for its sibling: ``min`` for ``max``, ``find`` for ``rfind``."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in _CALLS:
        _, end = source.span(node.func)
        yield (end - len(name), end), _CALLS[name].encode()


@on(ast.Call)
def swapped_arguments(source: Source, node: ast.Call) -> Edits:
    """``f(a, b)`` -> ``f(b, a)``."""
    for first, second in zip(node.args, node.args[1:], strict=False):
        if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
            yield from swap(source, first, second)


@on(ast.Call, ast.Subscript)
def missing_copy(source: Source, node: ast.Call | ast.Subscript) -> Edits:
    """``list(a)``, ``a.copy()``, ``a[:]`` -> ``a``."""
    inner: ast.AST | None = None
    if isinstance(node, ast.Subscript):
        bare = isinstance(node.slice, ast.Slice) and not (node.slice.lower or node.slice.upper or node.slice.step)
        inner = node.value if bare else None
    elif isinstance(node.func, ast.Name) and node.func.id in ("list", "dict", "set", "sorted", "tuple"):
        inner = node.args[0] if len(node.args) == 1 and not node.keywords else None
        inner = inner if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript | ast.Call) else None
    elif isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args:
        inner = node.func.value
    if inner is not None:
        yield source.span(node), source.text(inner)


_ERRORS = {"ValueError": "TypeError", "TypeError": "ValueError", "KeyError": "IndexError", "IndexError": "KeyError"}


@on(ast.Raise, ast.ExceptHandler)
def wrong_exception(source: Source, node: ast.Raise | ast.ExceptHandler) -> Edits:
    """``raise ValueError`` -> ``raise TypeError``, ``except KeyError`` -> ``except IndexError``."""
    error = node.exc if isinstance(node, ast.Raise) else node.type
    name = error.func if isinstance(error, ast.Call) else error
    if isinstance(name, ast.Name) and name.id in _ERRORS:
        yield source.span(name), _ERRORS[name.id].encode()
