"""An agent that ignores what it reads."""

from __future__ import annotations

import hashlib
from typing import Any

from codegym.spaces import ReplySpace


class RandomAgent:
    """Samples replies; a function of the seed, the task and the attempt, whatever ran before."""

    def __init__(self, *, seed: int = 0, action_format: str = "xml") -> None:
        self._seed = seed
        self._space = ReplySpace(action_format, seed=seed)

    def reset(self, info: dict[str, Any]) -> None:
        """Seed the episode's draws."""
        name = f"{self._seed}/{info['task_id']}/{info['extra'].get('attempt', 0)}"
        self._space.seed(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=4).digest(), "big"))

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        return self._space.sample()
