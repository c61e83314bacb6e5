"""``place``: a trajectory against all that came to the same place, whatever they wrote there.

A_D(i) = R(i) - mean of R over the trajectories that had the place before them, those that left it alone included. The
baseline does not depend on the action but for the trajectory's own share of it, so the expected gradient is the true
one times (n - 1) / n of n trajectories; it says what the episode's advantage says, about trajectories that began alike.
A_D is for the tokens that write what is put there; those that name the place keep A_E.
"""

from __future__ import annotations

import numpy as np

from algorithms.core.statistics import center


def advantages(returns: np.ndarray) -> np.ndarray:
    """A_D [n] of returns [n], one per trajectory at the place."""
    return center(returns)
