"""Dr. GRPO: GRPO without the divisions by the deviation and by the length. See docs/dr_grpo.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from algorithms.core.groups import outcome_credit
from algorithms.core.statistics import group_advantage
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class DrGrpoConfig:
    """Dr. GRPO has no options of its own."""


class DrGrpo:
    """Dr. GRPO, GRPO done right (arXiv 2503.20783, section 3.1).

    A(i, t, k) = R(i) - mean R over the group's trajectories, for every sampled token; the loss adds up a sequence's
    tokens and divides by a constant. The expected gradient is (G - 1) / G of the true one: a trajectory is part of its
    own baseline. Times G / (G - 1) it is RLOO.
    """

    name = "dr_grpo"
    Config = DrGrpoConfig
    loss_defaults: dict[str, Any] = {
        "agg_mode": "seq-mean-token-sum-norm",  # no 1/|o_i|: long wrong replies are punished as much as short ones
        "norm_constant": 128.0,  # the built-in task's longest reply; any constant gives the same direction
        "kl_coef": 0.0,  # the paper trains without
        "clip_ratio_low": 0.2,  # PPO's
        "clip_ratio_high": 0.2,
        "clip_ratio_c": math.inf,  # no dual clip in the paper
    }

    def __init__(self, config: DrGrpoConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T]. Raises ValueError for a reward that is no number."""
        return outcome_credit(group, lambda returns: group_advantage(returns, std=False))
