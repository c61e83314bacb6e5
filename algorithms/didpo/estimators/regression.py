"""``regression``: the effect of what is written at a place, with the trajectory's other changes held fixed.

One ridge regression per task and turn: R(i) = b + sum over the places before i of beta(place, variant i wrote there),
and

    A_D(i, place) = beta(place, v).

A place that is left alone adds nothing, so beta is what the variant gains against leaving it alone. Where nobody left
it alone that cannot be seen, and effects are those against each other, around 0. A ridge (Hoerl and Kennard 1970) of
strength ``ridge`` shrinks them to 0, rare variants most: with G trajectories there are more variants than returns. It
is chosen among :data:`RIDGES` by the error in foreseeing each trajectory from the others, which for a ridge has a
closed form (Allen's PRESS, 1974).

Bias: the expected gradient of the choice among three lines at a place, beside another independent choice, keeps its
direction (cosine above .999), but the ridge shortens it: .57 of its length at G = 4 and .89 at G = 8 where returns add
up over places, .46 and .66 where only all together pay (enumerated in tests/algorithms/test_biases.py). A_D is for the
tokens that write the variant; those that name the place keep A_E, which is not shortened with it, so the gradient of
all tokens turns: docs/credit.md measures its angle. With ``center`` the place's mean is subtracted, which takes another
fifth of the length (.45 and .77, .39 and .57).
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
        places: per place the rows of ``returns`` that had it before them, int [n], and the variant of each, int [n]: 0
            for leaving it alone, else from 1.
        returns: [G], of all trajectories of the turn.
        ridge: its strength; None chooses it.
    """
    returns = np.asarray(returns, dtype=np.float64)
    if all_equal(returns) or not places:
        return [np.zeros(len(rows)) for rows, _ in places]
    blocks = []
    for rows, variants in places:
        block = np.zeros((len(returns), variants.max() + 1))
        block[:, 0] = 1  # that the place was not as it was before them may itself say something
        block[rows] = np.eye(variants.max() + 1)[variants]
        block[rows, 0] = 0
        blocks.append(block - block.mean(0))
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
    effects = [np.append(0, beta[end - block.shape[1] + 1 : end]) for block, end in zip(blocks, ends, strict=True)]
    return [own[variants] for own, (_, variants) in zip(effects, places, strict=True)]


def _press(values: np.ndarray, vectors: np.ndarray, rotated: np.ndarray, target: np.ndarray, ridge: float) -> float:
    """Sum of squared errors in foreseeing each row from the others; the mean is fitted too, hence 1 / G."""
    kept = values / (values + ridge)
    leverage = (vectors**2) @ kept + 1 / len(target)
    return float((((target - vectors @ (kept * rotated)) / np.maximum(1 - leverage, 1e-6)) ** 2).sum())
