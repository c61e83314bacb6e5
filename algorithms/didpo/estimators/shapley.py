"""``shapley``: the average of what a change adds, over all orders in which the reply's changes could be made.

    phi(c) = sum over S without c of |S|! (n - |S| - 1)! / n! (v(S + c) - v(S))            (Shapley 1953)

The only values that share out v(all) - v(none) completely, treat equal changes equally, give nothing to a change
without effect, and add over tests (so phi of the share of tests passed is the mean of phi of each test).
Exact values take 2^n scores; :func:`sampled` averages over drawn orders and their reverses instead (antithetic
pairs), and still shares out v(all) - v(none) completely. A_D is for the tokens that write the change; those that name
its place keep A_E.
"""

from __future__ import annotations

import math
import random

import numpy as np

from algorithms.didpo.estimators.counterfactual import Value


def sets(count: int) -> list[frozenset[int]]:
    """All sets of ``count`` changes, that of number ``mask`` holding the changes of its bits."""
    return [frozenset(k for k in range(count) if mask >> k & 1) for mask in range(1 << count)]


def exact(count: int, value: Value) -> np.ndarray:
    """phi [count] of changes 0 .. count - 1; ``value(S)`` is the score with the changes S applied. 2^count calls."""
    scores = np.array([value(made) for made in sets(count)])
    masks = np.arange(1 << count)
    sizes = np.array([int(mask).bit_count() for mask in masks])
    weight = np.array([1 / (count * math.comb(count - 1, size)) if size < count else 0.0 for size in range(count + 1)])
    phi = np.zeros(count)
    for k in range(count):
        without = masks[masks >> k & 1 == 0]
        phi[k] = (weight[sizes[without]] * (scores[without | 1 << k] - scores[without])).sum()
    return phi


def sampled(count: int, value: Value, orders: int, seed: int = 0) -> np.ndarray:
    """Estimates [count] of phi from ``orders`` pairs of an order and its reverse; a function of its arguments."""
    rng = random.Random(seed)
    phi = np.zeros(count)
    for _ in range(orders):
        order = rng.sample(range(count), count)
        for walk in (order, order[::-1]):
            done: set[int] = set()
            before = value(frozenset())
            for k in walk:
                done.add(k)
                after = value(frozenset(done))
                phi[k] += after - before
                before = after
    return phi / (2 * orders)
