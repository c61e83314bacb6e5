"""How well credit agrees with the truth: pure functions on arrays [n], one entry per change."""

from __future__ import annotations

import numpy as np


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, equal values sharing the mean of theirs. Differences below 1e-9 are rounding, not ranks."""
    _, which, count = np.unique(np.round(values, 9), return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[which]


def spearman(credit: np.ndarray, truth: np.ndarray) -> float:
    """Rank correlation; NaN if either is constant."""
    a, b = ranks(credit), ranks(truth)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def auc(credit: np.ndarray, good: np.ndarray) -> float:
    """The chance that a good change has more credit than one that is not (ties count half); NaN if all are alike."""
    positive = int(good.sum())
    negative = len(good) - positive
    if not positive or not negative:
        return float("nan")
    return float((ranks(credit)[good].sum() - positive * (positive + 1) / 2) / (positive * negative))


def wasted(credit: np.ndarray, truth: np.ndarray, tolerance: float = 1e-9) -> float:
    """The share of |credit| that goes to changes without effect; NaN if there is no credit."""
    total = np.abs(credit).sum()
    return float(np.abs(credit[np.abs(truth) <= tolerance]).sum() / total) if total > 0 else float("nan")
