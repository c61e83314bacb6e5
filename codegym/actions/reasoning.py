"""``<think>..</think>``: words of a reply that are never an action, whatever they quote. Shared by all formats.

A template may open the reasoning in the prompt; a reply with ``</think>`` before any ``<think>`` begins inside it. A
tag that is followed by a quote, a closing bracket or the like is quoted itself, as in code that speaks of such tags.
"""

from __future__ import annotations

import re

from codegym.actions.base import BadReply

#: What does not follow a tag that is meant.
NOT_QUOTED = rb"""(?!["'\\),\]};|]|`(?!``))"""
TAG = b"<think>"
#: A tag that opens a reasoning, for the patterns of the formats.
OPEN = TAG + NOT_QUOTED
_CLOSE = re.compile(rb"</think>" + NOT_QUOTED)
_EITHER = re.compile(rb"<(/?)think>" + NOT_QUOTED)


def begin(data: bytes) -> int:
    """Where the reply stops being a reasoning that was opened in the prompt; 0 if it is none."""
    first = _EITHER.search(data)
    return first.end() if first and first[1] else 0


def end(data: bytes, position: int) -> int:
    """Where the reasoning ends that was opened before ``position``. Raises BadReply if the reply ends first."""
    close = _CLOSE.search(data, position)
    if close is None:
        raise BadReply("the reply ends inside <think>, so it holds no action: close it with </think> and act")
    return close.end()


def guard(reply: str) -> str:
    """A rendered reply, so that a ``</think>`` in one of its texts does not end a reasoning that never began."""
    return "<think></think>\n" + reply if "think>" in reply else reply
