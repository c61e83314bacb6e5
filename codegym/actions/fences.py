"""Fenced blocks of a reply, and the shell block by which the text formats run a command or finish.

A block opens with at least three backticks or tildes at the beginning of a line (up to three blanks before them) and
closes with at least as many alone on a line, no further in. So a block may hold any text: make its fence longer than
every fence in it. In a shell block with a fence of three, a fence that stands in a heredoc or in quotes is text too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from codegym.actions import shell
from codegym.actions.base import Action, BadReply
from codegym.spans import Span, reply_bytes, reply_text

FENCE = rb"[ ]{0,3}(?:(?P<ticks>`{3,})[ \t]*+(?P<label>[^\s`]*)[^`\n]*|(?P<tildes>~{3,})[ \t]*+(?P<name>[^\s]*)[^\n]*)"
SHELL_LABELS = frozenset({b"bash", b"sh", b"shell", b"mswea_bash_command"})
#: What a reply that was cut may end in the beginning of, where every fence opens a block.
OPENERS = (b"```", b"~~~")

#: How the prompts of the text formats say it.
SHELL_PROMPT = """\
Or run a command:
```bash
python -m pytest
```
Or finish:
```bash
submit
```
"""
_FINISHES = re.compile(rb"\s*(?:submit\s*\Z|echo\s+[\"']?COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\b)")


class Block(NamedTuple):
    """A fenced block: the word after its fence, the bytes between the fences' lines, where its last line begins, and
    where it ends."""

    label: bytes
    body: Span
    close: int
    end: int


def block(data: bytes, match: re.Match[bytes]) -> Block:
    """The block whose opening line :data:`FENCE` matched. Raises BadReply if the reply ends before it does."""
    fence = match["ticks"] or match["tildes"]
    label = match["label"] if match["ticks"] else match["name"]
    start = data.find(b"\n", match.end() - 1) + 1
    if not start:
        raise _cut(fence, label)
    is_shell = label in SHELL_LABELS
    margin = len(match[0]) - len(match[0].lstrip(b" "))
    closing = re.compile(
        rb"^[ ]{0,%d}" % margin + re.escape(fence) + re.escape(fence[:1]) + rb"*+[ \t\r]*$", re.MULTILINE
    )
    close = _shell_close(data, start, closing, fence, label) if is_shell and len(fence) == 3 else None
    close = close or closing.search(data, start)
    if close is None:
        raise _cut(fence, label)
    body_end = max(start, close.start() - 1)
    if data.endswith(b"\r\n", 0, start) and data.endswith(b"\r", start, body_end):
        body_end -= 1
    return Block(label, Span(start, body_end), close.start(), close.end())


def _shell_close(
    data: bytes, start: int, closing: re.Pattern[bytes], fence: bytes, label: bytes
) -> re.Match[bytes] | None:
    """The closing fence that is no text of the command; None if the reply has only one fence to choose from."""
    close = closing.search(data, start)
    for region in shell.regions(data, start):
        if close is None or close.start() < region.span.start:
            return close
        if region.open:
            # A stray quote is the shell's to complain about where the block can end in one place only. A heredoc that
            # does not end is a reply that was cut.
            only = not closing.search(data, close.end()) and not data[close.end() :].strip()
            if only and "quote" in region.name:
                return close
            raise BadReply(
                f"the {label.decode()} block does not close: {region.name} in it is open to the end of the reply. "
                f"Nothing was done; close it, or put {reply_text(fence[:1] * 4)} before and after the block"
            )
        while close and close.start() < region.span.end:
            close = closing.search(data, region.span.end)
    return close


def _cut(fence: bytes, label: bytes) -> BadReply:
    mark = (fence + label).decode("utf-8", "backslashreplace")[:40]
    return BadReply(f"the reply ends inside the {mark} block: nothing was done; write it again, shorter")


def command(data: bytes, found: Block) -> Action:
    """What a shell block says to do. Raises BadReply if it is empty."""
    text = data[slice(*found.body)]
    if _FINISHES.match(text):
        return Action("submit")
    if not text.strip():
        raise BadReply("the bash block is empty: write a command in it, or submit to finish")
    return Action("shell", command=reply_text(text))


def render_command(action: Action, *, least: int = 3) -> str:
    """A shell block for a command or a submission, with a fence of at least ``least`` backticks."""
    text = "submit" if action.kind == "submit" else action.command
    runs = [len(run) for run in re.findall(rb"`{3,}", reply_bytes(text))]
    # Four where the command has quotes or heredocs that do not close: only there is no look taken at what it holds.
    open_end = any(region.open for region in shell.regions(reply_bytes(text) + b"\n", 0))
    fence = "`" * max([least, 3 + open_end, *(run + 1 for run in runs)])
    return f"{fence}bash\n{text}\n{fence}\n"
