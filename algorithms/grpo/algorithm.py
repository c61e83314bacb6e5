"""GRPO: every token of a trajectory gets the trajectory's standing in its group. See docs/grpo.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from algorithms.core.config import option
from algorithms.core.groups import episode_returns, sampled, spread
from algorithms.core.statistics import group_advantage, keep_group
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class GrpoConfig:
    """Options of GRPO."""

    std: bool = option(True, "divide by the group's standard deviation; false is Dr. GRPO's advantage")


class Grpo:
    """GRPO, group-relative policy optimisation (arXiv 2402.03300, eq. 3).

    A(i, t, k) = (R(i) - mean R) / std R for every sampled token k of every turn t of trajectory i, where R(i) is the
    episode's return and mean and std (ddof=1) are over the group's trajectories.
    """

    name = "grpo"
    Config = GrpoConfig
    loss_defaults: dict[str, Any] = {
        "agg_mode": "seq-mean-token-mean",  # eq. 3: 1/G sum 1/|o_i| sum
        "kl_coef": 0.04,  # section 4.2
        "kl_type": "k3",  # eq. 4
        "clip_ratio_low": 0.2,  # the paper names no epsilon; PPO's
        "clip_ratio_high": 0.2,
    }

    def __init__(self, config: GrpoConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T]. Raises ValueError for a reward that is no number."""
        returns, kept = episode_returns(group), sampled(group)
        advantages = group_advantage(returns, std=self.config.std, keep=kept)
        metrics = {"credit/equal_returns": float(not keep_group(returns[kept]))}
        return Credit(spread(group, lambda i, t: advantages[i]), metrics)
