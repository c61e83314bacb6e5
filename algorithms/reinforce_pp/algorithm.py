"""REINFORCE++: returns per token, normalised over all tokens of the step. See docs/reinforce_pp.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.core.config import Config as RunConfig
from algorithms.core.config import option
from algorithms.core.groups import by_turn, episode_returns, token_rewards, whitened
from algorithms.core.statistics import keep_group, returns_to_go
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class ReinforcePpConfig:
    """Options of REINFORCE++."""

    gamma: float = option(1.0, "discount per sampled token of the return (the paper's)")
    baseline: bool = option(False, "subtract the group's mean return before normalising (REINFORCE++ w/ baseline)")
    reward: str = option("step", "step: a turn's reward comes at its end; outcome: all of it at the trajectory's end")

    def __post_init__(self) -> None:
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"algorithm.gamma={self.gamma} must be in 0..1")
        if self.reward not in ("step", "outcome"):
            raise ValueError(f"algorithm.reward={self.reward!r} is unknown; there are: step, outcome")


class ReinforcePp:
    """REINFORCE++ (arXiv 2501.03262, eqs. 8-10).

    A(k) = sum over the trajectory's sampled tokens k' >= k of gamma^(k' - k) (r(k') - beta KL(k')), shifted and scaled
    to mean 0 and deviation 1 (ddof=1) over all sampled tokens of the step. Observations are no steps: the return
    crosses them undiscounted. With ``baseline`` the group's mean return is subtracted first.

    Bias: the step's mean contains the token's own return, and counts tokens, not trajectories, as in the paper. Where
    a policy stops after one or two turns of equal length (A14 of tests/known_answers), the expected gradient is .73 of
    the true one at the first turn and .62 at the second with 3 trajectories a step, .88 and .81 with 6, .97 and .95
    with 24: it is short by about .7 and 1.2 over their number, so its direction turns a little. With ``baseline`` and
    one group a step all turns get (G - 1) / G of the truth. The deviation scales all tokens alike.
    """

    name = "reinforce_pp"
    Config = ReinforcePpConfig
    # Trajectories are compared across tasks, so a group of equal returns teaches too.
    defaults: dict[str, Any] = {"rollout": {"dynamic_sampling": False}}
    loss_defaults: dict[str, Any] = {
        "agg_mode": "token-mean",
        "clip_ratio_low": 0.2,  # PPO's, as in the paper
        "clip_ratio_high": 0.2,
        "clip_ratio_c": math.inf,  # no dual clip in the paper
        "kl_coef": 0.01,
        "kl_in": "reward",
        "kl_type": "k1",  # eq. 9
    }

    def __init__(self, config: ReinforcePpConfig) -> None:
        self.config = config

    def prepare(self, config: RunConfig) -> None:
        """Raises ValueError if the variant with a baseline is given the other's KL."""
        loss = config.loss
        if self.config.baseline and loss.kl_coef and (loss.kl_in, loss.kl_type) != ("loss", "k2"):
            raise ValueError(
                f"algorithm.baseline=true takes its KL as a k2 term of the loss, not as loss.kl_in={loss.kl_in}"
                f" loss.kl_type={loss.kl_type}; set loss.kl_in=loss loss.kl_type=k2, or loss.kl_coef=0"
            )

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """The credit of a step of one group."""
        return self.credit_step([group])[0]

    def credit_step(self, groups: Sequence[Sequence[Trajectory]]) -> list[Credit]:
        """Advantages of all groups of a step. Raises ValueError for a reward that is no number."""
        result = []
        for group, values in zip(groups, whitened([self._returns(group) for group in groups]), strict=True):
            equal = float(not keep_group(episode_returns(group)))
            result.append(Credit(by_turn(group, values), {"credit/equal_returns": equal}))
        return result

    def _returns(self, group: Sequence[Trajectory]) -> list[np.ndarray]:
        to_go = [returns_to_go(own, self.config.gamma) for own in token_rewards(group, self.config.reward == "outcome")]
        if not self.config.baseline:
            return to_go
        mean = math.fsum(episode_returns(group)) / max(len(group), 1)
        return [own - mean for own in to_go]
