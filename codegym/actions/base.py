"""What an agent can do in one reply, whatever the format it is written in.

A format turns a reply into an :class:`Action` and teaches itself in a prompt; it is one small module::

    @register
    class MyFormat(ActionFormat):
        name = "mine"
        prompt = "Write ..."
        def parse(self, reply): ...
        def render(self, action): ...

Every text of an edit knows where in the reply its bytes stand (:mod:`codegym.actions.text`).
"""

from __future__ import annotations

import abc
import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from codegym.actions.text import Text as Text
from codegym.spans import NOWHERE, Span


@dataclass(frozen=True)
class Write:
    """Make ``path`` hold exactly ``text`` (a new file, or the whole of an old one).

    With ``new`` only if no file of this name holds anything yet.
    """

    path: str
    text: Text
    place: Span = field(default=NOWHERE, compare=False)
    new: bool = False


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


@dataclass(frozen=True)
class Delete:
    """Remove the file ``path``; if ``text`` is given only if the file holds that (line ends aside)."""

    path: str
    text: Text | None = None
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Rename:
    """Give the file ``path`` the new path ``to``, where no file is yet."""

    path: str
    to: str
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Hunk:
    """One hunk of a patch.

    Attributes:
        lines: mark and text in order. `` `` stays, ``-`` goes, ``+`` comes. A text ends with its newline, or has none
            where the patch says that the file ends without one.
        line: number of the first line that stays or goes, or of the line above if none does; None if not said.
        above: lines that stand above the hunk, outermost first, such as ``class A:`` and ``    def f(self):``.
        at_end: the hunk's last line that stays or goes is the file's last.
        place: the bytes of the reply that said where (the ``@@`` line).
    """

    lines: tuple[tuple[Literal[" ", "-", "+"], Text], ...]
    line: int | None = None
    above: tuple[Text, ...] = ()
    at_end: bool = False
    place: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Patch:
    """Apply ``hunks``, which all speak of the file as it is before this edit, to ``path``."""

    path: str
    hunks: tuple[Hunk, ...]
    place: Span = field(default=NOWHERE, compare=False)


Edit = Write | Replace | Insert | Lines | Delete | Rename | Patch


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
        """Write an action so that ``parse`` reads it back (spans aside). Raises ValueError for what it cannot say."""


class BadReply(Exception):  # noqa: N818 - no error of ours: the way out of a parser with the message for the agent
    """Raised and caught inside the formats; the message says what to write instead."""


def one_action(found: Iterable[tuple[str, Action]], example: str) -> Action:
    """The one action of a reply: all its edits, or its one command or submission.

    Args:
        found: what stands in the reply, in order: what the agent calls it, and what it is.
        example: what to write, for the message when there is nothing.
    """
    action: Action | None = None
    first = ""
    for name, more in found:
        if action is not None and not (action.kind == more.kind == "edit"):
            raise BadReply(
                f"two actions in one reply, {first} and {name}: write only one; send the other in the next reply"
            )
        first = first or name
        action = more if action is None else replace(action, edits=action.edits + more.edits)
    if action is None:
        raise BadReply(f"no action in the reply: {example}")
    return action


def not_cut(data: bytes, position: int, *, anywhere: Iterable[bytes] = (), at_line: Iterable[bytes] = ()) -> None:
    """Raises BadReply if a reply ends in the beginning of another action: only its first ones would be done.

    Args:
        position: where the last action of the reply ended.
        anywhere: what opens an action (or a reasoning) wherever it stands.
        at_line: what does so at the beginning of a line, blanks aside.
    """
    line = max(position, data.rfind(b"\n") + 1)
    tails = [(opener, data[max(line, data.rfind(opener[:1])) :]) for opener in anywhere]
    tails += [(opener, data[line:].lstrip(b" \t")) for opener in at_line]
    for opener, tail in tails:
        if tail and opener.startswith(tail):
            shown = tail.decode("utf-8", "backslashreplace")
            raise BadReply(
                f"the reply ends inside {opener.decode().strip()} ({shown!r}): nothing was done; write it again"
            )


def read_back(form: ActionFormat, action: Action, reply: str) -> str:
    """The reply, if the format reads the action in it. Raises ValueError: ``render`` must never say another thing."""
    back = form.parse(reply)
    if back != action:
        why = back.error or "it reads back as another one"
        raise ValueError(f"the {form.name} format cannot write this action: {why}")
    return reply


def say(form: ActionFormat, *choices: Action) -> str:
    """The first of some actions that the format can write. Raises ValueError if it can write none."""
    for action in choices[:-1]:
        try:
            return form.render(action)
        except ValueError:
            continue
    return form.render(choices[-1])


_FORMATS: dict[str, ActionFormat] = {}


def register(cls: type[ActionFormat]) -> type[ActionFormat]:
    """Class decorator: make a format available under its ``name``. Raises ValueError if another one has it."""
    other = type(_FORMATS[cls.name]) if cls.name in _FORMATS else cls
    if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"an action format named {cls.name!r} is registered already: give this one another name")
    _FORMATS[cls.name] = cls()
    return cls


def get(name: str) -> ActionFormat:
    """The format of this name; ``"package.module:name"`` imports the module that registers it first.

    Raises ValueError for a name that is unknown, ImportError for a module that cannot be imported.
    """
    module, _, own = name.rpartition(":")
    if module:
        importlib.import_module(module)
    if own not in _FORMATS:
        raise ValueError(f"action_format={name!r} is unknown; there are: {', '.join(names())}")
    return _FORMATS[own]


def names() -> tuple[str, ...]:
    """The names of all formats, sorted."""
    return tuple(sorted(_FORMATS))
