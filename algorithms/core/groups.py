"""From a group of trajectories to arrays and back: returns, groups of equal things, one number spread over tokens.

The pieces every credit is made of::

    returns = episode_returns(group)                 # [G], or an error naming the trajectory
    advantages = group_advantage(returns, keep=sampled(group))
    return Credit(spread(group, lambda i, t: advantages[i]))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from algorithms.core.statistics import all_equal, center, returns_to_go
from algorithms.core.trajectory import Trajectory


def sampled(group: Sequence[Trajectory]) -> np.ndarray:
    """bool [G]: trajectories in which the policy sampled a token. The others say nothing of it."""
    return np.array([any(len(turn.response_ids) for turn in trajectory.turns) for trajectory in group], dtype=bool)


def episode_returns(group: Sequence[Trajectory]) -> np.ndarray:
    """R(i) [G], undiscounted. Raises ValueError naming task and trajectory if one is NaN or infinite."""
    _check_rewards(group)
    return np.array([math.fsum(turn.reward for turn in trajectory.turns) for trajectory in group])


def turn_returns(group: Sequence[Trajectory], gamma: float) -> list[np.ndarray]:
    """R(i, t): for each trajectory its discounted return-to-go at every turn, discounted per turn."""
    _check_rewards(group)
    return [returns_to_go(np.array([turn.reward for turn in trajectory.turns]), gamma) for trajectory in group]


def _check_rewards(group: Sequence[Trajectory]) -> None:
    for trajectory in group:
        for number, turn in enumerate(trajectory.turns):
            if not math.isfinite(turn.reward):
                raise ValueError(
                    f"task {trajectory.task_id!r}, trajectory {trajectory.member}, turn {number}: the reward is"
                    f" {turn.reward}; make the environment return a number or mark the trajectory infra_error"
                )


def spread(group: Sequence[Trajectory], value: Callable[[int, int], float]) -> list[list[np.ndarray]]:
    """Give ``value(i, t)`` to every sampled token of turn t of trajectory i: [trajectory][turn] -> float32 [T]."""
    return [
        [np.full(len(turn.response_ids), value(i, t), dtype=np.float32) for t, turn in enumerate(trajectory.turns)]
        for i, trajectory in enumerate(group)
    ]


def group_by(keys: Iterable[Hashable]) -> list[np.ndarray]:
    """Positions of equal keys, in order of first appearance."""
    positions: dict[Hashable, list[int]] = {}
    for position, key in enumerate(keys):
        positions.setdefault(key, []).append(position)
    return [np.array(group) for group in positions.values()]


def within(values: np.ndarray, members: np.ndarray, *, std: bool = False) -> np.ndarray:
    """Values minus the mean of their group, where the group's statistics are over distinct trajectories.

    Args:
        values: [n], e.g. the return-to-go of each occurrence.
        members: int [n], the trajectory of each occurrence.
        std: divide by the standard deviation over trajectories (ddof=1).

    A trajectory that occurs several times counts once, with the mean of its values, in the mean and in the deviation.
    The result is [n]; it is 0 where there is one trajectory only, and with ``std`` where the trajectories' means are
    equal, since then there is no scale to divide by.
    """
    values = np.asarray(values, dtype=np.float64)
    of_member: dict[int, list[float]] = {}
    for value, member in zip(values.tolist(), np.asarray(members).tolist(), strict=True):
        of_member.setdefault(member, []).append(value)
    if len(of_member) < 2 or all_equal(values):
        return np.zeros_like(values)
    means = np.array([math.fsum(own) / len(own) for own in of_member.values()])
    centered = values - math.fsum(means) / len(means)
    if std:
        deviations = center(means)
        if not deviations.any():
            return np.zeros_like(values)
        centered /= math.sqrt(math.fsum(deviations**2) / (len(means) - 1))
    return centered
