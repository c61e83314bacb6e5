"""Where a persistent shell runs in the sandbox of namespaces.

It has a box of its own that shares everything with the sandbox's but the process namespace, so the commands of ``run``,
which end by killing all processes that they can see, do not see it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from sandbox import shell
from sandbox.collect import Stream, exit_code
from sandbox.namespaces.box import Box
from sandbox.namespaces.family import Sight
from sandbox.session import Ground


class NamespaceGround(Ground):
    """``box`` is the sandbox's."""

    def __init__(self, box: Box, sight: Sight) -> None:
        self.limits = box.limits
        self.box = Box(box.limits, "shell", sight, partner=box)

    def output(self, cap: int) -> tuple[Stream, int]:
        return self.box.output(cap)

    def start(self, fds: Sequence[int]) -> None:
        if self.box.owner is not None:
            os.fchown(fds[shell.SCRIPT], *self.box.owner)  # bash opens it by its path
        self.box.start(("shell", shell.argv(), "/box/work", self.box.sight.environment()), fds)

    def mark(self) -> bool:
        return self.box.mark()

    def kill(self) -> None:
        self.box.kill()

    def fileno(self) -> int:
        return self.box.fileno()

    def answer(self) -> tuple[int, float]:
        (status, cpu), _ = self.box.answer()
        return exit_code(status), cpu

    def oom_since_last(self) -> bool:
        return self.box.oom_since_last()

    def close(self) -> None:
        self.box.close()
