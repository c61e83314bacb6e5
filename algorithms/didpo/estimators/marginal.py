"""``marginal``: what is written at a place against the place, averaged over the trajectories that wrote the same.

A_D(v) = mean(R | v at the place) - mean(R | the place). The noise that the other changes of a trajectory bring is
averaged away; what remains of it is a bias where changes come together. The mean of a variant that n trajectories wrote
is shrunk towards the place's by n / (n + prior), since a variant written once says most about the rest of its
trajectory. With ``leave_out`` a trajectory's own return is no part of its variant's mean (one that is alone gets 0):
then it is an unbiased sample of the variant's value that owes nothing to the trajectory's own luck.
"""

from __future__ import annotations

import numpy as np

from algorithms.core.statistics import all_equal


def advantages(variants: np.ndarray, returns: np.ndarray, *, prior: float = 1.0, leave_out: bool = False) -> np.ndarray:
    """A_D [n] for variants int [n] and returns [n], one per trajectory at the place."""
    returns = np.asarray(returns, dtype=np.float64)
    if all_equal(returns):
        return np.zeros(len(returns))
    _, which = np.unique(variants, return_inverse=True)
    deviations = returns - returns.mean()
    count = np.bincount(which)[which] - float(leave_out)
    total = np.bincount(which, weights=deviations)[which] - leave_out * deviations
    return np.divide(total, count + prior, out=np.zeros_like(total), where=count > 0)
