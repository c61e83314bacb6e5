"""From a group of trajectories to arrays and back: returns, groups of equal things, one number spread over tokens.

The pieces every credit is made of::

    advantages = group_advantage(episode_returns(group))  # [G], or an error naming the trajectory
    return Credit(spread(group, lambda i, t: advantages[i]))
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence

import numpy as np

from algorithms.core.statistics import all_equal, center, keep_group, returns_to_go, whiten
from algorithms.core.trajectory import Algorithm, Credit, Trajectory


def episode_returns(group: Sequence[Trajectory]) -> np.ndarray:
    """R(i) [G], undiscounted, penalties taken off. Raises ValueError naming the trajectory of one that is no number."""
    _check_rewards(group)
    return np.array([math.fsum(turn.net_reward for turn in trajectory.turns) for trajectory in group])


def turn_returns(group: Sequence[Trajectory], gamma: float) -> list[np.ndarray]:
    """R(i, t): for each trajectory its discounted return-to-go at every turn, discounted per turn."""
    _check_rewards(group)
    return [returns_to_go(np.array([turn.net_reward for turn in trajectory.turns]), gamma) for trajectory in group]


def _check_rewards(group: Sequence[Trajectory]) -> None:
    for trajectory in group:
        for number, turn in enumerate(trajectory.turns):
            if not math.isfinite(turn.net_reward):
                raise ValueError(
                    f"task {trajectory.task_id!r}, trajectory {trajectory.member}, turn {number}: the reward is"
                    f" {turn.net_reward}; make the environment return a number or mark the trajectory infra_error"
                )


def token_rewards(group: Sequence[Trajectory], outcome: bool = False) -> list[np.ndarray]:
    """For each trajectory the reward of each sampled token, its turns one after the other: [tokens].

    A turn's reward is that of its last token, penalties are where they arose. With ``outcome`` all of the
    environment's rewards come at the trajectory's last token. A turn without a token passes its reward to the turn
    before; the sum is always R(i), except where nothing was sampled at all.
    """
    _check_rewards(group)
    result = []
    for trajectory in group:
        lengths = [len(turn.response_ids) for turn in trajectory.turns]
        earned = np.zeros(sum(lengths))
        position = 0
        for turn, length in zip(trajectory.turns, lengths, strict=True):
            if turn.penalties is not None:
                earned[position : position + length] -= turn.penalties
            position += length
            if len(earned):
                earned[len(earned) - 1 if outcome else max(position - 1, 0)] += turn.reward
        result.append(earned)
    return result


def by_turn(group: Sequence[Trajectory], values: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Split each trajectory's values [tokens] into its turns: [trajectory][turn] -> float32 [T]."""
    return [
        [
            part.astype(np.float32)
            for part in np.split(own, np.cumsum([len(turn.response_ids) for turn in trajectory.turns])[:-1])
        ]
        if trajectory.turns
        else []
        for trajectory, own in zip(group, values, strict=True)
    ]


def whitened(values: Sequence[Sequence[np.ndarray]]) -> list[list[np.ndarray]]:
    """The values [group][trajectory] -> [tokens] of a step, scaled to mean 0 and deviation 1 over all its tokens."""
    flat = np.concatenate([own for group in values for own in group])
    ends = np.cumsum([len(own) for group in values for own in group])[:-1]
    scaled = iter(np.split(whiten(flat, np.ones(len(flat))), ends))
    return [[next(scaled) for _ in group] for group in values]


def outcome_credit(group: Sequence[Trajectory], rule: Callable[[np.ndarray], np.ndarray]) -> Credit:
    """The credit of methods that give a whole trajectory one number: rule(returns [G]) -> [G].

    Raises ValueError for a reward that is no number.
    """
    returns = episode_returns(group)
    advantages = rule(returns)
    metrics = {"credit/equal_returns": float(not keep_group(returns))}
    return Credit(spread(group, lambda i, t: advantages[i]), metrics)


def credits(algorithm: Algorithm, groups: Sequence[Sequence[Trajectory]]) -> list[Credit]:
    """The credit of each group of a step.

    A trajectory in which the policy sampled no token says nothing of it: the algorithm does not see it, so that it is
    part of no baseline.
    """
    sampled = [[trajectory for trajectory in group if trajectory.tokens] for group in groups]
    whole = getattr(algorithm, "credit_step", None)
    found = whole(sampled) if whole else [algorithm.credit(group) for group in sampled]
    for group, credit in zip(groups, found, strict=True):
        credit.advantages = _of_all(group, credit.advantages)
        if credit.returns is not None:
            credit.returns = _of_all(group, credit.returns)
    return found


def _of_all(group: Sequence[Trajectory], values: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    own = iter(values)
    nothing = np.zeros(0, dtype=np.float32)
    return [next(own) if trajectory.tokens else [nothing for _ in trajectory.turns] for trajectory in group]


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


def member_means(values: np.ndarray, members: np.ndarray) -> np.ndarray:
    """The mean of each distinct member's values, in order of first appearance, for values and members [n]."""
    of_member: dict[int, list[float]] = {}
    for value, member in zip(np.asarray(values).tolist(), np.asarray(members).tolist(), strict=True):
        of_member.setdefault(member, []).append(value)
    return np.array([math.fsum(own) / len(own) for own in of_member.values()])


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
    means = member_means(values, members)
    if len(means) < 2 or all_equal(values):
        return np.zeros_like(values)
    centered = values - math.fsum(means) / len(means)
    if std:
        deviations = center(means)
        if not deviations.any():
            return np.zeros_like(values)
        centered /= math.sqrt(math.fsum(deviations**2) / (len(means) - 1))
    return centered
