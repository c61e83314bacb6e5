"""The "udiff" action format: a unified diff, as `git diff` and `diff -u` write it, in a fenced ``diff`` block.

::

    reply = "```diff\\n--- a/m.py\\n+++ b/m.py\\n@@ -1 +1 @@\\n-x = 1\\n+x = 2\\n```\\n"
    get("udiff").parse(reply).edits[0].path     # "m.py"

Each line of a hunk has its mark before it, so no text needs an escape. The counts of ``@@`` lines are believed where
they fit, and counted again where they do not. A diff outside a fence is read too, where it is clear that it is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

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
from codegym.actions.udiff_reader import CUT, EXAMPLE, LETTERS, NEW_FILE, DiffReader
from codegym.spans import reply_bytes

_FREE = re.compile(
    rb"(?P<think>"
    + reasoning.OPEN
    + rb")|^(?:(?P<bare>diff --git |--- [^\n]*\n\+\+\+ |Binary files [^\n]* differ)|"
    + fences.FENCE
    + rb"$)",
    re.MULTILINE,
)
_LABELS = frozenset({b"diff", b"patch", b"udiff"})
_CUT = re.compile(rb"^" + CUT.pattern, re.MULTILINE)
_ODD = re.compile(rb'[^ -~]|["\\]')


def _items(data: bytes) -> Iterator[tuple[str, Action]]:
    """The diffs and commands outside reasoning, in order."""
    position = begin = reasoning.begin(data)
    while match := _FREE.search(data, position):
        if match["think"]:
            position = reasoning.end(data, match.end())
        elif match["bare"]:
            if begin:  # what ended the reasoning may have been text of the diff
                raise BadReply("after reasoning, a diff must stand between ```diff and ```")
            edits, position = DiffReader(data, match.start(), len(data), fenced=False).files()
            yield "a diff", Action("edit", tuple(edits))
        else:
            found = fences.block(data, match)
            position = found.end
            start = found.body.start
            if found.label in _LABELS or (not found.label and NEW_FILE.match(data, start)):
                edits, stop = DiffReader(data, start, found.close, fenced=True).files()
                if data[stop : found.close].strip():
                    raise BadReply(f"the diff block holds {_shown(data, stop)}, which is no part of a diff: {EXAMPLE}")
                yield "a diff", Action("edit", tuple(edits))
            elif found.label in fences.SHELL_LABELS:
                yield "a ```bash block", fences.command(data, found)
    not_cut(data, position, anywhere=[reasoning.TAG], at_line=[*fences.OPENERS, b"diff --git ", b"Binary files "])
    last = max(position, data.rfind(b"\n", 0, data.rfind(b"\n")) + 1)
    if _CUT.search(data, last):
        raise BadReply("the reply ends in the beginning of another file or hunk: nothing was done; write it again")


def _shown(data: bytes, position: int) -> str:
    return repr(data[position:].lstrip().split(b"\n", 1)[0][:60].decode("utf-8", "backslashreplace"))


def _quoted(prefix: str, path: str) -> str:
    name = reply_bytes(prefix + path)
    if not _ODD.search(name):
        return prefix + path
    letters = {value: key for key, value in LETTERS.items()}

    def escape(match: re.Match[bytes]) -> bytes:
        byte = match[0][0]
        return b"\\" + (letters[byte] if byte in letters else b"%03o" % byte)

    return '"' + _ODD.sub(escape, name).decode("ascii") + '"'


def _render_hunks(hunks: tuple[Hunk, ...]) -> Iterator[str]:
    shift = 0
    for hunk in hunks:
        old = sum(mark != "+" for mark, _ in hunk.lines)
        new = sum(mark != "-" for mark, _ in hunk.lines)
        if hunk.line is None:
            yield "@@ @@\n"
        else:
            # A side without lines counts from the line above it.
            first = max(0, hunk.line + shift + (not old) - (not new))
            yield f"@@ -{hunk.line},{old} +{first},{new} @@\n"
        yield diff_lines.render(hunk.lines)
        shift += new - old


def _render(edit: Edit, renamed: str | None) -> Iterator[str]:
    """One file of a diff; ``renamed`` is the path that a patch's file had in the edit before."""
    if isinstance(edit, Rename):
        yield f"diff --git {_quoted('a/', edit.path)} {_quoted('b/', edit.to)}\n"
        yield f"rename from {_quoted('', edit.path)}\nrename to {_quoted('', edit.to)}\n"
        return
    old, new = _quoted("a/", renamed or edit.path), _quoted("b/", edit.path)
    if renamed is None:
        yield f"diff --git {old} {new}\n"
    hunks: tuple[Hunk, ...] = ()
    if isinstance(edit, Patch):
        hunks = edit.hunks
    elif isinstance(edit, Write):
        yield "new file mode 100644\n"
        old, hunks = "/dev/null", _one_hunk(edit.text, "+")
    elif isinstance(edit, Delete):
        yield "deleted file mode 100644\n"
        new, hunks = "/dev/null", _one_hunk(edit.text, "-")
    if hunks:
        old, new = (name + "\t" * (" " in name and name[0] != '"') for name in (old, new))  # as git ends such a name
        yield f"--- {old}\n+++ {new}\n"
        yield from _render_hunks(hunks)


def _one_hunk(text: Text | None, mark: Literal["-", "+"]) -> tuple[Hunk, ...]:
    lines = diff_lines.whole(text, mark) if text else []
    return (Hunk(tuple(lines), 0 if mark == "+" else 1),) if lines else ()


@register
class Udiff(ActionFormat):
    """See the module's text and docs/actions.md."""

    name = "udiff"
    prompt = (
        """\
Write one action in your reply; any text around it is free.
To change files, write a unified diff (more files may follow in it):
```diff
--- a/a.py
+++ b/a.py
@@ -3,3 +3,3 @@
 a line that stays
-a line that goes
+a line that comes
 a line that stays
```
A new file has --- /dev/null, a removed one +++ /dev/null.
"""
        + fences.SHELL_PROMPT
        + "Every line of a hunk has its mark (blank, - or +) before it, so any text can stand in one.\n"
    )

    def parse(self, reply: str) -> Action:
        try:
            return one_action(_items(reply_bytes(reply)), EXAMPLE)
        except BadReply as bad:
            return Action("invalid", error=str(bad))

    def render(self, action: Action) -> str:
        """Raises ValueError for other edits than patches, new, removed and renamed files."""
        parts: list[str] = []
        renamed: dict[str, str] = {}
        for edit in action.edits:
            parts += _render(edit, renamed.get(edit.path) if isinstance(edit, Patch) else None)
            renamed = {edit.to: edit.path} if isinstance(edit, Rename) else {}
        diff = "```diff\n" + "".join(parts) + "```\n" if parts else ""
        command = fences.render_command(action) if action.kind in ("shell", "submit") else ""
        return read_back(self, action, reasoning.guard(diff + command))
