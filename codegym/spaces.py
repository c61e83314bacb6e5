"""Text spaces: what an agent reads and what it writes.

Gymnasium's own ``Text`` has a fixed alphabet and length and refuses "" and line breaks; here any ``str`` is in::

    space = ReplySpace("xml", seed=0)
    "anything" in space      # True
    space.sample()           # '<shell>ls</shell>\\n', or an edit, a submission, words, rubbish

Vector environments handle these spaces through :mod:`codegym.vector`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Space

_WORDS = ("fix", "the", "bug", "in", "return", "x", "+", "1", "\n", "é", "<edit>", "</edit>", "\t", "if", ":")
_LINES = ("x = 1\n", "def f(a):\n    return a\n", "\n", "# é\n", "")


class TextSpace(Space[str]):
    """Any ``str``, lone surrogates included (bytes that are no UTF-8 travel so)."""

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: a text has no fixed size."""
        return False

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Up to 20 words. Raises ValueError for a mask or a probability: there is nothing to choose between."""
        if mask is not None or probability is not None:
            raise ValueError(f"{type(self).__name__}.sample takes no mask and no probability")
        return " ".join(_pick(self.np_random, _WORDS) for _ in range(self.np_random.integers(21)))

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a ``str``."""
        return isinstance(x, str)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ReplySpace(TextSpace):
    """Any ``str``; ``sample`` draws plausible replies in an action format: actions most of the time, else words."""

    def __init__(self, action_format: str = "xml", seed: int | np.random.Generator | None = None) -> None:
        super().__init__(seed)
        self.action_format = action_format

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """A reply: an edit (5 in 10), a harmless command, a submission, words (2 in 10), rubbish."""
        words = super().sample(mask, probability)
        from codegym import actions  # late: the formats are not needed to import codegym

        form = actions.base.get(self.action_format)
        rng, text, action = self.np_random, actions.base.Text, actions.base.Action
        path, line = _pick(rng, ("m.py", "main.py", "new/a.py")), int(rng.integers(1, 6))
        body, other = (text(_pick(rng, _LINES).encode()) for _ in range(2))
        kind = int(rng.integers(10))
        edits: dict[int, actions.base.Edit] = {
            0: actions.base.Write(path, body),
            1: actions.base.Write(path, body),
            2: actions.base.Replace(path, text(b"x = 1"), body),
            3: actions.base.Insert(path, line - 1, other),
            4: actions.base.Lines(path, line, line, other),
        }
        if kind in edits:
            old, new = text(b"x = 1\n"), text(body.data.split(b"\n")[0] + b"\n")
            # For formats that cannot say the edit drawn: the like in whole lines, or a command.
            likes = (
                actions.base.Replace(path, old, new),
                actions.base.Patch(path, (actions.base.Hunk((("-", old), ("+", new))),)),
            )
            choices = [action("edit", (edit,)) for edit in (edits[kind], *likes)]
            return actions.base.say(form, *choices, action("shell", command="ls"))
        if kind == 5:
            return form.render(action("shell", command=_pick(rng, ("ls", "cat *.py", "false"))))
        if kind == 6:
            return form.render(action("submit"))
        if kind == 7:
            return rng.bytes(int(rng.integers(40))).decode("utf-8", "surrogateescape")
        return words

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplySpace) and other.action_format == self.action_format

    def __hash__(self) -> int:
        return hash((type(self), self.action_format))

    def __repr__(self) -> str:
        return f"ReplySpace({self.action_format!r})"


def _pick(rng: np.random.Generator, options: tuple[str, ...]) -> str:
    return options[int(rng.integers(len(options)))]
