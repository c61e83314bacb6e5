"""PPO: a critic foresees the return at every token; its errors, averaged, are the advantages. See docs/ppo.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.core.config import option
from algorithms.core.groups import by_turn, episode_returns, token_rewards, whitened
from algorithms.core.statistics import gae, keep_group
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class PpoConfig:
    """Options of PPO."""

    gamma: float = option(1.0, "discount per sampled token; below 1 a reply of 200 tokens would forget its reward")
    lam: float = option(1.0, "lambda of GAE, per sampled token: .95, the papers' for control tasks, is 4e-5 after 200")
    whiten: bool = option(True, "scale the step's advantages to mean 0 and deviation 1, as PPO's own code does")
    reward: str = option("step", "step: a turn's reward comes at its end; outcome: all of it at the trajectory's end")

    def __post_init__(self) -> None:
        for key in ("gamma", "lam"):
            if not 0 <= getattr(self, key) <= 1:
                raise ValueError(f"algorithm.{key}={getattr(self, key)} must be in 0..1")
        if self.reward not in ("step", "outcome"):
            raise ValueError(f"algorithm.reward={self.reward!r} is unknown; there are: step, outcome")


class Ppo:
    """PPO, proximal policy optimisation (arXiv 1707.06347, eqs. 7 and 11-12), with GAE (1506.02438, eq. 16).

    d(k) = r(k) - beta KL(k) + gamma V(k + 1) - V(k), A(k) = sum over k' >= k of (gamma lambda)^(k' - k) d(k'), over the
    sampled tokens of the whole trajectory: observations are cut out, V after the last token is 0. The critic learns
    A + V. The KL in the reward is InstructGPT's (2203.02155, eq. 2).

    Bias: none with gamma = lambda = 1, whatever the critic says, since it sees no token that it judges. With a smaller
    lambda a token's expected advantage is off by (1 - lambda) times the critic's error before the next token, and
    lambda times that of the one after, and so on. ``whiten`` takes off the step's mean, of which the token's own
    advantage is a part, as in REINFORCE++.
    """

    name = "ppo"
    critic = True
    Config = PpoConfig
    # A critic needs no group: tasks whose returns are all equal teach it too.
    defaults: dict[str, Any] = {"critic": {"enabled": True}, "rollout": {"dynamic_sampling": False}}
    loss_defaults: dict[str, Any] = {
        "agg_mode": "token-mean",
        "clip_ratio_low": 0.2,  # section 6.1
        "clip_ratio_high": 0.2,
        "clip_ratio_c": math.inf,  # no dual clip in the paper
        "kl_coef": 0.02,  # InstructGPT's
        "kl_in": "reward",
        "kl_type": "k1",
    }

    def __init__(self, config: PpoConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """The credit of a step of one group."""
        return self.credit_step([group])[0]

    def credit_step(self, groups: Sequence[Sequence[Trajectory]]) -> list[Credit]:
        """Advantages and the critic's targets of all groups of a step, whose turns hold ``values``.

        Raises ValueError for a reward that is no number.
        """
        values = [[_values(trajectory) for trajectory in group] for group in groups]
        advantages = [
            [
                gae(earned, own, np.ones(len(own)), self.config.gamma, self.config.lam)
                for earned, own in zip(token_rewards(group, self.config.reward == "outcome"), of_group, strict=True)
            ]
            for group, of_group in zip(groups, values, strict=True)
        ]
        raw = np.concatenate([own for group in advantages for own in group])
        targets = [[a + v for a, v in zip(*pair, strict=True)] for pair in zip(advantages, values, strict=True)]
        explained = _explained(np.concatenate([own for group in targets for own in group]), raw)
        if self.config.whiten:
            advantages = whitened(advantages)
        return [
            Credit(
                by_turn(group, own),
                {
                    "credit/equal_returns": float(not keep_group(episode_returns(group))),
                    "critic/explained_variance": explained,
                },
                returns=by_turn(group, target),
            )
            for group, own, target in zip(groups, advantages, targets, strict=True)
        ]


def _values(trajectory: Trajectory) -> np.ndarray:
    found = []
    for turn in trajectory.turns:
        if turn.values is None:
            raise ValueError("PPO needs the critic's values of every turn; set critic.enabled=true")
        found.append(turn.values.astype(np.float64))
    return np.concatenate(found) if found else np.zeros(0)


def _explained(targets: np.ndarray, errors: np.ndarray) -> float:
    """The share of the targets' variance that the values foresaw: 1 - var(target - value) / var(target)."""
    spread = float(targets.var())
    return 1 - float(errors.var()) / spread if spread > 0 else 0.0
