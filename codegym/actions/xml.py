"""The "xml" action format: tags with verbatim bodies. docs/actions.md describes it for people who use it.

::

    action = get("xml").parse('<write path="a.py">\\nx = 1\\n</write>')
    action.edits[0].text.data          # b"x = 1\\n"

The reply is read once from left to right as bytes, and the first thing that is wrong ends the reading, so the
time is linear in the reply's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count, groupby

from codegym.actions import reasoning
from codegym.actions.base import (
    Action,
    ActionFormat,
    BadReply,
    Delete,
    Edit,
    Insert,
    Lines,
    Rename,
    Replace,
    Text,
    Write,
    not_cut,
    one_action,
    read_back,
    register,
)
from codegym.actions.text import with_lf
from codegym.actions.xml_tags import BODY_TAG, FREE_TAG, OPENERS, Tag, body, cut, edit_end, quote
from codegym.spans import reply_bytes, reply_text

_PAIR = "<search>..</search><replace>..</replace>"
_EXAMPLE = f'write edits (<edit path="a.py">{_PAIR}</edit>), one <shell>command</shell>, or <submit/> to finish'
_SPACE = re.compile(rb"\s*+")


def _pairs(data: bytes, edit: Tag) -> tuple[list[Edit], int]:
    """The search/replace pairs of one <edit> and the end of its closing tag."""
    path, pairs, position = edit.path(), list[Edit](), edit.end
    search: Text | None = None
    while True:
        space = _SPACE.match(data, position)
        assert space is not None
        position = space.end()
        if position == len(data):
            raise cut(edit)
        match = FREE_TAG.match(data, position)
        if match is None:
            if not data[position:].strip(b"</abcdefghijklmnopqrstuvwxyz") and data[position : position + 1] == b"<":
                raise cut(edit)
            raise BadReply(
                f"<edit> holds {quote(data[position : position + 20])} outside its pairs: inside <edit> write only "
                f'{_PAIR}; text that holds such tags needs an id, as in <replace id="k1">..</replace id="k1">'
            )
        name = match[2].decode()
        wanted = "search" if search is None else "replace"
        if match[1] and name == "edit":
            if search is not None:
                raise BadReply(f"<search> without <replace>: write {_PAIR}")
            if not pairs:
                raise BadReply(f"<edit> holds no pair: write {_PAIR} in it")
            return pairs, edit_end(data, edit, match.end())
        if match[1] or name != wanted:
            raise BadReply(f"<{match[1].decode()}{name}> where <{wanted}> must stand: inside <edit> write {_PAIR}")
        text, position = _lines(data, Tag(data, position, name), trim_end=True)
        if search is None:
            search = text
        else:
            pairs.append(Replace(path, search, text, edit.place))
            search = None


def _items(data: bytes) -> Iterator[tuple[str, Action]]:
    """The actions outside reasoning, in order, each with its tag."""
    position = reasoning.begin(data)
    while match := FREE_TAG.search(data, position):
        name = match[2].decode()
        if name == "think" and not match[1]:
            position = reasoning.end(data, match.end())
            continue
        if match[1] or name in ("search", "replace", "think"):
            raise BadReply(
                f"<{match[1].decode()}{name}> stands outside its action: remove it; a text that holds such tags needs "
                f'an id on its own tag, as in <write path="a.py" id="k1">..</write id="k1">'
            )
        tag = Tag(data, match.start(), name)
        action, position = _action(data, tag)
        yield f"<{name}>", action
    not_cut(data, position, anywhere=OPENERS)


def _action(data: bytes, tag: Tag) -> tuple[Action, int]:
    """What a tag says to do, and where it ends."""
    if tag.name == "submit":
        return Action("submit"), tag.end
    if tag.name == "shell":
        text, position = body(data, tag, trim_end=True)
        if not text.data.strip():
            raise BadReply("<shell> is empty: write a command in it, or <submit/> to finish")
        return Action("shell", command=reply_text(text.data)), position
    if tag.name == "edit":
        edits, position = _pairs(data, tag)
        return Action("edit", tuple(edits)), position
    path, position = tag.path(), tag.end
    edit: Edit
    if tag.name == "delete":
        edit = Delete(path, None, tag.place)
    elif tag.name == "rename":
        edit = Rename(path, tag.path("to"), tag.place)
    elif tag.name == "write":
        text, position = body(data, tag, trim_end=False)
        edit = Write(path, text, tag.place)
    elif tag.name == "insert":
        line = tag.number("line", 0)
        text, position = _lines(data, tag, trim_end=False)
        edit = Insert(path, line, text, tag.place)
    else:
        begin, last = tag.number("first", 1), tag.number("last", 1)
        if last < begin:
            raise BadReply(
                f'<lines> ends at line {last} before it starts at {begin}: write first="{last}" last="{begin}"'
            )
        text, position = _lines(data, tag, trim_end=False)
        edit = Lines(path, begin, last, text, tag.place)
    return Action("edit", (edit,)), position


def _lines(data: bytes, tag: Tag, *, trim_end: bool) -> tuple[Text, int]:
    """A body that goes into a file's lines and gets their line ends."""
    text, position = body(data, tag, trim_end=trim_end)
    return with_lf(text) if data.startswith(b"\r\n", tag.end) else text, position


