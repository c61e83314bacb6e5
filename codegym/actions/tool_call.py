"""The "tool_call" action format: function calls with JSON arguments, as chat interfaces and templates write them.

::

    reply = '<tool_call>{"name": "write", "arguments": {"path": "a.py", "text": "x = 1\\\\n"}}</tool_call>'
    get("tool_call").parse(reply).edits[0].text.data      # b"x = 1\\n"
    get("tool_call").schemas()                            # for the ``tools`` of a chat request

A call is a JSON object after ``<tool_call>``, in a ``json`` block, or at the beginning of a line; ``arguments`` may be
an object or, as the interface sends them, a string that holds one. A message's ``{"tool_calls": [..]}`` is read too.
JSON's own escapes let a text hold anything. Other tools: a subclass with its own ``tools``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from codegym.actions import fences, json_texts, reasoning
from codegym.actions.base import (
    Action,
    ActionFormat,
    BadReply,
    Text,
    not_cut,
    one_action,
    read_back,
    register,
)
from codegym.actions.text import within
from codegym.actions.tools import TOOLS, Tool, call, checked, written
from codegym.spans import reply_bytes, reply_text

_TAG = b"<tool_call>"
_CLOSE = b"</tool_call>"
_TAGS = rb"(?P<think>" + reasoning.OPEN + rb")|(?P<call>" + _TAG + rb")"
_OPENS = rb"[\[{](?=\s*[\[{\"'])"
_FREE = re.compile(_TAGS + rb"|^(?:(?P<bare>[ \t,;]*" + _OPENS + rb")|" + fences.FENCE + rb"$)", re.MULTILINE)
#: In the rest of a line on which a call or a reasoning ended, another one may begin anywhere.
_SAME_LINE = re.compile(_TAGS + rb"|(?P<bare>" + _OPENS + rb")")
_BETWEEN = re.compile(rb"[\s,;]*+")
_CALL_KEYS = ("name", "function", "tool_calls")
_LIKE_CALL = re.compile(rb"""[\s\[{]{0,40}["'](?:name|function|tool_calls)["']""")
_MOST_OPEN_ENDS = 8  # brackets at the beginning of a line that never close; each costs a look at the rest of the reply
_EXAMPLE = 'write <tool_call>{"name": "shell", "arguments": {"command": "ls"}}</tool_call>'


@register
class ToolCall(ActionFormat):
    """See the module's text and docs/actions.md."""

    name = "tool_call"
    tools: tuple[Tool, ...] = TOOLS

    def schemas(self) -> list[dict[str, Any]]:
        """The tools as a chat request's ``tools`` list them."""
        return [tool.schema() for tool in self.tools]

    @property
    def prompt(self) -> str:  # type: ignore[override]
        """Teaches the calls and lists the schemas."""
        lines = [json.dumps(schema["function"]) for schema in self.schemas()]
        return (
            "Act by calling a tool; any text around the call is free, and edits may follow each other:\n"
            '<tool_call>\n{"name": "shell", "arguments": {"command": "ls"}}\n</tool_call>\n'
            'Texts are JSON strings: a line break is \\n, a quote \\", a backslash \\\\. The tools:\n'
            + "\n".join(lines)
            + "\n"
        )

    def parse(self, reply: str) -> Action:
        try:
            return one_action(self._items(reply_bytes(reply)), _EXAMPLE)
        except json_texts.Cut as cut:
            return Action(
                "invalid", error=f"the reply ends inside a tool call ({cut}): nothing was done; write it again"
            )
        except BadReply as bad:
            return Action("invalid", error=str(bad))

    def render(self, action: Action) -> str:
        """Raises ValueError for patches and for what JSON cannot hold in a path."""
        calls = [call(edit) for edit in action.edits]
        if action.kind == "submit":
            calls.append(b'{"name": "submit", "arguments": {}}')
        elif action.kind == "shell":
            calls.append(written("shell", {"command": reply_bytes(action.command)}))
        text = "".join(
            f"<tool_call>\n{reply_text(written_call)}\n</tool_call>\n" for written_call in calls if written_call
        )
        return read_back(self, action, reasoning.guard(text))

    def _items(self, data: bytes) -> Iterator[tuple[str, Action]]:
        """The calls outside reasoning, in order."""
        position, open_ends = reasoning.begin(data), 0
        line_end = _line_end(data, position) if position else 0
        cut: json_texts.Cut | None = None
        while match := _next(data, position, line_end):
            position = match.end()
            values: list[Any] = []
            if match["think"]:
                position = reasoning.end(data, match.end())
            elif match["call"]:
                values, position = _tagged(data, position)
            elif match["bare"]:
                try:
                    value, position = json_texts.read(data, position - 1)
                except BadReply as bad:
                    if isinstance(bad, json_texts.Cut):
                        cut, open_ends = bad, open_ends + 1
                    if _LIKE_CALL.match(data, position) or open_ends > _MOST_OPEN_ENDS:
                        raise
                    continue  # words that begin with a bracket, not a call
                values = [value] if _is_call(value) else []
            else:
                found = fences.block(data, match)
                position = found.end
                values = _in_block(data, found) if found.label == b"json" else []
            line_end = _line_end(data, position)
            for value in values:
                for given in _calls(value):
                    cut = None
                    yield self._item(given)
        if cut:
            raise cut
        not_cut(data, position, anywhere=[_TAG, reasoning.TAG], at_line=fences.OPENERS)
        if data[position:].rstrip().endswith((b"{", b"[")):
            raise json_texts.Cut("it ends with an opening bracket")

    def _item(self, called: Any) -> tuple[str, Action]:
        """One call: what it is named, and what it does."""
        function = called.get("function", called) if isinstance(called, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), Text):
            raise BadReply(f"a tool call names no tool: {_EXAMPLE}")
        name = reply_text(function["name"].data)
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            raise BadReply(f"there is no tool {name[:40]!r}; there are: {', '.join(tool.name for tool in self.tools)}")
        given = function.get("arguments", function.get("parameters", {}))
        if isinstance(given, Text):
            inner = given
            given, end = json_texts.read(inner.data or b"{}", 0)
            if inner.data[end:].strip():
                raise BadReply(f"the arguments of {name} go on after their JSON object")
            if isinstance(given, dict):
                given = {
                    key: within(value, inner) if isinstance(value, Text) else value for key, value in given.items()
                }
        return f"a call of {name}", tool.make(checked(tool, given))


def _next(data: bytes, position: int, line_end: int) -> re.Match[bytes] | None:
    """What opens next: before ``line_end`` anywhere in the line, then at the beginning of one."""
    match = _SAME_LINE.search(data, position) if position < line_end else None
    return match if match and match.start() < line_end else _FREE.search(data, position)


def _line_end(data: bytes, position: int) -> int:
    end = data.find(b"\n", position)
    return len(data) if end < 0 else end


def _values(data: bytes, position: int) -> tuple[list[Any], int]:
    """The JSON values from ``position`` on, with blanks, commas and semicolons between them, and where they end."""
    values: list[Any] = []
    while not values or data[position : position + 1] in (b"{", b"["):
        value, position = json_texts.read(data, position)
        values.append(value)
        between = _BETWEEN.match(data, position)
        position = between.end() if between else position
    return values, position


def _tagged(data: bytes, position: int) -> tuple[list[Any], int]:
    """The values after ``<tool_call>``. Its end may be missing, at the end of the reply or before the next call."""
    values, position = _values(data, position)
    rest = data[position : position + 20]
    if not (rest.startswith((_CLOSE, _TAG)) or _CLOSE.startswith(rest)):
        raise BadReply(f"<tool_call> holds {_shown(rest)} after its call: close it with </tool_call>")
    return values, position


def _in_block(data: bytes, block: fences.Block) -> list[Any]:
    """The JSON values of a block, which holds nothing else."""
    inside = data[: block.close]
    if not inside[block.body.start :].strip():
        return []
    values, position = _values(inside, block.body.start)
    if position < len(inside):
        raise BadReply(
            f"a json block holds {_shown(inside[position:].rstrip())} after its calls: write only calls in it"
        )
    return values


def _shown(rest: bytes) -> str:
    return repr(rest[:20].decode("utf-8", "backslashreplace"))


def _is_call(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(key in each for each in values if isinstance(each, dict) for key in _CALL_KEYS)


def _calls(value: Any) -> list[Any]:
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        return list(value["tool_calls"])
    return value if isinstance(value, list) else [value]
