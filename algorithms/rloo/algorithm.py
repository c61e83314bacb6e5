"""RLOO: REINFORCE with the other trajectories' mean return as the baseline. See docs/rloo.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from algorithms.core.groups import outcome_credit
from algorithms.core.statistics import rloo
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class RlooConfig:
    """RLOO has no options of its own."""


class Rloo:
    """RLOO, REINFORCE leave-one-out (arXiv 2402.14740, section 3; Kool et al. 2019).

    A(i) = R(i) - mean of R(j) over j != i, for every sampled token, where the KL to the reference, summed over the
    tokens, is taken off R (the paper's reward). The loss adds up a sequence's tokens: the whole reply is one action.
    The baseline does not depend on the trajectory, so the expected gradient is the true one.
    """

    name = "rloo"
    Config = RlooConfig
    # The paper draws no group again; one of equal rewards still learns from its KL.
    defaults: dict[str, Any] = {"rollout": {"dynamic_sampling": False}}
    loss_defaults: dict[str, Any] = {
        "agg_mode": "seq-mean-token-sum-norm",  # the log-probability of the whole reply
        "norm_constant": 128.0,  # the built-in task's longest reply; any constant gives the same direction
        "kl_coef": 0.03,  # the paper's for summaries
        "kl_in": "reward",
        "kl_type": "k1",  # log p / q
        "clip_ratio_c": math.inf,  # one update per step: all ratios are 1, and PPO's clip at .2 is idle too
    }

    def __init__(self, config: RlooConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T]. Raises ValueError for a reward that is no number."""
        return outcome_credit(group, rloo)
