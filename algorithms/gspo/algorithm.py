"""GSPO: GRPO's advantage with one importance ratio per sequence. See docs/gspo.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from algorithms.core.groups import outcome_credit
from algorithms.core.statistics import group_advantage
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class GspoConfig:
    """GSPO has no options of its own."""


class Gspo:
    """GSPO, group sequence policy optimisation (arXiv 2507.18071, eqs. 5-7).

    A(i) = (R(i) - mean R) / std R (eq. 6). The ratio of a sequence is the geometric mean of its tokens' (eq. 7), and is
    clipped as a whole. A sequence is a row: a conversation whose turns extend each other, all sampled tokens of it.
    """

    name = "gspo"
    Config = GspoConfig
    loss_defaults: dict[str, Any] = {
        "ratio_level": "sequence",
        "agg_mode": "seq-mean-token-mean",  # s * A / |y| per token, the gradient of eq. 5
        "clip_ratio_low": 3e-4,  # section 5.1
        "clip_ratio_high": 4e-4,
        "clip_ratio_c": math.inf,  # no dual clip in eq. 5
        "minibatches": 4,  # section 5.1; with one update per step every ratio is 1 and the clip is idle
        "kl_coef": 0.0,
    }

    def __init__(self, config: GspoConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T]. Raises ValueError for a reward that is no number."""
        return outcome_credit(group, group_advantage)
