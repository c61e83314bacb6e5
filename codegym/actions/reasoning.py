"""``<think>..</think>``: words of a reply that are never an action, whatever they quote. Shared by all formats.

A template may open the reasoning in the prompt; a reply with ``</think>`` before any ``<think>`` begins inside it.
"""

from __future__ import annotations

import re

from codegym.actions.base import BadReply

OPEN = b"<think>"
CLOSE = b"</think>"
_EITHER = re.compile(rb"<(/?)think>")


def begin(data: bytes) -> int:
    """Where the reply stops being a reasoning that was opened in the prompt; 0 if it is none."""
    first = _EITHER.search(data)
    return first.end() if first and first[1] else 0


def end(data: bytes, position: int) -> int:
    """Where the reasoning ends that was opened before ``position``. Raises BadReply if the reply ends first."""
    close = data.find(CLOSE, position)
    if close < 0:
        raise BadReply("the reply ends inside <think>, so it holds no action: close it with </think> and act")
    return close + len(CLOSE)


def guard(reply: str) -> str:
    """A rendered reply, so that a ``</think>`` in one of its texts does not end a reasoning that never began."""
    return "<think></think>\n" + reply if "think>" in reply else reply
