"""``regression``: the effect of what is written at a place, with the trajectory's other changes held fixed.

One ridge regression per task and turn: R(i) = b + sum over the places before i of beta(place, variant i wrote there).
The indicators are centred within their place, so beta is the variant's effect against its place's mean, and A_D is

    A_D(i, place) = beta(place, v) - mean of beta over the trajectories at the place.

A ridge (Hoerl and Kennard 1970) of strength ``ridge`` shrinks effects to 0, rare variants most: with G trajectories
there are more variants than returns. It is chosen among :data:`RIDGES` by the error in foreseeing each trajectory from
the others, which for a ridge has a closed form (Allen's PRESS, 1974).

Bias: for two independent choices the expected gradient points along the true one to within 2 %, but the ridge shortens
it: .44 of its length at G = 4 and .77 at G = 8 where returns add up over places, .33 and .56 where only all together
pay (enumerated in tests/algorithms/test_biases.py). A_D is for the tokens that write the variant; those that name the
place keep A_E, which is not shortened with it, so the gradient of all tokens turns: docs/credit.md measures its angle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from algorithms.core.statistics import all_equal

#: Powers of two around 1, the weight of one observation of a variant.
RIDGES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def advantages(
    places: Sequence[tuple[np.ndarray, np.ndarray]], returns: np.ndarray, ridge: float | None = None
) -> list[np.ndarray]:
    """A_D per place.

    Args:
        places: per place the rows of ``returns`` that had it before them, int [n], and the variant of each, int [n].
        returns: [G], of all trajectories of the turn.
        ridge: its strength; None chooses it.
    """
    returns = np.asarray(returns, dtype=np.float64)
    if all_equal(returns) or not places:
        return [np.zeros(len(rows)) for rows, _ in places]
    blocks, shares = [], []
    for rows, variants in places:
        _, which = np.unique(variants, return_inverse=True)
        indicator = np.eye(which.max() + 1)[which]
        shares.append(indicator - indicator.mean(0))
        block = np.zeros((len(returns), indicator.shape[1] + (len(rows) < len(returns))))
        block[rows, : indicator.shape[1]] = shares[-1]
        if len(rows) < len(returns):  # that the place was as it was before them may itself say something
            block[rows, -1] = 1
            block[:, -1] -= block[:, -1].mean()
        blocks.append(block)
    design = np.concatenate(blocks, axis=1)
    # (X'X + r)^-1 X'y = X'(XX' + r)^-1 y: there are fewer rows than columns.
    values, vectors = np.linalg.eigh(design @ design.T)
    values, target = np.maximum(values, 0), returns - returns.mean()
    rotated = vectors.T @ target
    if ridge is None:
        errors = [_press(values, vectors, rotated, target, strength) for strength in RIDGES]
        # Of those that foresee equally well but for rounding, the strongest.
        ridge = max(r for r, error in zip(RIDGES, errors, strict=True) if error <= min(errors) * (1 + 1e-9))
    beta = design.T @ (vectors @ (rotated / (values + ridge)))
    ends = np.cumsum([block.shape[1] for block in blocks])
    return [
        own @ beta[end - block.shape[1] :][: own.shape[1]] for own, block, end in zip(shares, blocks, ends, strict=True)
    ]


def _press(values: np.ndarray, vectors: np.ndarray, rotated: np.ndarray, target: np.ndarray, ridge: float) -> float:
    """Sum of squared errors in foreseeing each row from the others; the mean is fitted too, hence 1 / G."""
    kept = values / (values + ridge)
    leverage = (vectors**2) @ kept + 1 / len(target)
    return float((((target - vectors @ (kept * rotated)) / np.maximum(1 - leverage, 1e-6)) ** 2).sum())
