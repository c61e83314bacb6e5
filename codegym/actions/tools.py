"""The functions that the "tool_call" format offers, with their JSON schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from codegym.actions import json_texts
from codegym.actions.base import Action, BadReply, Delete, Edit, Insert, Lines, Rename, Replace, Text, Write
from codegym.spans import Span, reply_bytes, reply_text


@dataclass(frozen=True)
class Tool:
    """A function that the agent can call.

    Attributes:
        name: what the agent writes.
        description: for its schema.
        parameters: name -> (JSON type, description); all are required unless in ``optional``.
        make: arguments -> the action; strings come as :class:`Text`, whole numbers as int. May raise BadReply.
    """

    name: str
    description: str
    parameters: Mapping[str, tuple[Literal["string", "integer"], str]]
    make: Callable[[Mapping[str, Any]], Action]
    optional: frozenset[str] = field(default_factory=frozenset)

    def schema(self) -> dict[str, Any]:
        """The function's JSON schema."""
        properties = {name: {"type": kind, "description": text} for name, (kind, text) in self.parameters.items()}
        required = [name for name in self.parameters if name not in self.optional]
        parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}


def _one(edit: Edit) -> Action:
    return Action("edit", (edit,))


def _place(given: Mapping[str, Any]) -> Span:
    return given["path"].span


def _path(given: Mapping[str, Any], name: str = "path") -> str:
    return reply_text(given[name].data)


def _shell(given: Mapping[str, Any]) -> Action:
    if not given["command"].data.strip():
        raise BadReply("the command of shell is empty: write one, or call submit to finish")
    return Action("shell", command=_path(given, "command"))


_PATH: tuple[Literal["string"], str] = ("string", "The file's path in the workspace.")
TOOLS = (
    Tool(
        "edit",
        "Replace the one place of a file that reads search by replace.",
        {
            "path": _PATH,
            "search": ("string", "Text that occurs exactly once in the file."),
            "replace": ("string", "What it becomes."),
        },
        lambda given: _one(Replace(_path(given), given["search"], given["replace"], _place(given))),
    ),
    Tool(
        "write",
        "Make a file hold exactly this text; creates it if need be.",
        {"path": _PATH, "text": ("string", "The whole file.")},
        lambda given: _one(Write(_path(given), given["text"], _place(given))),
    ),
    Tool(
        "insert",
        "Insert whole lines after a line of a file.",
        {"path": _PATH, "line": ("integer", "The line's number, 0 for the top."), "text": ("string", "The new lines.")},
        lambda given: _one(Insert(_path(given), given["line"], given["text"], _place(given))),
    ),
    Tool(
        "lines",
        "Replace lines of a file.",
        {
            "path": _PATH,
            "first": ("integer", "The first line's number, from 1."),
            "last": ("integer", "The last line's number."),
            "text": ("string", "What they become; empty deletes them."),
        },
        lambda given: _one(Lines(_path(given), given["first"], given["last"], given["text"], _place(given))),
    ),
    Tool(
        "delete",
        "Delete a file.",
        {"path": _PATH},
        lambda given: _one(Delete(_path(given), None, _place(given))),
    ),
    Tool(
        "rename",
        "Rename a file.",
        {"path": _PATH, "to": ("string", "Its new path.")},
        lambda given: _one(Rename(_path(given), _path(given, "to"), _place(given))),
    ),
    Tool("shell", "Run a shell command.", {"command": ("string", "The command.")}, _shell),
    Tool("submit", "Finish.", {}, lambda given: Action("submit")),
)


def checked(tool: Tool, given: Any) -> Mapping[str, Any]:
    """The arguments, if they are what the tool takes. Raises BadReply."""
    form = ", ".join(f"{name} ({kind})" for name, (kind, _) in tool.parameters.items()) or "none"
    if not isinstance(given, dict):
        raise BadReply(f"the arguments of {tool.name} are no JSON object; it takes: {form}")
    for name in given:
        if name not in tool.parameters:
            raise BadReply(f"{tool.name} does not take {name[:40]!r}; it takes: {form}")
    for name, (kind, _) in tool.parameters.items():
        if name not in given:
            if name in tool.optional:
                continue
            raise BadReply(f"{tool.name} needs {name}; it takes: {form}")
        value = given[name]
        if kind == "string" and not isinstance(value, Text):
            raise BadReply(f"{name} of {tool.name} must be a string")
        if kind == "integer" and (type(value) is not int or value < 0):
            raise BadReply(f"{name} of {tool.name} must be a whole number from 0 up")
    return given


def call(edit: Edit) -> bytes:
    """An edit as a call, or nothing for one that there is no tool for."""
    path = {"path": reply_bytes(edit.path)}
    if isinstance(edit, Replace):
        return written("edit", {**path, "search": edit.search.data, "replace": edit.text.data})
    if isinstance(edit, Write):
        return written("write", {**path, "text": edit.text.data})
    if isinstance(edit, Insert):
        return written("insert", {**path, "line": edit.line, "text": edit.text.data})
    if isinstance(edit, Lines):
        return written("lines", {**path, "first": edit.first, "last": edit.last, "text": edit.text.data})
    if isinstance(edit, Delete):
        return written("delete", path)
    return written("rename", {**path, "to": reply_bytes(edit.to)}) if isinstance(edit, Rename) else b""


def written(name: str, arguments: Mapping[str, bytes | int]) -> bytes:
    """A call as JSON."""
    pairs = [
        json_texts.quoted(key.encode())
        + b": "
        + (b"%d" % value if isinstance(value, int) else json_texts.quoted(value))
        for key, value in arguments.items()
    ]
    return b'{"name": ' + json_texts.quoted(name.encode()) + b', "arguments": {' + b", ".join(pairs) + b"}}"
