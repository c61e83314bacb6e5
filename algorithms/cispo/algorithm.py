"""CISPO: GRPO's advantage, REINFORCE's gradient, the clipped ratio as its weight. See docs/cispo.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from algorithms.core.groups import outcome_credit
from algorithms.core.statistics import group_advantage
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class CispoConfig:
    """CISPO has no options of its own."""


class Cispo:
    """CISPO, clipped importance-sampling-weight policy optimisation (MiniMax-M1, arXiv 2506.13585, eqs. 4-5).

    J = mean over tokens of sg(clip(r, 1 - low, 1 + high)) A(i) log p, A(i) = (R(i) - mean R) / std R, sg: no gradient.
    """

    name = "cispo"
    Config = CispoConfig
    loss_defaults: dict[str, Any] = {
        "surrogate": "cispo",
        "agg_mode": "token-mean",  # eq. 4: 1 / sum |o_i|
        "clip_ratio_low": 1.0,  # no lower bound, as in the paper
        "clip_ratio_high": 4.0,  # the paper tunes it and names no value; weights up to 5 are in ScaleRL's (2510.13786)
        "minibatches": 4,  # GSPO's; with one update per step every ratio is 1 and this is REINFORCE
        "kl_coef": 0.0,  # none in eq. 4
    }

    def __init__(self, config: CispoConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T]. Raises ValueError for a reward that is no number."""
        return outcome_credit(group, group_advantage)
