"""What an agent can do in one reply, whatever the format it is written in.

A format turns a reply into an :class:`Action` and teaches itself in a prompt; it is one small module::

    @register
    class MyFormat(ActionFormat):
        name = "mine"
        prompt = "Write ..."
        def parse(self, reply): ...
        def render(self, action): ...

Every text of an edit is a contiguous range of the reply's bytes, so where it came from is one :class:`Span`.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import Literal

from codegym.spans import NOWHERE, Span


@dataclass(frozen=True)
class Text:
    """Bytes of an edit and where they stand in the reply (``len(data) == span.end - span.start``)."""

    data: bytes
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Write:
    """Make ``path`` hold exactly ``text`` (a new file, or the whole of an old one)."""

    path: str
    text: Text
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Replace:
    """Replace the one place in ``path`` that reads ``search`` by ``text``.

    ``search.span`` says where; ``place`` are the bytes that named the file.
    """

    path: str
    search: Text
    text: Text
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Insert:
    """Insert ``text`` as whole lines after line ``line`` of ``path`` (1-based; 0 is the top)."""

    path: str
    line: int
    text: Text
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Lines:
    """Replace lines ``first`` to ``last`` of ``path`` (1-based, both included) by ``text``; empty text deletes."""

    path: str
    first: int
    last: int
    text: Text
    place: Span = field(default=NOWHERE, compare=False)


Edit = Write | Replace | Insert | Lines


@dataclass(frozen=True)
class Action:
    """One reply, understood. ``invalid`` carries an ``error`` that tells the agent what to write instead."""

    kind: Literal["edit", "shell", "submit", "invalid"]
    edits: tuple[Edit, ...] = ()
    command: str = ""
    error: str | None = None


class ActionFormat(abc.ABC):
    """A way of writing actions. ``parse`` is total: any reply gives an Action, never an exception."""

    name: str
    prompt: str

    @abc.abstractmethod
    def parse(self, reply: str) -> Action:
        """Read the one action of a reply; spans are byte ranges of ``reply_bytes(reply)``."""

    @abc.abstractmethod
    def render(self, action: Action) -> str:
        """Write an action so that ``parse`` reads it back (spans aside)."""


_FORMATS: dict[str, ActionFormat] = {}


def register(cls: type[ActionFormat]) -> type[ActionFormat]:
    """Class decorator: make a format available under its ``name``."""
    _FORMATS[cls.name] = cls()
    return cls


def get(name: str) -> ActionFormat:
    """The format of this name."""
    if name not in _FORMATS:
        raise ValueError(f"action_format={name!r} is unknown; there are: {', '.join(sorted(_FORMATS))}")
    return _FORMATS[name]
