"""Advantages and returns as pure functions on arrays; nothing here knows tokens, models or tasks.

A *group* is the G trajectories of one task, and its statistics are over **trajectories**, never over turns or
tokens: a trajectory of ten turns weighs as much as one of a single turn. Standard deviations divide by n - 1.
Sums over a group use ``math.fsum``, so the order of the trajectories changes no bit of the result::

    group_advantage(np.array([1.0, 0, 0, 0]))   # [1.5, -.5, -.5, -.5]
"""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np

ABSOLUTE_TOLERANCE = 1e-8
RELATIVE_TOLERANCE = 1e-6


def all_equal(values: np.ndarray) -> bool:
    """Whether values [n] differ by no more than rounding.

    Returns are sums of floats, often of float32 terms: equal ones differ by up to about 1e-7 of their size, and a
    standard deviation would blow this noise up to advantages of 1. No environment means a reward of 1e-8.
    """
    if len(values) < 2:
        return True
    return float(np.ptp(values)) <= ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * float(np.abs(values).max())


def center(values: np.ndarray, std: bool = False) -> np.ndarray:
    """values [n] minus their mean, optionally divided by their standard deviation (ddof=1); exactly 0 if all equal."""
    values = np.asarray(values, dtype=np.float64)
    if all_equal(values):
        return np.zeros_like(values)
    centered = values - math.fsum(values) / len(values)
    if std:
        centered /= math.sqrt(math.fsum(centered**2) / (len(values) - 1))
    return centered


def group_advantage(returns: np.ndarray, *, std: bool = True) -> np.ndarray:
    """The advantage of each trajectory in its group (GRPO, arXiv 2402.03300; std=False: Dr. GRPO, 2503.20783).

    Args:
        returns: [G], one per trajectory.
        std: divide by the standard deviation.

    Without ``std`` the expected gradient is (G - 1) / G of the true one, because a trajectory is part of its own
    baseline; :func:`rloo` removes the factor. With ``std`` it is weighted by task besides.
    A group of one gets 0 and, once per process, a warning.
    """
    return center(_of_several(returns), std)


def rloo(returns: np.ndarray) -> np.ndarray:
    """Return minus the mean of the *other* trajectories' returns (RLOO, arXiv 2402.14740); an unbiased baseline."""
    returns = _of_several(returns)
    return center(returns) * (len(returns) / max(len(returns) - 1, 1))


def _of_several(returns: np.ndarray) -> np.ndarray:
    returns = np.asarray(returns, dtype=np.float64)
    if not np.isfinite(returns).all():
        raise ValueError("a return is NaN or infinite; find its trajectory with algorithms.core.groups.episode_returns")
    if len(returns) == 1:
        warn_group_of_one()
    return returns


@functools.cache
def warn_group_of_one() -> None:
    """Say, once per process, that a group of one teaches nothing."""
    warnings.warn("a group of one trajectory has advantage 0; set rollout.n >= 2", stacklevel=4)


def keep_group(returns: np.ndarray) -> bool:
    """Dynamic sampling (DAPO, arXiv 2503.14476, eq. 11): a whole group is kept if its returns are not all equal."""
    return not all_equal(np.asarray(returns, dtype=np.float64))


def returns_to_go(rewards: np.ndarray, gamma: float, mask: np.ndarray | None = None) -> np.ndarray:
    """R(t) = sum over t' >= t of gamma^(steps from t to t') r(t'), for rewards [T].

    Only steps with mask 1 count as steps: the return crosses the others undiscounted, and they get 0.
    """
    rewards = np.asarray(rewards, dtype=np.float64)
    mask = np.ones(len(rewards), dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    result = np.zeros_like(rewards)
    following, pending = 0.0, 0.0
    for t in range(len(rewards) - 1, -1, -1):
        pending += rewards[t]
        if mask[t]:
            following = result[t] = pending + gamma * following
            pending = 0.0
    return result


def gae(rewards: np.ndarray, values: np.ndarray, mask: np.ndarray, gamma: float, lam: float) -> np.ndarray:
    """Generalised advantage estimation (arXiv 1506.02438, eq. 16) over the steps with mask 1; others get 0.

    Observation tokens are cut out, values and all: the advantage of rewards, values, mask [T] is that of the
    sequence without them. A reward on a masked step belongs to the model's step before it. After the last step the
    value is 0.
    """
    kept = np.flatnonzero(mask)
    result = np.zeros(len(rewards))
    if len(kept) == 0:
        return result
    earned = np.add.reduceat(np.asarray(rewards, dtype=np.float64), kept)
    following, advantage = 0.0, 0.0
    for k in range(len(kept) - 1, -1, -1):
        value = float(values[kept[k]])
        advantage = earned[k] + gamma * following - value + gamma * lam * advantage
        result[kept[k]] = advantage
        following = value
    return result


def whiten(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """values where mask is 1, shifted to mean 0 and scaled to standard deviation 1 (ddof=1); 0 elsewhere.

    What stands under mask 0, NaN included, is not read.
    """
    mask = np.asarray(mask, dtype=bool)
    result = np.zeros(mask.shape)
    result[mask] = center(np.asarray(values)[mask], std=True)
    return result


def overlong_penalty(lengths: np.ndarray, max_length: int, cache: int) -> np.ndarray:
    """DAPO's soft overlong punishment (arXiv 2503.14476, eq. 13), to be added to the reward.

    0 up to ``max_length - cache`` tokens, then falling linearly to -1 at ``max_length``, -1 beyond.
    """
    if not 0 < cache <= max_length:
        raise ValueError(f"cache={cache} must be in 1..max_length={max_length}")
    return np.clip((max_length - cache - np.asarray(lengths, dtype=np.float64)) / cache, -1.0, 0.0)
