"""Kinds of bug that people make, as edits of the source at one node's span.

Every kind is a small function from a node to the edits it could have there. ``sites`` lists them all for a file, in
a fixed order, and ``apply`` makes some of them; all other bytes stay::

    found = sites(b"def f(a, b):\\n    return a < b\\n")
    apply(content, [found[0]])

Whether an edit changes what the program does is for a test to show.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.repair.mutations import conditions, constants, names, numbers, statements
from benchmarks.repair.mutations.site import KINDS
from benchmarks.repair.mutations.site import Site as Site
from benchmarks.repair.syntax import Source, Span

_MODULES = (conditions, constants, names, numbers, statements)  # importing them fills KINDS


def sites(content: bytes) -> tuple[Site, ...]:
    """Every site of every kind, by place, then by kind's name. Raises SyntaxError if the file does not parse."""
    source = Source(content)
    found: dict[tuple[Span, bytes], Site] = {}
    for node in source.nodes:
        for kind, (types, edits) in sorted(KINDS.items()):
            if isinstance(node, types):
                for span, new in edits(source, node):
                    if content[slice(*span)] != new:
                        site = Site(kind, *span, new, source.scope(node), source.lines(span))
                        found.setdefault((span, new), site)
    return tuple(found.values())


def kinds() -> tuple[str, ...]:
    """The names of all kinds."""
    return tuple(sorted(KINDS))


def apply(content: bytes, chosen: Sequence[Site]) -> bytes:
    """The file with these bugs. Their spans must not overlap."""
    for site in sorted(chosen, key=lambda site: site.start, reverse=True):
        content = content[: site.start] + site.new + content[site.end :]
    return content


def compiles(content: bytes) -> bool:
    """The file is valid Python. A few edits leave none (a ``break`` without its loop): check before using one."""
    try:
        compile(content, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
