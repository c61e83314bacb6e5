"""SWE-agent's own action formats, written as a third party would add them, and the files that its windows show.

Its editor knows which file is open, so a format is made for each turn with what the agent saw last.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field

from codegym.actions.base import Action, ActionFormat, BadReply, Insert, Lines, Replace, Text, Write
from codegym.actions.tool_call import ToolCall
from codegym.actions.tools import Tool
from codegym.spans import Span, reply_bytes, reply_text

_WINDOW = re.compile(r"\[File: (\S+) \((\d+) lines total\)\]\n((?:\(\d+ more lines above\)\n)?)((?:\d+:.*(?:\n|\Z))*)")
_BLOCK = re.compile(rb"(?:^```[^\n]*\n(?P<fenced>.*?)^```[ \t]*$|<command>\n?(?P<tagged>.*?)</command>)", re.M | re.S)
_EDIT = re.compile(rb"edit(?: (\d+):(\d+))?\n(.*?)^end_of_edit\s*\Z", re.M | re.S)


@dataclass
class Window:
    """What an observation shows of a file: its number of lines and some of them, by number."""

    path: str
    total: int
    lines: dict[int, str]


def windows(observation: str) -> list[Window]:
    """All windows in an observation, in order. Lines there end in CRLF or LF."""
    found = []
    text = re.sub(r"<<<<< (START|END) CURSOR >>>>>\n", "", observation.replace("\r\n", "\n"))
    for path, total, _, body in _WINDOW.findall(text):
        lines = dict(re.findall(r"^(\d+):(.*)$", body, re.M))
        found.append(Window(path, int(total), {int(number): line for number, line in lines.items()}))
    return found


@dataclass
class Editor:
    """The state of the window editor: the open file, how many lines it has, and the lines that ``edit`` replaces."""

    path: str = ""
    total: int = 0
    cursors: tuple[int, int] = (1, 1)
    shown: dict[str, list[str | None]] = field(default_factory=dict)

    def see(self, window: Window, path: str) -> None:
        """Take over what a window shows of the file."""
        lines = self.shown.get(path, [])
        if len(lines) != window.total:
            lines = [None] * window.total
        for number, line in window.lines.items():
            lines[number - 1] = line
        self.shown[path] = lines
        self.path, self.total = path, window.total

    def take(self, path: str, data: bytes) -> None:
        """Take over what an edit made of the file."""
        lines = data.decode().split("\n")[:-1]
        self.shown[path] = [None if line.startswith("<line ") else line for line in lines]

    def content(self, path: str) -> bytes:
        """The file as far as it was shown; a line that was not says so, and is like no other."""
        lines = [f"<line {k}>" if line is None else line for k, line in enumerate(self.shown[path], 1)]
        return "".join(f"{line}\n" for line in lines).encode()


class WindowCommands(ActionFormat):
    """One command in a fence or in ``<command>``: create, edit, set_cursors, submit, or one for the shell."""

    name = "swe_agent"
    prompt = ""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor

    def parse(self, reply: str) -> Action:
        blocks = list(_BLOCK.finditer(reply_bytes(reply)))
        if len(blocks) != 1:
            return Action("invalid", error=f"{len(blocks)} commands in the reply")
        match = blocks[0]
        group = "fenced" if match["fenced"] is not None else "tagged"
        command, start = match[group], match.start(group)
        if edit := _EDIT.match(command):
            first, last = map(int, edit.groups()[:2]) if edit[1] else self._editor.cursors
            text = Text(edit[3], Span(start + edit.start(3), start + edit.end(3)))
            return Action("edit", (Lines(self._editor.path, first, last, text),))
        if command.startswith(b"create "):
            return Action("edit", (Write(reply_text(command[7:].strip()), Text(b"\n"), new=True),))
        if command.strip() == b"submit":
            return Action("submit")
        return Action("shell", command=reply_text(command.strip()))

    def render(self, action: Action) -> str:
        raise ValueError("replies are only read")


def function_calls(editor: Editor) -> ToolCall:
    """The format of SWE-agent's function calls, of either edit tool."""

    def edit(given):
        if "search" in given:
            return Action("edit", (Replace(editor.path, given["search"], given["replace"]),))
        if not {"replacement_text", "start_line", "end_line"} <= given.keys():
            raise BadReply("edit needs search and replace, or lines")
        return Action("edit", (Lines(editor.path, given["start_line"], given["end_line"], given["replacement_text"]),))

    def shell(given):
        words = [reply_text(value.data) if isinstance(value, Text) else str(value) for value in given.values()]
        return Action("shell", command=words[0] if "command" in given else shlex.join(words))

    string, integer = ("string", ""), ("integer", "")
    either = {
        "search": string,
        "replace": string,
        "replacement_text": string,
        "start_line": integer,
        "end_line": integer,
    }
    places = {"path": string, "file_name": string, "dir": string, "line_number": integer}

    class FunctionCalls(ToolCall):
        name = "swe_agent_calls"
        tools = (
            Tool(
                "create",
                "",
                {"filename": string},
                lambda given: Action("edit", (Write(reply_text(given["filename"].data), Text(b"\n"), new=True),)),
            ),
            Tool("edit", "", either, edit, optional=frozenset(either)),
            Tool(
                "insert",
                "",
                {"text": string},
                lambda given: Action("edit", (Insert(editor.path, editor.total, given["text"]),)),
            ),
            Tool("bash", "", {"command": string}, shell),
            Tool("find_file", "", places, shell, optional=frozenset(places)),
            Tool("open", "", places, shell, optional=frozenset(places)),
            Tool("submit", "", {}, lambda given: Action("submit")),
        )

    return FunctionCalls()
