"""The "search_replace" action format: blocks with conflict markers below a file's name, as Aider's.

::

    reply = "a.py\\n```python\\n<<<<<<< SEARCH\\nx = 1\\n=======\\nx = 2\\n>>>>>>> REPLACE\\n```\\n"
    get("search_replace").parse(reply).edits[0].text.data       # b"x = 2\\n"

Blocks are found by their markers; fences around them are decoration. The three markers of a block have the same
length, from 5 to 40, and one of another length is text, so a block can hold other blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from codegym.actions import fences, reasoning
from codegym.actions.base import (
    Action,
    ActionFormat,
    BadReply,
    Replace,
    Text,
    Write,
    not_cut,
    one_action,
    read_back,
    register,
)
from codegym.actions.text import with_lf
from codegym.spans import Span, reply_bytes, reply_text

_SEARCH = rb"<{5,40} SEARCH[ \t\r]*"
_FREE = re.compile(
    rb"(?P<think>"
    + reasoning.OPEN
    + rb")|^(?:(?P<search>"
    + _SEARCH
    + rb")|(?P<replace>>{5,40} REPLACE[ \t\r]*)|"
    + fences.FENCE
    + rb")$",
    re.MULTILINE,
)
#: After the opening line of a shell fence of three: what it holds is an edit of a shell script.
_EDIT_IN_FENCE = re.compile(rb"\r?\n(?:\S+\r?\n)?" + _SEARCH + rb"$", re.MULTILINE)
_WRAPPED = re.compile(rb"(`+|\*\*)(.+)\1")
_EXAMPLE = "write the file's name, <<<<<<< SEARCH, the lines to find, =======, what they become, >>>>>>> REPLACE"


def _items(data: bytes) -> Iterator[tuple[str, Action]]:
    """The edits and commands outside reasoning, in order."""
    position = low = reasoning.begin(data)
    last: tuple[str, Span] | None = None
    while match := _FREE.search(data, position):
        position = match.end()
        if match["think"]:
            position = low = reasoning.end(data, match.end())
        elif match["replace"]:
            raise BadReply(f"a REPLACE marker without its block: {_EXAMPLE}")
        elif match["search"]:
            last = _path(data, low, match.start()) or last
            if last is None:
                raise BadReply(f"no file's name on the line before the block: {_EXAMPLE}")
            edit, position = _block(data, match, *last)
            low = position
            yield "a SEARCH block", Action("edit", (edit,))
        elif _is_command(data, match):
            found = fences.block(data, match)
            position = low = found.end
            yield "a ```bash block", fences.command(data, found)
    not_cut(data, position, anywhere=[reasoning.TAG], at_line=[b"<" * size + b" SEARCH" for size in range(5, 41)])


def _is_command(data: bytes, match: re.Match[bytes]) -> bool:
    """Whether a fence opens a shell block; one of three that begins with a SEARCH block is an edit."""
    if (match["label"] or match["name"]) not in fences.SHELL_LABELS:
        return False
    return len(match["ticks"] or match["tildes"]) > 3 or not _EDIT_IN_FENCE.match(data, match.end())


def _path(data: bytes, low: int, start: int) -> tuple[str, Span] | None:
    """The file's name on the line before ``start`` (or before the fence there), and where it stands."""
    end = start
    for _ in range(2):
        begin = data.rfind(b"\n", low, max(low, end - 1)) + 1 or low
        line = data[begin:end]
        if re.fullmatch(fences.FENCE + rb"\r?\n?", line):
            end = begin
            continue
        name = line.strip(b" \t\r\n")
        at = begin + line.find(name)
        if wrapped := _WRAPPED.fullmatch(name):
            at, name = at + len(wrapped[1]), wrapped[2]
        return (reply_text(name), Span(at, at + len(name))) if name else None
    return None


def _block(data: bytes, match: re.Match[bytes], path: str, place: Span) -> tuple[Replace | Write, int]:
    """The edit whose first marker matched, and where it ends."""
    size = match["search"].count(b"<")
    divider = _marker(b"=" * size, b"").search(data, min(match.end() + 1, len(data)))
    end = _marker(b">" * size, b" REPLACE").search(data, divider.end()) if divider else None
    stop = end.start() if end else len(data)
    if inner := _marker(b"<" * size, b" SEARCH").search(data, match.end(), stop):
        raise BadReply(_held(path, data[inner.start() : inner.end()]))
    if divider is None or end is None:
        wanted = "=" * size if divider is None else ">" * size + " REPLACE"
        raise BadReply(
            f"the reply ends inside a SEARCH block of {path}, {wanted} is missing: nothing was done; write it again, "
            "shorter, with three markers of the same length"
        )
    if inner := _marker(b"=" * size, b"").search(data, divider.end(), stop):
        raise BadReply(_held(path, data[inner.start() : inner.end()]))
    start = match.end() + 1
    search, text = _text(data, start, divider.start()), _text(data, divider.end() + 1, end.start())
    if not search.data:
        return Write(path, text, place, new=True), end.end()
    if match["search"].endswith(b"\r"):
        search, text = with_lf(search), with_lf(text)
    return Replace(path, search, text, place), end.end()


def _held(path: str, marker: bytes) -> str:
    return (
        f"a SEARCH block of {path} holds {reply_text(marker.strip())} before it is closed: close it first, or, if that "
        "is part of the text, make the block's three markers longer by one"
    )


def _marker(mark: bytes, word: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"^" + mark + word + rb"[ \t\r]*$", re.MULTILINE)


def _text(data: bytes, start: int, end: int) -> Text:
    return Text(data[start:end], Span(start, max(start, end)))


def _render_block(search: bytes, text: bytes) -> str:
    held = search + b"\n" + text
    marks = re.findall(rb"^(<+(?= SEARCH)|=+|>+(?= REPLACE))(?: SEARCH| REPLACE)?[ \t\r]*$", held, re.MULTILINE)
    taken = {len(mark) for mark in marks}
    size = next(n for n in count(7) if n not in taken)
    return "".join(
        ["<" * size, " SEARCH\n", reply_text(search), "=" * size, "\n", reply_text(text), ">" * size, " REPLACE\n"]
    )


@register
class SearchReplace(ActionFormat):
    """See the module's text and docs/actions.md. Texts are whole lines: each ends with a newline, or is empty."""

    name = "search_replace"
    prompt = (
        """\
Write one action in your reply; any text around it is free.
To change files, write one or more blocks, each below its file's name:
a.py
```
<<<<<<< SEARCH
lines that occur exactly once in the file
=======
what they become
>>>>>>> REPLACE
```
An empty SEARCH makes a new file.
"""
        + fences.SHELL_PROMPT
        + "A block whose text holds such marker lines needs three longer markers, such as <<<<<<<< SEARCH.\n"
    )

    def parse(self, reply: str) -> Action:
        try:
            return one_action(_items(reply_bytes(reply)), _EXAMPLE)
        except BadReply as bad:
            return Action("invalid", error=str(bad))

    def render(self, action: Action) -> str:
        """Raises ValueError for other edits than replacements and new files, and for texts that are no whole lines."""
        parts: list[str] = []
        if action.kind in ("shell", "submit"):
            looks_like_edit = _EDIT_IN_FENCE.match(b"\n" + reply_bytes(action.command))
            parts.append(fences.render_command(action, least=4 if looks_like_edit else 3))
        for edit in action.edits:
            if isinstance(edit, Replace | Write):
                search = edit.search.data if isinstance(edit, Replace) else b""
                parts.append(f"{edit.path}\n```\n{_render_block(search, edit.text.data)}```\n")
        return read_back(self, action, reasoning.guard("".join(parts)))
