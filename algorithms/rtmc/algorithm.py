"""RTMC: values of states and of actions in them, averaged over the trajectories that share them. See docs/rtmc.md."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.core.config import option
from algorithms.core.groups import episode_returns, group_by, member_means, spread, turn_returns
from algorithms.core.states import histories
from algorithms.core.statistics import all_equal, keep_group
from algorithms.core.trajectory import Credit, Trajectory, Turn


@dataclass
class RtmcConfig:
    """Options of RTMC."""

    gamma: float = option(1.0, "discount per turn of the return-to-go")
    prior: float = option(
        1.0, "how many trajectories the group's mean counts for in V; 0: states met once teach nothing"
    )

    def __post_init__(self) -> None:
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"algorithm.gamma={self.gamma} must be in 0..1")
        if not 0 <= self.prior < math.inf:
            raise ValueError(f"algorithm.prior={self.prior} must be a number >= 0")


class Rtmc:
    """RTMC, rollout-tree Monte Carlo (arXiv 2604.11037).

    A(i, t) = Q(s, a) - V(s) for every token of turn t. Q(s, a) is the mean return-to-go of the trajectories that took a
    in s, V(s) = (N mean R + prior m) / (N + prior), mean R over the N trajectories that met s and m over the whole
    group. Equal states are the same workspace and observation; equal actions change the same text in the same way,
    whatever the reply says beside (replies that change nothing are told apart by their bytes).

    Bias, at a state that N of G trajectories meet once each, with gamma = 1: the expected gradient is the true one
    times E[N (1 - (1 + prior / G) / (N + prior))] / E[N], as each is part of the values it is compared with.
    """

    name = "rtmc"
    Config = RtmcConfig
    loss_defaults: dict[str, Any] = {
        "agg_mode": "token-mean",
        "kl_coef": 0.0,
        "clip_ratio_low": 0.2,  # PPO's
        "clip_ratio_high": 0.2,
        "clip_ratio_c": math.inf,
    }

    def __init__(self, config: RtmcConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T]. Raises ValueError for a reward that is no number."""
        returns = episode_returns(group)
        step, sizes = self._step_advantages(group)
        metrics = {
            "credit/equal_returns": float(not keep_group(returns)),
            "credit/state_size": float(np.mean(sizes)) if sizes else 0.0,
            "credit/lone_states": float(np.mean([size == 1 for size in sizes])) if sizes else 0.0,
        }
        return Credit(spread(group, lambda i, t: step[i][t]), metrics)

    def _step_advantages(self, group: Sequence[Trajectory]) -> tuple[list[np.ndarray], list[int]]:
        """Q - V per trajectory [turns], and the number of trajectories of each state."""
        to_go = turn_returns(group, self.config.gamma)
        advantages = [np.zeros(len(own)) for own in to_go]
        steps = [(i, t) for i, own in enumerate(to_go) for t in range(len(own))]
        if not steps or all_equal(np.concatenate(to_go)):
            return advantages, []
        states = [state for own in histories(group, 0) for state in own]
        first = [float(own[0]) for own in to_go if len(own)]
        mean, prior = math.fsum(first) / len(first), self.config.prior
        sizes = []
        for positions in group_by(states):
            own = [steps[p] for p in positions]
            met = _returns(own, to_go)
            value = (math.fsum(met) + prior * mean) / (len(met) + prior)
            sizes.append(len(met))
            for same in group_by(action(group[i].turns[t]) for i, t in own):
                taken = [own[p] for p in same]
                done = _returns(taken, to_go)
                quality = math.fsum(done) / len(done)
                for i, t in taken:
                    advantages[i][t] = quality - value
        return advantages, sizes


def _returns(steps: Sequence[tuple[int, int]], to_go: Sequence[np.ndarray]) -> np.ndarray:
    """The return of each distinct trajectory of these steps, the mean of those from its own steps."""
    return member_means(np.array([to_go[i][t] for i, t in steps]), np.array([i for i, _ in steps]))


def action(turn: Turn) -> Hashable:
    """What the reply did: the text it put where in which file, or, where it changed nothing, its bytes."""
    done = tuple(
        (file.path, file.old_path, file.status, tuple((tuple(hunk.old), hunk.text) for hunk in file.hunks))
        for file in turn.diff.files
    )
    return done or turn.reply
