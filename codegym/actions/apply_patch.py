"""The "apply_patch" action format: ``*** Begin Patch`` to ``*** End Patch``, as OpenAI's models were trained on it.

::

    reply = "*** Begin Patch\\n*** Update File: m.py\\n@@ def f():\\n-    x = 1\\n+    x = 2\\n*** End Patch\\n"
    get("apply_patch").parse(reply).edits[0].path               # "m.py"

Each line of a hunk has its mark before it, so no text needs an escape. A line after ``@@`` stands above the hunk;
there may be several, outermost first. ``*** End of File`` says that the hunk ends where the file does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from codegym.actions import diff_lines, fences, reasoning
from codegym.actions.base import (
    Action,
    ActionFormat,
    BadReply,
    Delete,
    Edit,
    Hunk,
    Patch,
    Rename,
    Text,
    Write,
    not_cut,
    one_action,
    read_back,
    register,
)
from codegym.spans import Span, reply_bytes, reply_text

_FREE = re.compile(
    rb"(?P<think>" + reasoning.OPEN + rb")|^(?:(?P<begin>\*\*\* Begin Patch)[ \t\r]*|" + fences.FENCE + rb")$",
    re.MULTILINE,
)
#: After the opening line of a shell fence of three: the command is a patch, not one for the shell.
_PATCH_IN_FENCE = re.compile(rb"\r?\n(?:apply_patch[^\n]*\n)?\*\*\* Begin Patch[ \t\r]*$", re.MULTILINE)
_SECTION = re.compile(rb"\*\*\* (Add|Update|Delete) File: ([^\n]*?)[ \t\r]*(?:\n|\Z)")
_MOVE = re.compile(rb"\*\*\* Move to: ([^\n]*?)[ \t\r]*(?:\n|\Z)")
_END = re.compile(rb"\*\*\* End Patch[ \t\r]*(?:\n|\Z)")
_END_OF_FILE = re.compile(rb"\*\*\* End of File[ \t\r]*(?:\n|\Z)")
_ABOVE = re.compile(rb"@@(?: ([^\n]*?))?[ \t\r]*(?:\n|\Z)")
_EXAMPLE = "write *** Begin Patch, *** Update File: a.py, hunks that begin with @@, *** End Patch"


def _items(data: bytes) -> Iterator[tuple[str, Action]]:
    """The patches and commands outside reasoning, in order."""
    position = reasoning.begin(data)
    while match := _FREE.search(data, position):
        position = match.end()
        if match["think"]:
            position = reasoning.end(data, match.end())
        elif match["begin"]:
            edits, position = _patch(data, min(match.end() + 1, len(data)))
            yield "a patch", Action("edit", tuple(edits))
        elif _is_command(data, match):
            found = fences.block(data, match)
            position = found.end
            yield "a ```bash block", fences.command(data, found)
    not_cut(data, position, anywhere=[reasoning.TAG], at_line=[b"*** Begin Patch"])


def _is_command(data: bytes, match: re.Match[bytes]) -> bool:
    if (match["label"] or match["name"]) not in fences.SHELL_LABELS:
        return False
    return len(match["ticks"] or match["tildes"]) > 3 or not _PATCH_IN_FENCE.match(data, match.end())


def _patch(data: bytes, position: int) -> tuple[list[Edit], int]:
    """The edits of a patch whose first line is read, and where it ends."""
    edits: list[Edit] = []
    while True:
        if end := _END.match(data, position):
            if not edits:
                raise BadReply(f"the patch holds nothing: {_EXAMPLE}")
            return edits, end.end()
        section = _SECTION.match(data, position)
        if section is None:
            raise _unread(data, position)
        more, position = _file(data, section)
        edits += more


def _unread(data: bytes, position: int) -> BadReply:
    rest, _, more = data[position:].partition(b"\n")
    if not (rest + more).strip() or not more:
        return BadReply(
            "the reply ends inside a patch, *** End Patch is missing: nothing was done; write it again, shorter"
        )
    shown = repr(rest[:60].decode("utf-8", "backslashreplace"))
    return BadReply(
        f"the patch holds {shown}, which is no part of one: {_EXAMPLE}; lines of a hunk begin with blank, - or +"
    )


def _file(data: bytes, section: re.Match[bytes]) -> tuple[list[Edit], int]:
    """The edits of one file, and where they end."""
    kind, path, position = section[1], reply_text(section[2]), section.end()
    if not path:
        raise _unread(data, position) if position >= len(data) else BadReply(f"a patch names no file: {_EXAMPLE}")
    place = Span(section.start(), section.start() + len(section[0].rstrip()))
    if kind == b"Delete":
        return [Delete(path, None, place)], position
    if kind == b"Add":
        body = diff_lines.read(data, position, len(data), _is_boundary)
        text = diff_lines.only([Hunk(tuple(body.lines))], "+", path)
        return [Write(path, text, place, new=True)], body.end
    edits: list[Edit] = []
    if move := _MOVE.match(data, position):
        if not move[1]:
            raise BadReply(f"{path}: *** Move to: does not name the new path")
        edits, position = [Rename(path, reply_text(move[1]), place)], move.end()
        path = reply_text(move[1])
    hunks, position = _hunks(data, position)
    if hunks:
        edits.append(diff_lines.patch(data, path, hunks, place))
    elif not edits:
        if b"\n" not in data[position:]:
            raise _unread(data, position)
        raise BadReply(f"{path}: the patch holds no hunk for it: {_EXAMPLE}")
    return edits, position


def _hunks(data: bytes, position: int) -> tuple[list[Hunk], int]:
    """The hunks of one file; the first may come without ``@@``."""
    hunks: list[Hunk] = []
    while True:
        start, above = position, list[Text]()
        while head := _ABOVE.match(data, position):
            if head[1]:
                above.append(Text(head[1], Span(*head.span(1))))
            position = head.end()
        place = Span(start, start + len(data[start:position].rstrip()))
        body = diff_lines.read(data, position, len(data), _is_boundary)
        if not body.lines:
            if position > start:
                if b"\n" not in data[position:]:
                    raise _unread(data, position)
                raise BadReply("a hunk holds no lines: write the lines that go with - and those that come with +")
            return hunks, body.end
        end_of_file = _END_OF_FILE.match(data, body.end)
        position = end_of_file.end() if end_of_file else body.end
        hunks.append(Hunk(tuple(body.lines), None, tuple(above), bool(end_of_file), place))


def _is_boundary(data: bytes, position: int, end: int) -> bool:
    """A hunk ends at a line without mark."""
    return position >= end


def _render_lines(hunk: Hunk) -> str:
    above = "".join(f"@@ {reply_text(text.data)}\n" for text in hunk.above) or "@@\n"
    return above + diff_lines.render(hunk.lines) + "*** End of File\n" * hunk.at_end


@register
class ApplyPatch(ActionFormat):
    """See the module's text and docs/actions.md."""

    name = "apply_patch"
    prompt = (
        """\
Write one action in your reply; any text around it is free.
To change files, write a patch (leave out what you do not need):
*** Begin Patch
*** Update File: a.py
@@ def f(x):
     a line that stays
-    a line that goes
+    a line that comes
     a line that stays
*** Add File: new.py
+each line of it
*** Delete File: old.py
*** End Patch
Below *** Update File: a.py, *** Move to: b.py renames the file. The line after @@ stands above the hunk in the file.
"""
        + fences.SHELL_PROMPT
        + "Every line of a hunk has its mark (blank, - or +) before it, so any text can stand in one.\n"
    )

    def parse(self, reply: str) -> Action:
        try:
            return one_action(_items(reply_bytes(reply)), _EXAMPLE)
        except BadReply as bad:
            return Action("invalid", error=str(bad))

    def render(self, action: Action) -> str:
        """Raises ValueError for other edits than patches, new, removed and renamed files, and for numbered hunks."""
        parts: list[str] = []
        renamed = ""
        for edit in action.edits:
            if isinstance(edit, Patch):
                parts.append("" if renamed == edit.path else f"*** Update File: {edit.path}\n")
                parts += map(_render_lines, edit.hunks)
            elif isinstance(edit, Write):
                parts.append(f"*** Add File: {edit.path}\n{diff_lines.render(diff_lines.whole(edit.text, '+'))}")
            elif isinstance(edit, Delete):
                parts.append(f"*** Delete File: {edit.path}\n")
            elif isinstance(edit, Rename):
                parts.append(f"*** Update File: {edit.path}\n*** Move to: {edit.to}\n")
            renamed = edit.to if isinstance(edit, Rename) else ""
        patch = f"*** Begin Patch\n{''.join(parts)}*** End Patch\n" if parts else ""
        command = ""
        if action.kind in ("shell", "submit"):
            looks_like_patch = _PATCH_IN_FENCE.match(b"\n" + reply_bytes(action.command))
            command = fences.render_command(action, least=4 if looks_like_patch else 3)
        return read_back(self, action, reasoning.guard(patch + command))
