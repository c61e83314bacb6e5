"""Figures of rows: means over seeds with bootstrap intervals, differences to GRPO, rollouts to a level.

Pure functions. Intervals are 95 % percentile bootstraps of the mean over seeds (Efron 1979), drawn with a fixed seed.
With five seeds they are too narrow: the spread is that of the sample, .89 of the estimate of the population's, and
Student's t would stretch it by 2.78 / 1.96.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 10_000
#: Steps over which a curve is averaged before it is compared with a level: one step is one group.
WINDOW = 8


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and its interval; ``values`` are the seeds' own."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...]


def _draws(count: int) -> np.ndarray:
    """int [DRAWS, count]: which of ``count`` seeds each draw takes."""
    return np.random.default_rng(0).integers(count, size=(DRAWS, count))


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of one value per seed."""
    own = np.array(values, dtype=np.float64)
    low, high = np.quantile(own[_draws(len(own))].mean(1), (0.025, 0.975))
    return Estimate(float(own.mean()), float(low), float(high), tuple(values))


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> Estimate | None:
    """The difference of two methods over the seeds (seed -> value) both have; the same seed means the same tasks."""
    both = sorted(one.keys() & other.keys())
    return estimate([one[seed] - other[seed] for seed in both]) if both else None


def over_settings(differences: Sequence[Estimate]) -> Estimate:
    """The mean over settings of one difference each; seeds are drawn within a setting, as settings were not sampled."""
    drawn = np.zeros(DRAWS)
    rng = np.random.default_rng(0)
    for one in differences:
        own = np.array(one.values)
        drawn += own[rng.integers(len(own), size=(DRAWS, len(own)))].mean(1)
    low, high = np.quantile(drawn / len(differences), (0.025, 0.975))
    means = tuple(one.mean for one in differences)
    return Estimate(float(np.mean(means)), float(low), float(high), means)


def smooth(curves: np.ndarray) -> np.ndarray:
    """Curves [n, steps], each the mean of the last WINDOW steps; at first of those there are."""
    total = np.cumsum(np.concatenate([np.zeros((len(curves), 1)), curves], 1), 1)
    steps = np.arange(1, curves.shape[1] + 1)
    first = np.maximum(steps - WINDOW, 0)
    return (total[:, steps] - total[:, first]) / (steps - first)


def reached(curves: np.ndarray, level: float, rollouts: int) -> tuple[float, float, float]:
    """Rollouts until the mean of the smoothed curves [seeds, steps] is at a level, and its interval; inf: never.

    The window must be full: the mean of fewer steps is mostly luck.
    """
    smoothed = smooth(curves)

    def first(mean: np.ndarray) -> np.ndarray:
        hit = mean >= level
        hit[..., : WINDOW - 1] = False
        return np.where(hit.any(-1), (hit.argmax(-1) + 1.0) * rollouts, np.inf)

    drawn = np.sort(first(smoothed[_draws(len(curves))].mean(1)))
    # Of the draws themselves: between a number and never there is nothing to interpolate.
    low, high = drawn[round(0.025 * (DRAWS - 1))], drawn[round(0.975 * (DRAWS - 1))]
    return float(first(smoothed.mean(0))), float(low), float(high)
