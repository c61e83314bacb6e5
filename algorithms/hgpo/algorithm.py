"""HGPO: a turn is compared in several groups, of equal states and of ever longer equal pasts. See docs/hgpo.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.core.config import option
from algorithms.core.groups import episode_returns, spread, turn_returns
from algorithms.core.states import compare, histories
from algorithms.core.statistics import group_advantage, keep_group
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class HgpoConfig:
    """Options of HGPO."""

    depth: int = option(2, "K, the longest common past looked at, in turns")
    alpha: float = option(1.0, "a group of k common turns weighs (k + 1)^alpha; 0: all weigh alike")
    gamma: float = option(0.95, "discount per turn of the return-to-go (GiGPO's)")
    episode: float = option(1.0, "weight of GRPO's advantage beside it, as in GiGPO; 0: the step groups alone")
    std: bool = option(True, "divide every advantage by its group's standard deviation")

    def __post_init__(self) -> None:
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"algorithm.gamma={self.gamma} must be in 0..1")
        if self.depth < 0:
            raise ValueError(f"algorithm.depth={self.depth} must not be negative")
        for key in ("alpha", "episode"):
            if not 0 <= getattr(self, key) < math.inf:
                raise ValueError(f"algorithm.{key}={getattr(self, key)} must be a number >= 0")
        if self.depth == 0 and self.alpha != 1:
            raise ValueError(
                f"algorithm.alpha={self.alpha} does nothing with algorithm.depth=0, where there is one group"
            )


class Hgpo:
    """HGPO, hierarchy-of-groups policy optimisation (arXiv 2602.22817, ICLR 2026).

    Turns taken in the same state after the same k states before it form the group G(k), k = 0..K, each inside the one
    before. A(k) = (R(i, t) - mean R) / std R over G(k), R(i, t) the return-to-go discounted by gamma, the statistics
    over trajectories. A_H = sum of w(k) A(k) / sum of w(k), w(k) = (k + 1)^alpha, over the k whose group holds two
    trajectories or more, so that a lone past does not shrink what the wider groups say. A = episode A_E + A_H.

    Bias: as GiGPO's, per k; the groups of depth K are those of equal prompts for a policy that reads K turns back, and
    the wider ones trade bias (their members' prompts differ) for variance.
    """

    name = "hgpo"
    Config = HgpoConfig
    loss_defaults: dict[str, Any] = {
        "agg_mode": "token-mean",  # all of them GiGPO's, on whose code the authors build
        "kl_coef": 0.01,
        "kl_type": "k3",
        "clip_ratio_low": 0.2,
        "clip_ratio_high": 0.2,
    }

    def __init__(self, config: HgpoConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T]. Raises ValueError for a reward that is no number."""
        returns = episode_returns(group)
        episode = group_advantage(returns, std=self.config.std)
        step, levels = self._step_advantages(group)
        advantages = spread(group, lambda i, t: self.config.episode * episode[i] + step[i][t])
        counts = np.concatenate(levels) if levels else np.zeros(0)
        metrics = {
            "credit/equal_returns": float(not keep_group(returns)),
            "credit/levels": float(counts.mean()) if counts.size else 0.0,
        }
        return Credit(advantages, metrics)

    def _step_advantages(self, group: Sequence[Trajectory]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """A_H per trajectory [turns], and how many of the K + 1 groups had company."""
        to_go = turn_returns(group, self.config.gamma)
        total, weights, levels = ([np.zeros(len(own)) for own in to_go] for _ in range(3))
        for depth in range(self.config.depth + 1):
            found, sizes = compare(histories(group, depth), to_go, std=self.config.std)
            weight = (depth + 1) ** self.config.alpha
            for i, size in enumerate(sizes):
                shared = size >= 2
                total[i] += weight * found[i] * shared
                weights[i] += weight * shared
                levels[i] += shared
        return [own / np.maximum(weight, 1) for own, weight in zip(total, weights, strict=True)], levels
