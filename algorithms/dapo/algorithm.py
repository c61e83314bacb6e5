"""DAPO: four changes to GRPO, three of which are settings of rollout and loss. See docs/dapo.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from algorithms.core.groups import outcome_credit
from algorithms.core.statistics import group_advantage
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class DapoConfig:
    """DAPO has no options of its own: all of it are settings of ``rollout.*`` and ``loss.*``."""


class Dapo:
    """DAPO, decoupled clip and dynamic sampling policy optimisation (arXiv 2503.14476, eqs. 8-13).

    A(i, t, k) = (R(i) - mean R) / std R (eq. 9, std with ddof=1), where R(i) has the soft punishment of overlong
    replies in it (eq. 13). Groups whose returns *without* that punishment are all equal are drawn again (eq. 11).
    """

    name = "dapo"
    Config = DapoConfig
    defaults: dict[str, Any] = {
        "rollout": {
            "dynamic_sampling": True,
            "overlong_share": 0.2,  # 4,096 of 20,480 tokens (section 4.1)
        }
    }
    loss_defaults: dict[str, Any] = {
        "agg_mode": "token-mean",  # eq. 12
        "clip_ratio_low": 0.2,
        "clip_ratio_high": 0.28,  # clip-higher (section 4.1)
        "clip_ratio_c": math.inf,  # no dual clip in eq. 8
        "kl_coef": 0.0,  # section 2.3
    }

    def __init__(self, config: DapoConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T]. Raises ValueError for a reward that is no number."""
        return outcome_credit(group, group_advantage)
