"""The structured diff: what changed, as bytes and as syntax, and which bytes of the reply wrote it.

``hunks`` are the truth in bytes: ``apply(diff, old) == new`` always holds. ``changes`` say the same as syntax.
All spans are half-open byte ranges; ``old`` and ``new`` are ranges of the file before and after,
``source`` and ``place`` are ranges of the reply (empty when the change was not written by an edit, e.g. by a
shell command).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from codegym.spans import Span

SCHEMA_VERSION = 2

#: What a file's or a hunk's change comes to where no code changed.
Only = Literal["", "whitespace", "comments"]


@dataclass(frozen=True)
class Hunk:
    """Bytes ``old`` of the old file became ``text``, which stands at ``new`` in the new file.

    ``only``: "whitespace" or "comments" if nothing else differs here.
    """

    old: Span
    new: Span
    text: bytes
    source: tuple[Span, ...] = ()
    place: tuple[Span, ...] = ()
    only: Only = ""


@dataclass(frozen=True)
class Change:
    """One change of the syntax tree.

    Attributes:
        kind: insert | delete | update | move. An update's node keeps its kind and changes its text; a move of the same
            node says that it went elsewhere too.
        node: the grammar's name of the node ("return_statement"), or "line" where the file was not parsed.
        symbol: dotted path of the enclosing definition in the new file, or the old one for deletions ("" = module).
        old: the node in the old file (None for insert).
        new: the node in the new file (None for delete).
        source: the bytes of the reply that wrote ``new`` (for a delete: that replaced it by something else).
        place: the bytes of the reply that named the place.
    """

    kind: Literal["insert", "delete", "update", "move"]
    node: str
    symbol: str
    old: Span | None
    new: Span | None
    source: tuple[Span, ...] = ()
    place: tuple[Span, ...] = ()


@dataclass(frozen=True)
class FileDiff:
    """The diff of one file.

    ``parsed`` is false where syntax was not used, or not everywhere; ``note`` then says why. ``only``: "whitespace" or
    "comments" if nothing else differs in the file.
    """

    path: str
    old_path: str | None
    status: Literal["added", "deleted", "modified", "renamed"]
    language: str | None
    parsed: bool
    hunks: tuple[Hunk, ...]
    changes: tuple[Change, ...]
    note: str = ""
    only: Only = ""


@dataclass(frozen=True)
class Diff:
    """The diff of a workspace: changed files only, sorted by path."""

    files: tuple[FileDiff, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data (bytes as text with surrogateescape, spans as pairs), with ``version``."""
        from codegym.diff.serialize import to_dict

        return to_dict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Diff:
        """The inverse of :meth:`to_dict`. Raises ValueError for another schema version."""
        from codegym.diff.serialize import from_dict

        return from_dict(data)
