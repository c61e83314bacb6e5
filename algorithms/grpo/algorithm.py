"""GRPO: every token of a trajectory gets the trajectory's standing in its group. See docs/grpo.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.core.config import option
from algorithms.core.groups import episode_returns, outcome_credit, spread, turn_returns
from algorithms.core.statistics import center, group_advantage, keep_group
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class GrpoConfig:
    """Options of GRPO."""

    std: bool = option(True, "divide by the group's standard deviation; false is Dr. GRPO's advantage")
    reward: str = option("outcome", "outcome: the episode's return; process: each turn's reward, and those after it")

    def __post_init__(self) -> None:
        if self.reward not in ("outcome", "process"):
            raise ValueError(f"algorithm.reward={self.reward!r} is unknown; there are: outcome, process")


class Grpo:
    """GRPO, group-relative policy optimisation (arXiv 2402.03300, eq. 3).

    ``outcome`` (section 4.1.2): A(i, t, k) = (R(i) - mean R) / std R for every sampled token k of every turn t of
    trajectory i, where R(i) is the episode's return and mean and std (ddof=1) are over the group's trajectories.

    ``process`` (section 4.1.3): A(i, t, k) = sum over t' >= t of (r(i, t') - mean r) / std r, where mean and std are
    over the rewards of all turns of the group, as in the paper. Bias: every further turn costs mean r, so where the
    policy decides when to stop, - mean r times the gradient of the expected number of turns is added to the true one
    in large groups. With few trajectories the true one is shrunk besides: in A14 of tests/known_answers (mean r .92,
    true gradient -.17 and -.34 for stopping at the first and the second turn, +.19 and 0 added) by another .06 of
    the second with G = 3, .03 with 6, .02 with 12.
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
        if self.config.reward == "process" and group:
            return self._process(group)
        return outcome_credit(group, lambda returns: group_advantage(returns, std=self.config.std))

    def _process(self, group: Sequence[Trajectory]) -> Credit:
        rewards = turn_returns(group, 0.0)
        scaled = np.split(center(np.concatenate(rewards), self.config.std), np.cumsum(list(map(len, rewards)))[:-1])
        to_go = [np.cumsum(own[::-1])[::-1] for own in scaled]
        metrics = {"credit/equal_returns": float(not keep_group(episode_returns(group)))}
        return Credit(spread(group, lambda i, t: to_go[i][t]), metrics)
