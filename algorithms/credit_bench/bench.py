"""The bench itself: cases from tasks and policies, every method's credit for them, figures per group size."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.core.cli import load_algorithm
from algorithms.core.groups import credits, episode_returns
from algorithms.core.statistics import keep_group
from algorithms.core.trajectory import Credit, Trajectory
from algorithms.credit_bench import gradient, measure, truth
from algorithms.credit_bench.policies import trajectory
from algorithms.didpo.judge import Judge
from benchmarks.base import Task

REWARDS = ("fractional", "all-or-nothing")
#: Methods with credit of their own on one turn. That of dapo, gspo and cispo is grpo's: they differ in the loss.
METHODS: dict[str, tuple[str, dict]] = {
    "grpo": ("grpo", {}),
    "dr_grpo": ("dr_grpo", {}),
    "rloo": ("rloo", {}),
    "reinforce_pp": ("reinforce_pp", {}),
    "ppo": ("ppo", {}),
    "gigpo": ("gigpo", {}),
    "hgpo": ("hgpo", {}),
    "rtmc": ("rtmc", {}),
    "didpo within (published)": ("didpo", {"estimator": "within"}),
    "didpo within, equal only": ("didpo", {"estimator": "within", "eta": 1.0}),
    "didpo place": ("didpo", {"estimator": "place"}),
    "didpo marginal": ("didpo", {"estimator": "marginal"}),
    "didpo marginal + A_E": ("didpo", {"estimator": "marginal", "content": "sum"}),
    "didpo regression": ("didpo", {"estimator": "regression", "content": "diff"}),
    "didpo regression, centred": ("didpo", {"estimator": "regression", "content": "diff", "center": True}),
    "didpo regression + A_E": ("didpo", {"estimator": "regression", "content": "sum"}),
    "didpo regression of regions": ("didpo", {"estimator": "regression", "content": "diff", "place": "path"}),
    "didpo counterfactual": ("didpo", {"estimator": "counterfactual"}),
    "didpo shapley": ("didpo", {"estimator": "shapley"}),
    "didpo shapley of regions": ("didpo", {"estimator": "shapley", "place": "path"}),
}


@dataclass(frozen=True)
class Row:
    """One method on one kind of group.

    Attributes:
        groups: that were counted; those whose returns are all equal are left out, as in training.
        solved: share of the trajectories that solve their task.
        auc: chance that a change of positive worth has more credit than another; ``spearman``: rank correlation with
            the worth; ``wasted``: share of \\|credit\\| on changes without effect.
        seconds: CPU time of the credit, per group.
    """

    method: str
    policy: str
    reward: str
    size: int
    groups: int
    changes: int
    solved: float
    auc: float
    spearman: float
    wasted: float
    seconds: float


def make(method: str, judge: Judge | None = None) -> Callable[[Sequence[list[Trajectory]]], list[Credit]]:
    """The credit of groups by a method of :data:`METHODS`. Raises ValueError for another name."""
    if method not in METHODS:
        raise ValueError(f"no method named {method!r}; there are: {'; '.join(METHODS)}")
    name, options = METHODS[method]
    cls = load_algorithm(name)
    algorithm = cls(cls.Config(**options))
    if judge is not None and name == "didpo":
        algorithm.judge = judge  # type: ignore[attr-defined]
    if getattr(cls, "critic", False):
        return lambda groups: credits(algorithm, _foreseen(groups))
    return lambda groups: credits(algorithm, groups)


def _foreseen(groups: Sequence[list[Trajectory]]) -> Sequence[list[Trajectory]]:
    """The groups, their turns with the values of a critic that knows every task and has not learned to read replies:
    at each token the mean return of all the task's trajectories. A critic that reads would know more, how much more
    depends on how it was trained."""
    returns: dict[str, list[float]] = {}
    for own in (own for group in groups for own in group):
        returns.setdefault(own.task_id, []).append(own.episode_return)
    for own in (own for group in groups for own in group):
        for turn in own.turns:
            turn.values = np.full(len(turn.response_ids), np.mean(returns[own.task_id]), dtype=np.float32)
    return groups


def scripted_cases(
    tasks: Iterable[Task], judge: Judge, replies: Callable[[Task], Sequence[str]], by_symbol: bool = True
) -> Iterator[truth.Case]:
    """Per task one case of the trajectories of these replies, its truth known; see :func:`truth.case`."""
    for task in tasks:
        made: dict[str, Trajectory] = {}
        group = []
        for member, reply in enumerate(replies(task)):
            if reply not in made:
                made[reply] = trajectory(task, reply, 0)
            turn = made[reply].turns[0]
            group.append(Trajectory(task.id, member, [type(turn)(**vars(turn))]))
        truth.score(judge, group)
        yield truth.case(judge, group, by_symbol)


def split(cases: Sequence[truth.Case], size: int) -> list[truth.Case]:
    """Groups of ``size`` from cases of many trajectories; what is left over is not used."""
    return [
        truth.Case(one.group[at : at + size], one.spans[at : at + size], one.values[at : at + size])
        for one in cases
        for at in range(0, len(one.group) - size + 1, size)
    ]


def rows(
    cases: Sequence[truth.Case], policy: str, sizes: Sequence[int], methods: Sequence[str], judge: Judge
) -> Iterator[Row]:
    """The figures of every method, reward and group size."""
    solved = float(np.mean([own.resolved for one in cases for own in one.group]))
    for reward in REWARDS:
        truth.reward([one.group for one in cases], reward)
        for size in sizes:
            groups = [one for one in split(cases, size) if keep_group(episode_returns(one.group))]
            if not groups:
                continue
            worth = np.concatenate([values for one in groups for values in one.values])
            for method in methods:
                credit = make(method, judge)
                began = time.process_time()
                found = credit([one.group for one in groups])
                seconds = (time.process_time() - began) / len(groups)
                given = np.concatenate(
                    [truth.credit_of_changes(one, own.advantages) for one, own in zip(groups, found, strict=True)]
                )
                yield Row(
                    method, policy, reward, size, len(groups), len(worth), solved,
                    measure.auc(given, worth > truth.NO_EFFECT), measure.spearman(given, worth),
                    measure.wasted(given, worth, truth.NO_EFFECT), seconds,
                )  # fmt: skip


@dataclass(frozen=True)
class Gradient:
    """Bias and noise of one method's gradient, of groups of one size on the enumerable policy."""

    method: str
    reward: str
    size: int
    estimate: gradient.Estimate


def gradients(methods: Sequence[str], sizes: Sequence[int], groups: int = 400) -> Iterator[Gradient]:
    """``groups`` groups of 8, and of other sizes as many as have the same number of trajectories."""
    for method in methods:
        credit = make(method, gradient.judge())
        for reward in REWARDS:
            for size in sizes:
                found = gradient.estimate(
                    lambda own, c=credit: [one.advantages for one in c(own)],  # type: ignore[misc]
                    size,
                    max(2, groups * 8 // size),
                    reward=reward,
                )
                yield Gradient(method, reward, size, found)
