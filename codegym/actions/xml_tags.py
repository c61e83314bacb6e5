"""Tags of the "xml" format: their attributes, and the bodies between them. Used by :mod:`codegym.actions.xml`.

A body is never guessed at: it ends at the closing tag with the same id, and one without an id may hold no tag of the
format at all. A forgotten closing tag can thus not swallow the next edit.
"""

from __future__ import annotations

import re

from codegym.actions import reasoning
from codegym.actions.base import BadReply, Text
from codegym.spans import Span, reply_text

_NAMES = rb"edit|write|insert|lines|delete|rename|search|replace|shell|submit"
FREE_TAG = re.compile(rb"<(/?)(" + _NAMES + rb"|think(?=>" + reasoning.NOT_QUOTED + rb"))(?=[\s/>]|\Z)")
#: What a reply that was cut may end in the beginning of.
OPENERS = tuple(b"<" + slash + name for name in (*_NAMES.split(b"|"), b"think>") for slash in (b"", b"/"))
# Inside a body only what looks like a whole tag counts: `if n <lines and` is code.
BODY_TAG = re.compile(rb"<(/?)(" + _NAMES + rb")(?=\s*+/?>|\s++[a-z]++\s*+=)")
_ATTRIBUTES = re.compile(rb"""((?:\s++[a-z]++\s*+=\s*+(?:"[^"]*+"|'[^']*+'))*+)\s*+(/?)>""")
_ATTRIBUTE = re.compile(rb"""([a-z]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
_CLOSE = re.compile(rb"\s*+>")
_ID = re.compile(rb"[A-Za-z0-9_-]{1,32}")
_NUMBER = re.compile(rb"[0-9]{1,9}")

_FORMS = {
    "edit": '<edit path="a.py">',
    "write": '<write path="a.py">',
    "insert": '<insert path="a.py" line="3">',
    "lines": '<lines path="a.py" first="3" last="5">',
    "delete": '<delete path="a.py"/>',
    "rename": '<rename path="a.py" to="b.py"/>',
    "search": "<search>",
    "replace": "<replace>",
    "shell": "<shell>",
    "submit": "<submit/>",
}
#: Tags without a body.
_ALONE = {name for name, form in _FORMS.items() if form.endswith("/>")}
_KEYS = {name: set(re.findall(r"([a-z]+)=", form)) for name, form in _FORMS.items()}


class Tag:
    """An opening tag: name, attributes, id, and where it starts and ends."""

    def __init__(self, data: bytes, start: int, name: str) -> None:
        match = _ATTRIBUTES.match(data, start + 1 + len(name))
        if match is None:
            if data.find(b">", start) < 0:
                raise BadReply(f"the reply ends inside the tag <{name}: nothing was done; write {_FORMS[name]} in full")
            raise BadReply(f"a <{name}> tag is malformed: write {_FORMS[name]}")
        self.name, self.start, self.end = name, start, match.end()
        self.values: dict[str, bytes] = {}
        for key, double, single in _ATTRIBUTE.findall(match[1]):
            attribute = key.decode()
            if attribute in self.values or attribute not in _KEYS[name] | {"id"}:
                what = "twice" if attribute in self.values else "which it does not take"
                raise BadReply(f"<{name}> has the attribute {quote(key)} {what}: write {_FORMS[name]}")
            self.values[attribute] = double or single
        if bool(match[2]) != (name in _ALONE):
            raise BadReply(f"write {_FORMS[name]}" + ("" if name in _ALONE else f" with a closing tag </{name}>"))
        self.id = self.values.get("id")
        if self.id is not None and not _ID.fullmatch(self.id):
            raise BadReply(f'the id of <{name}> must be 1 to 32 letters, digits, - or _: write id="k1"')
        self.closing = f"</{name}>" if self.id is None else f'</{name} id="{self.id.decode()}">'

    @property
    def place(self) -> Span:
        """The bytes of the tag."""
        return Span(self.start, self.end)

    def path(self, key: str = "path") -> str:
        """An attribute that must not be empty. Raises BadReply."""
        if not self.values.get(key):
            raise BadReply(f"<{self.name}> has no {key}: write {_FORMS[self.name]}")
        return reply_text(self.values[key])

    def number(self, key: str, least: int) -> int:
        """An attribute that is a whole number from ``least`` up. Raises BadReply."""
        value = self.values.get(key, b"")
        if not _NUMBER.fullmatch(value) or int(value) < least:
            raise BadReply(
                f"<{self.name}> needs {key}, a whole number from {least} up, not {quote(value)}: "
                f"write {_FORMS[self.name]}"
            )
        return int(value)


def quote(data: bytes) -> str:
    """Some bytes of a reply as they are shown in a message."""
    text = data.decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:40] + "..")


def cut(tag: Tag) -> BadReply:
    """The error of a reply that ends before its tag is closed."""
    return BadReply(
        f"the reply ends inside <{tag.name}>, {tag.closing} is missing: nothing was done; write it again, shorter"
    )


def _closing_end(data: bytes, tag: Tag) -> tuple[int, int]:
    """Start and end of the closing tag of a body."""
    if tag.id is not None:
        pattern = rb"</" + tag.name.encode() + rb"""\s++id\s*+=\s*+(["'])""" + re.escape(tag.id) + rb"\1\s*+>"
        match = re.compile(pattern).search(data, tag.end)
        if match is None:
            raise cut(tag)
        return match.start(), match.end()
    match = BODY_TAG.search(data, tag.end)
    if match is None:
        raise cut(tag)
    found = (match[1] + match[2]).decode()
    if found == "/" + tag.name and (end := _CLOSE.match(data, match.end())):
        return match.start(), end.end()
    raise BadReply(
        f"<{tag.name}> holds <{found}> before its </{tag.name}>: close it first, or, if that is part of the text, "
        f'write <{tag.name} id="k1" ..> .. </{tag.name} id="k1">'
    )


def body(data: bytes, tag: Tag, *, trim_end: bool) -> tuple[Text, int]:
    """The text of a tag and the end of its closing tag; the line breaks that only set the tags apart are left out."""
    end, after = _closing_end(data, tag)
    start = tag.end
    opening = b"\r\n" if data.startswith(b"\r\n", start) else b"\n"
    if data.startswith(opening, start):
        start += len(opening)
        if trim_end and data.endswith(opening, start, end):
            end -= len(opening)
    return Text(data[start:end], Span(start, end)), after


def edit_end(data: bytes, edit: Tag, position: int) -> int:
    """The end of </edit>, which must repeat the id of its opening tag."""
    given = _ATTRIBUTES.match(data, position)
    if given is None:
        if data.find(b">", position) < 0:
            raise cut(edit)
        raise BadReply(f"the closing tag of <edit> is malformed: write {edit.closing}")
    found = {key: double or single for key, double, single in _ATTRIBUTE.findall(given[1])}
    if given[2] or found != ({} if edit.id is None else {b"id": edit.id}):
        raise BadReply(f"<edit> is closed by another tag than its own: write {edit.closing}")
    return given.end()
