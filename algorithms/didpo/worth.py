"""A_D of every change of a group, by the estimator of that name.

::

    for place, advantages in worth(group, "regression", gamma=0.95):
        place.visits[k], advantages[k]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from algorithms.core.groups import turn_returns
from algorithms.core.trajectory import Trajectory
from algorithms.didpo.estimators import counterfactual, marginal, place, regression, shapley
from algorithms.didpo.judge import Judge, Unknown
from algorithms.didpo.places import Place, places_of
from codegym.diff import apply

FROM_ROLLOUTS = ("place", "marginal", "regression")
BY_EXECUTION = ("counterfactual", "shapley")
ESTIMATORS = ("within", *FROM_ROLLOUTS, *BY_EXECUTION)

#: Changes of a reply up to which Shapley values are exact (2^n scores), and pairs of orders drawn beyond.
EXACT_UP_TO, ORDERS = 10, 64


def worth(
    group: Sequence[Trajectory], estimator: str, gamma: float, judge: Judge | None = None, by_symbol: bool = True
) -> list[tuple[Place, np.ndarray]]:
    """Places and A_D [visits]. Unchanged visits have one too, except by execution: nothing done is worth 0."""
    places = places_of(group, by_symbol)
    if estimator in FROM_ROLLOUTS:
        return list(zip(places, _from_rollouts(group, places, estimator, gamma), strict=True))
    assert judge is not None
    return list(zip(places, _by_execution(group, places, estimator, judge), strict=True))


def _from_rollouts(
    group: Sequence[Trajectory], places: Sequence[Place], estimator: str, gamma: float
) -> Iterator[np.ndarray]:
    to_go = turn_returns(group, gamma)
    if estimator == "regression":
        for number in sorted({place.turn for place in places}):
            present = [member for member in range(len(group)) if number < len(to_go[member])]
            row = {member: k for k, member in enumerate(present)}
            designs = [
                (np.array([row[visit.member] for visit in own.visits]), np.array([v.variant for v in own.visits]))
                for own in places
                if own.turn == number
            ]
            yield from regression.advantages(designs, np.array([to_go[member][number] for member in present]))
        return
    for own in places:
        returns = np.array([to_go[visit.member][own.turn] for visit in own.visits])
        if estimator == "place":
            yield place.advantages(returns)
        else:
            yield marginal.advantages(np.array([visit.variant for visit in own.visits]), returns)


def _by_execution(
    group: Sequence[Trajectory], places: Sequence[Place], estimator: str, judge: Judge
) -> list[np.ndarray]:
    """The tests on forks of the workspace each reply acted on. What the budget does not reach is worth 0."""
    judge.begin()
    result = [np.zeros(len(own.visits)) for own in places]
    made: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for p, own in enumerate(places):
        for k, visit in enumerate(own.visits):
            if visit.hunks:
                made.setdefault((visit.member, own.turn), []).append((p, k))
    for member, trajectory in enumerate(group):
        files = dict(judge.base(trajectory.task_id))
        for number, turn in enumerate(trajectory.turns):
            changes = made.get((member, number), [])
            if changes:
                hunks = [places[p].visits[k].hunks for p, k in changes]
                try:
                    value = judge.value(trajectory.task_id, files, turn, hunks, _sets(len(changes), estimator))
                    values = _values(len(changes), value, estimator, seed=member)
                except Unknown:
                    values = np.zeros(len(changes))
                    judge.unknown += 1
                for (p, k), one in zip(changes, values.tolist(), strict=True):
                    result[p][k] = one
            files = apply(turn.diff, files)
    return result


def _sets(count: int, estimator: str) -> list[frozenset[int]]:
    """The sets of changes whose scores are needed, where they are known before the first is."""
    if estimator == "counterfactual":
        return counterfactual.sets(count)
    return shapley.sets(count) if count <= EXACT_UP_TO else []


def _values(count: int, value, estimator: str, seed: int) -> np.ndarray:
    if estimator == "counterfactual":
        return counterfactual.values(count, value)
    if count <= EXACT_UP_TO:
        return shapley.exact(count, value)
    return shapley.sampled(count, value, ORDERS, seed)
