"""An algorithm in one file: REINFORCE with the mean of the other trajectories as its baseline.

    python examples/own_algorithm.py trainer.steps=20

A(i, every token) = R(i) - mean of R over the group's other trajectories (RLOO, arXiv 2402.14740, eq. 7).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.core.cli import main
from algorithms.core.config import option
from algorithms.core.trajectory import Credit, Trajectory


@dataclass
class OwnConfig:
    """What ``algorithm.*`` may set."""

    scale: float = option(1.0, "multiplies every advantage")


class OwnAlgorithm:
    """Leave-one-out REINFORCE."""

    name = "own"
    Config = OwnConfig
    loss_defaults = {"agg_mode": "token-mean"}

    def __init__(self, config: OwnConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        returns = np.array([trajectory.episode_return for trajectory in group])
        others = (returns.sum() - returns) / (len(returns) - 1)
        advantage = self.config.scale * (returns - others)
        return Credit(
            [
                [np.full(len(turn.response_ids), a, dtype=np.float32) for turn in trajectory.turns]
                for trajectory, a in zip(group, advantage, strict=True)
            ]
        )


if __name__ == "__main__":
    sys.exit(main(OwnAlgorithm))
