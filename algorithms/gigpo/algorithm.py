"""GiGPO: beside the episode's advantage, each turn is compared with the turns taken from the same state.

See docs/gigpo.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.core.config import option
from algorithms.core.groups import episode_returns, spread, turn_returns
from algorithms.core.states import compare, histories, similar
from algorithms.core.statistics import group_advantage, keep_group
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class GigpoConfig:
    """Options of GiGPO."""

    gamma: float = option(0.95, "discount per turn of the return-to-go (the paper's)")
    omega: float = option(1.0, "weight of the step advantage beside the episode's (the paper's)")
    similarity: float = option(
        1.0, "below 1 states whose texts are at least this similar are one; the authors' code: .95"
    )
    std: bool = option(True, "divide both advantages by their groups' standard deviations; false: the paper's F = 1")

    def __post_init__(self) -> None:
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"algorithm.gamma={self.gamma} must be in 0..1")
        if not 0 <= self.omega < math.inf:
            raise ValueError(f"algorithm.omega={self.omega} must be a number >= 0")
        if not 0 < self.similarity <= 1:
            raise ValueError(f"algorithm.similarity={self.similarity} must be in (0, 1]")


class Gigpo:
    """GiGPO, group-in-group policy optimisation (arXiv 2505.10978).

    A(i, t, k) = A_E(i) + omega A_S(i, t). A_E is GRPO's. A_S = (R(i, t) - mean R) / std R over the step group: all
    turns of the task's trajectories taken in the same state, which here is the same workspace and the same
    observation. R(i, t) is the return-to-go discounted by gamma. The statistics of a step group are over
    trajectories: one that comes back to a state counts once there, with the mean of its returns. With ``similarity``
    below 1 states need not be equal (:func:`algorithms.core.states.similar`).

    Bias: without ``std``, with gamma = 1 and a state visited by N trajectories (once each), the expected A_S part of
    the gradient at that state is E[max(N - 1, 0)] / E[N] of the true one: rare states learn slower, in the right
    direction.
    """

    name = "gigpo"
    Config = GigpoConfig
    loss_defaults: dict[str, Any] = {
        "agg_mode": "token-mean",  # of the published training code
        "kl_coef": 0.01,  # as published
        "kl_type": "k3",  # "low variance", as published
        "clip_ratio_low": 0.2,  # PPO's, as published
        "clip_ratio_high": 0.2,
    }

    def __init__(self, config: GigpoConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T]. Raises ValueError for a reward that is no number."""
        returns = episode_returns(group)
        episode = group_advantage(returns, std=self.config.std)
        step, sizes = self._step_advantages(group)
        advantages = spread(group, lambda i, t: episode[i] + self.config.omega * step[i][t])
        metrics = {
            "credit/equal_returns": float(not keep_group(returns)),
            "credit/step_group_size": float(np.mean(sizes)) if sizes else 0.0,
            "credit/lone_states": float(np.mean([size == 1 for size in sizes])) if sizes else 0.0,
        }
        return Credit(advantages, metrics)

    def _step_advantages(self, group: Sequence[Trajectory]) -> tuple[list[np.ndarray], list[int]]:
        """A_S per trajectory [turns], and the number of distinct trajectories of each step group."""
        to_go = turn_returns(group, self.config.gamma)
        exact = self.config.similarity == 1
        keys = histories(group, 0) if exact else similar(group, self.config.similarity)
        advantages, counts = compare(keys, to_go, std=self.config.std)
        of_key = {key: int(count) for own in zip(keys, counts, strict=True) for key, count in zip(*own, strict=True)}
        return advantages, list(of_key.values())
