"""The "xml" action format: tags with verbatim bodies. docs/actions.md describes it for people who use it.

::

    action = get("xml").parse('<write path="a.py">\\nx = 1\\n</write>')
    action.edits[0].text.data          # b"x = 1\\n"

The reply is read once from left to right as bytes, and the first thing that is wrong ends the reading, so the
time is linear in the reply's length. A body is never guessed at: it ends at the closing tag with the same id, and
one without an id may hold no tag of the format at all. A forgotten closing tag can thus not swallow the next edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count, groupby

from codegym.actions.base import Action, ActionFormat, Edit, Insert, Lines, Replace, Text, Write, register
from codegym.spans import Span, reply_bytes, reply_text

_NAMES = rb"edit|write|insert|lines|search|replace|shell|submit"
_FREE_TAG = re.compile(rb"<(/?)(" + _NAMES + rb"|think)(?=[\s/>]|\Z)")
# Inside a body only what looks like a whole tag counts: `if n <lines and` is code.
_BODY_TAG = re.compile(rb"<(/?)(" + _NAMES + rb")(?=\s*+/?>|\s++[a-z]++\s*+=)")
_ATTRIBUTES = re.compile(rb"""((?:\s++[a-z]++\s*+=\s*+(?:"[^"]*+"|'[^']*+'))*+)\s*+(/?)>""")
_ATTRIBUTE = re.compile(rb"""([a-z]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_CLOSE = re.compile(rb"\s*+>")
_SPACE = re.compile(rb"\s*+")
_ID = re.compile(rb"[A-Za-z0-9_-]{1,32}")
_NUMBER = re.compile(rb"[0-9]{1,9}")

_FORMS = {
    "edit": '<edit path="a.py">',
    "write": '<write path="a.py">',
    "insert": '<insert path="a.py" line="3">',
    "lines": '<lines path="a.py" first="3" last="5">',
    "search": "<search>",
    "replace": "<replace>",
    "shell": "<shell>",
    "submit": "<submit/>",
}
_KEYS = {name: set(re.findall(r"([a-z]+)=", form)) for name, form in _FORMS.items()}
_PAIR = "<search>..</search><replace>..</replace>"


class _Bad(Exception):  # noqa: N818 - no error of ours: the way out of the reader with the message for the agent
    pass


class _Tag:
    """An opening tag: name, attributes, id, and where it starts and ends."""

    def __init__(self, data: bytes, start: int, name: str) -> None:
        match = _ATTRIBUTES.match(data, start + 1 + len(name))
        if match is None:
            if data.find(b">", start) < 0:
                raise _Bad(f"the reply ends inside the tag <{name}: nothing was done; write {_FORMS[name]} in full")
            raise _Bad(f"a <{name}> tag is malformed: write {_FORMS[name]}")
        self.name, self.start, self.end = name, start, match.end()
        self.values: dict[str, bytes] = {}
        for key, double, single in _ATTRIBUTE.findall(match[1]):
            attribute = key.decode()
            if attribute in self.values or attribute not in _KEYS[name] | {"id"}:
                what = "twice" if attribute in self.values else "which it does not take"
                raise _Bad(f"<{name}> has the attribute {_quote(key)} {what}: write {_FORMS[name]}")
            self.values[attribute] = double or single
        if bool(match[2]) != (name == "submit"):
            raise _Bad(f"write {_FORMS[name]}" + ("" if name == "submit" else f" with a closing tag </{name}>"))
        self.id = self.values.get("id")
        if self.id is not None and not _ID.fullmatch(self.id):
            raise _Bad(f'the id of <{name}> must be 1 to 32 letters, digits, - or _: write id="k1"')
        self.closing = f"</{name}>" if self.id is None else f'</{name} id="{self.id.decode()}">'

    @property
    def place(self) -> Span:
        return Span(self.start, self.end)

    def path(self) -> str:
        if not self.values.get("path"):
            raise _Bad(f"<{self.name}> has no path: write {_FORMS[self.name]}")
        return reply_text(self.values["path"])

    def number(self, key: str, least: int) -> int:
        value = self.values.get(key, b"")
        if not _NUMBER.fullmatch(value) or int(value) < least:
            raise _Bad(
                f"<{self.name}> needs {key}, a whole number from {least} up, not {_quote(value)}: "
                f"write {_FORMS[self.name]}"
            )
        return int(value)


def _quote(data: bytes) -> str:
    text = data.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:40] + "..")


def _cut(tag: _Tag) -> _Bad:
    return _Bad(
        f"the reply ends inside <{tag.name}>, {tag.closing} is missing: nothing was done; write it again, shorter"
    )


def _closing_end(data: bytes, tag: _Tag) -> tuple[int, int]:
    """Start and end of the closing tag of a body."""
    if tag.id is not None:
        pattern = rb"</" + tag.name.encode() + rb"""\s++id\s*+=\s*+(["'])""" + re.escape(tag.id) + rb"\1\s*+>"
        match = re.compile(pattern).search(data, tag.end)
        if match is None:
            raise _cut(tag)
        return match.start(), match.end()
    match = _BODY_TAG.search(data, tag.end)
    if match is None:
        raise _cut(tag)
    found = (match[1] + match[2]).decode()
    if found == "/" + tag.name and (end := _CLOSE.match(data, match.end())):
        return match.start(), end.end()
    raise _Bad(
        f"<{tag.name}> holds <{found}> before its </{tag.name}>: close it first, or, if that is part of the text, "
        f'write <{tag.name} id="k1" ..> .. </{tag.name} id="k1">'
    )


def _body(data: bytes, tag: _Tag, *, trim_end: bool) -> tuple[Text, int]:
    """The text of a tag and the end of its closing tag; the line breaks that only set the tags apart are left out."""
    end, after = _closing_end(data, tag)
    start = tag.end
    opening = b"\r\n" if data.startswith(b"\r\n", start) else b"\n"
    if data.startswith(opening, start):
        start += len(opening)
        if trim_end and data.endswith(opening, start, end):
            end -= len(opening)
    return Text(data[start:end], Span(start, end)), after


def _pairs(data: bytes, edit: _Tag) -> tuple[list[Edit], int]:
    """The search/replace pairs of one <edit> and the end of its closing tag."""
    path, pairs, position = edit.path(), list[Edit](), edit.end
    search: Text | None = None
    while True:
        space = _SPACE.match(data, position)
        assert space is not None
        position = space.end()
        if position == len(data):
            raise _cut(edit)
        match = _FREE_TAG.match(data, position)
        if match is None:
            if not data[position:].strip(b"</abcdefghijklmnopqrstuvwxyz") and data[position : position + 1] == b"<":
                raise _cut(edit)
            raise _Bad(
                f"<edit> holds {_quote(data[position : position + 20])} outside its pairs: inside <edit> write only "
                f'{_PAIR}; text that holds such tags needs an id, as in <replace id="k1">..</replace id="k1">'
            )
        name = match[2].decode()
        wanted = "search" if search is None else "replace"
        if match[1] and name == "edit":
            if search is not None:
                raise _Bad(f"<search> without <replace>: write {_PAIR}")
            if not pairs:
                raise _Bad(f"<edit> holds no pair: write {_PAIR} in it")
            return pairs, _edit_end(data, edit, match.end())
        if match[1] or name != wanted:
            raise _Bad(f"<{match[1].decode()}{name}> where <{wanted}> must stand: inside <edit> write {_PAIR}")
        text, position = _body(data, _Tag(data, position, name), trim_end=True)
        if search is None:
            search = text
        else:
            pairs.append(Replace(path, search, text, edit.place))
            search = None


def _edit_end(data: bytes, edit: _Tag, position: int) -> int:
    """The end of </edit>, which must repeat the id of its opening tag."""
    given = _ATTRIBUTES.match(data, position)
    if given is None:
        if data.find(b">", position) < 0:
            raise _cut(edit)
        raise _Bad(f"the closing tag of <edit> is malformed: write {edit.closing}")
    found = {key: double or single for key, double, single in _ATTRIBUTE.findall(given[1])}
    if given[2] or found != ({} if edit.id is None else {b"id": edit.id}):
        raise _Bad(f"<edit> is closed by another tag than its own: write {edit.closing}")
    return given.end()


def _items(data: bytes) -> Iterator[tuple[str, list[Edit], str]]:
    """The actions outside reasoning, in order: the tag's name, its edits, its command."""
    first = re.search(rb"<(/?)think>", data)
    # A template may open the reasoning in the prompt; the reply then starts inside it.
    position = first.end() if first and first[1] else 0
    while match := _FREE_TAG.search(data, position):
        name = match[2].decode()
        if name == "think" and not match[1]:
            end = data.find(b"</think>", match.end())
            if end < 0:
                raise _Bad("the reply ends inside <think>, so it holds no action: close it with </think> and act")
            position = end + len(b"</think>")
            continue
        if match[1] or name in ("search", "replace", "think"):
            raise _Bad(
                f"<{match[1].decode()}{name}> stands outside its action: remove it; a text that holds such tags needs "
                f'an id on its own tag, as in <write path="a.py" id="k1">..</write id="k1">'
            )
        tag = _Tag(data, match.start(), name)
        edits: list[Edit] = []
        command = ""
        position = tag.end
        if name == "edit":
            edits, position = _pairs(data, tag)
        elif name == "shell":
            text, position = _body(data, tag, trim_end=True)
            command = reply_text(text.data)
            if not text.data.strip():
                raise _Bad("<shell> is empty: write a command in it, or <submit/> to finish")
        elif name == "write":
            path = tag.path()
            text, position = _body(data, tag, trim_end=False)
            edits = [Write(path, text, tag.place)]
        elif name == "insert":
            path, line = tag.path(), tag.number("line", 0)
            text, position = _body(data, tag, trim_end=False)
            edits = [Insert(path, line, text, tag.place)]
        elif name == "lines":
            path, begin, last = tag.path(), tag.number("first", 1), tag.number("last", 1)
            if last < begin:
                raise _Bad(
                    f'<lines> ends at line {last} before it starts at {begin}: write first="{last}" last="{begin}"'
                )
            text, position = _body(data, tag, trim_end=False)
            edits = [Lines(path, begin, last, text, tag.place)]
        yield name, edits, command


def _read(data: bytes) -> Action:
    edits: list[Edit] = []
    found: Action | None = None
    first = ""
    for name, more, command in _items(data):
        if first and not (more and edits):
            raise _Bad(
                f"two actions in one reply, <{first}> and <{name}>: write only one; send the other in the next reply"
            )
        first = first or name
        edits += more
        found = (
            Action("edit", tuple(edits)) if more else Action("shell", command=command) if command else Action("submit")
        )
    if found is None:
        raise _Bad(
            "no action in the reply: write edits "
            f'(<edit path="a.py">{_PAIR}</edit>), one <shell>command</shell>, or <submit/> to finish'
        )
    return found


def _attribute(value: str) -> str:
    return f"'{value}'" if '"' in value else f'"{value}"'


def _element(head: str, text: Text, *, block: bool) -> str:
    """A tag around a body; with the first id that the body leaves free when it holds anything like a tag."""
    data = text.data
    name = head.split()[0]
    mark = ""
    if _BODY_TAG.search(data):
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
Or run a command: <shell>python -m pytest</shell>
Or finish: <submit/>
Bodies are taken as they are. One that holds such tags itself needs an id: <replace id="k1">..</replace id="k1">
"""

    def parse(self, reply: str) -> Action:
        try:
            return _read(reply_bytes(reply))
        except _Bad as bad:
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
                else:
                    head = f'lines {where} first="{edit.first}" last="{edit.last}"'
                    parts.append(_element(head, edit.text, block=False))
            if pair:
                parts.append("</edit>\n")
        reply = "".join(parts)
        if "think>" in reply:
            reply = "<think></think>\n" + reply  # else a body's </think> would end a reasoning opened in the prompt
        back = self.parse(reply)
        if back != action:
            raise ValueError(f"the xml format cannot write this action: {back.error or 'it reads back as another one'}")
        return reply
