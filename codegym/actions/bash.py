"""The "bash" action format: one fenced shell block per reply, as in mini-swe-agent. All that is done is a command.

::

    get("bash").parse("Let me look.\\n```bash\\nls\\n```\\n").command      # "ls"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from codegym.actions import fences, reasoning
from codegym.actions.base import Action, ActionFormat, BadReply, not_cut, one_action, read_back, register
from codegym.spans import reply_bytes

_EXAMPLE = "write one command in a fenced block, ```bash on the line before it and ``` on the line after it"
_FREE = re.compile(rb"(?P<think>" + reasoning.OPEN + rb")|^" + fences.FENCE + rb"$", re.MULTILINE)


def _items(data: bytes) -> Iterator[tuple[str, Action]]:
    """The shell blocks outside reasoning; other blocks are words."""
    position = reasoning.begin(data)
    while match := _FREE.search(data, position):
        if match["think"]:
            position = reasoning.end(data, match.end())
            continue
        found = fences.block(data, match)
        position = found.end
        if found.label in fences.SHELL_LABELS:
            yield "a ```bash block", fences.command(data, found)
    not_cut(data, position, anywhere=[reasoning.TAG], at_line=fences.OPENERS)


@register
class Bash(ActionFormat):
    """See the module's text and docs/actions.md. It says no edits: files are changed by commands."""

    name = "bash"
    prompt = """\
Write one command in your reply, in one fenced block; any text around it is free:
```bash
sed -i 's/old/new/' a.py && python -m pytest
```
To write a whole file:
```bash
cat > new.py <<'EOF'
the whole file
EOF
```
To finish:
```bash
submit
```
A command that holds ``` outside quotes and heredocs needs a longer fence, ````bash and ````.
"""

    def parse(self, reply: str) -> Action:
        try:
            return one_action(_items(reply_bytes(reply)), _EXAMPLE)
        except BadReply as bad:
            return Action("invalid", error=str(bad))

    def render(self, action: Action) -> str:
        """Raises ValueError for edits, and for a command that is read as a submission."""
        return read_back(self, action, reasoning.guard(fences.render_command(action)))