def _attribute(value: str) -> str:
    return f"'{value}'" if '"' in value else f'"{value}"'


def _element(head: str, text: Text, *, block: bool) -> str:
    """A tag around a body; with the first id that the body leaves free when it holds anything like a tag."""
    data = text.data
    name = head.split()[0]
    mark = ""
    if BODY_TAG.search(data):
        taken = set(re.findall(rb"k([0-9]+)[\"']", data))
        mark = f' id="k{next(n for n in count(1) if str(n).encode() not in taken)}"'
    tail = "\n" if block and data else ""
    lead = "\n" if data else ""
    return f"<{head}{mark}>{lead}{reply_text(data)}{tail}</{name}{mark}>\n"


@register
class Xml(ActionFormat):
    """See the module's text and docs/actions.md."""

    name = "xml"
    prompt = """\
Write one action in your reply; any text around it is free.
To change files, write one or more of these:
<edit path="a.py">
<search>
lines that occur exactly once in the file
</search>
<replace>
what they become
</replace>
</edit>
(more pairs may follow inside one edit)
<write path="new.py">
the whole file
</write>
<insert path="a.py" line="3">
new lines after line 3 (0: the top)
</insert>
<lines path="a.py" first="3" last="5">
what lines 3 to 5 become
</lines>
<delete path="a.py"/>
<rename path="a.py" to="b.py"/>
Or run a command: <shell>python -m pytest</shell>
Or finish: <submit/>
Bodies are taken as they are. One that holds such tags itself needs an id: <replace id="k1">..</replace id="k1">
"""

    def parse(self, reply: str) -> Action:
        try:
            return one_action(_items(reply_bytes(reply)), _EXAMPLE)
        except BadReply as bad:
            return Action("invalid", error=str(bad))

    def render(self, action: Action) -> str:
        """Raises ValueError for what the format cannot say: an invalid action, a path that holds both quotes."""
        parts: list[str] = []
        if action.kind == "submit":
            parts.append("<submit/>\n")
        elif action.kind == "shell":
            parts.append(_element("shell", Text(reply_bytes(action.command)), block=True))
        for (path, pair), group in groupby(action.edits, lambda edit: (edit.path, isinstance(edit, Replace))):
            where = f"path={_attribute(path)}"
            if pair:
                parts.append(f"<edit {where}>\n")
            for edit in group:
                if isinstance(edit, Replace):
                    parts.append(_element("search", edit.search, block=True))
                    parts.append(_element("replace", edit.text, block=True))
                elif isinstance(edit, Write):
                    parts.append(_element(f"write {where}", edit.text, block=False))
                elif isinstance(edit, Insert):
                    parts.append(_element(f'insert {where} line="{edit.line}"', edit.text, block=False))
                elif isinstance(edit, Delete):
                    parts.append(f"<delete {where}/>\n")
                elif isinstance(edit, Rename):
                    parts.append(f"<rename {where} to={_attribute(edit.to)}/>\n")
                elif isinstance(edit, Lines):
                    head = f'lines {where} first="{edit.first}" last="{edit.last}"'
                    parts.append(_element(head, edit.text, block=False))
            if pair:
                parts.append("</edit>\n")
        return read_back(self, action, reasoning.guard("".join(parts)))
