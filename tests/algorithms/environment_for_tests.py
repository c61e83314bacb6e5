"""A trivial environment without torch, for the training system's tests: it wants small bytes.

Its reward is the share of a reply's bytes below 64 (half of what a random model over 128 single bytes says). It runs
for two turns.
"""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from codegym.diff.model import Diff
from codegym.spaces import TextSpace
from codegym.spans import reply_bytes

ENV = "tests.algorithms.environment_for_tests:Small-v0"


class SmallBytes(gym.Env[str, str]):
    """See the module. ``fail_at``: episodes whose seed is divisible by it lose their machine at the second turn."""

    observation_space = action_space = TextSpace()

    def __init__(self, split: str = "train", fail_at: int = 0, reward: float | None = None) -> None:
        self._split, self._fail_at, self._reward = split, fail_at, reward

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        if options and options["index"] >= 64:
            raise IndexError(f"index={options['index']}: there are 64")
        self._turn, self._seed = 0, seed or 0
        return f"task {self._seed % 8}", self._info(None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._turn += 1
        if self._fail_at and self._seed % self._fail_at == 0 and self._turn == 2:
            return "", 0.0, False, True, self._info("the disk is gone")
        data = reply_bytes(action)
        reward = sum(byte < 64 for byte in data) / max(len(data), 1) if self._reward is None else self._reward
        done = self._turn == 2
        return f"turn {self._turn}", reward, done, False, self._info(None, done, reward)

    def _info(self, trouble: str | None, done: bool = False, reward: float = 0.0) -> dict[str, Any]:
        return {
            "task_id": f"{self._split}-{self._seed}",
            "turn": self._turn,
            "action": {"kind": "text", "valid": True, "error": None},
            "diff": Diff(),
            "state": str(self._turn),
            "state_before": str(max(self._turn - 1, 0)),
            "reward_terms": {"small": reward},
            "resolved": done and reward > 0.9,
            "score": reward if done else 0.0,
            "stop_reason": "submitted" if done else None,
            "infra_error": trouble,
            "timing": {"diff": 0.001},
        }


gym.register("Small-v0", entry_point=lambda **options: SmallBytes(**options))
