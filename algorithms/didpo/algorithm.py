"""DiDPO: beside the episode's advantage, the tokens that wrote a change get what the change is worth.

See docs/didpo.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.core.config import Config as RunConfig
from algorithms.core.config import option
from algorithms.core.groups import episode_returns, spread, turn_returns, within
from algorithms.core.statistics import all_equal, center, group_advantage, keep_group
from algorithms.core.trajectory import Anchor, Credit, Occurrence, Trajectory
from algorithms.didpo.anchors import Score, find_anchors
from algorithms.didpo.judge import DEFAULT_JUDGE, Judge, environment_judge, judge_of_run
from algorithms.didpo.project import paint
from algorithms.didpo.worth import BY_EXECUTION, ESTIMATORS, FROM_ROLLOUTS, worth
from codegym.spans import Span

_Pieces = list[list[list[tuple[Span, float]]]]  # [trajectory][turn], spans of the reply with A_D


#: Estimators whose A_D is added to A_E where content is auto: as published, and as it learned best (docs/study.md).
SUMMED = ("within", "regression")
#: Options that some estimators alone read.
USED_BY = {
    "gamma": ("within", *FROM_ROLLOUTS),
    **dict.fromkeys(("eta", "max_anchors", "diff_std"), ("within",)),
    "center": ("regression", *BY_EXECUTION),
    **dict.fromkeys(("judge", "judge_budget"), BY_EXECUTION),
}


@dataclass
class DidpoConfig:
    """Options of DiDPO."""

    gamma: float = option(0.95, "discount per turn of the return-to-go (published)")
    lam: float = option(1.0, "lambda, the weight of the diff advantage beside the episode's (published)")
    eta: float = option(0.8, "similarity from which two sub-diffs are one (published); 1 takes equal ones only")
    max_anchors: int = option(64, "K, the most anchors of a task (published)")
    s0: float = option(8.0, "lines at which the groupability score saturates (published)")
    g0: float = option(8.0, "trajectories at which it saturates (published)")
    shape: str = option("exp", "of the groupability score: exp (published), log or linear")
    place: str = option(
        "symbol",
        "within: equal text is another change in another function (symbol) or only in another file (path);"
        " the others: a place is a definition (symbol) or a region of the file (path)",
    )
    std: bool = option(True, "divide the episode advantage by its standard deviation, as GRPO")
    diff_std: bool = option(False, "within: divide the diff advantage by the anchor group's standard deviation")
    estimator: str = option(
        "regression",
        "what a change is worth: within (published), place, marginal, regression, counterfactual or shapley",
    )
    content: str = option(
        "auto",
        "tokens that write content get diff (A_D alone) or sum (A_E + lambda A_D); auto: sum for within and regression,"
        " else diff",
    )
    center: bool = option(
        False,
        "regression, counterfactual, shapley: less the mean of the place's trajectories, as place and marginal are;"
        " else the gain against leaving the place alone",
    )
    judge: str = option(
        DEFAULT_JUDGE,
        "counterfactual, shapley: the environment whose hidden tests are run; this default stands for env.id and"
        " env.kwargs, another must know the same tasks",
    )
    judge_budget: int = option(4096, "counterfactual, shapley: most workspaces executed per group; then changes get 0")

    def __post_init__(self) -> None:
        for key, holds, remedy in (
            ("gamma", 0 <= self.gamma <= 1, "must be in 0..1"),
            ("lam", 0 <= self.lam < math.inf, "must be a number >= 0"),
            ("eta", 0 < self.eta <= 1, "must be above 0 and at most 1"),
            ("max_anchors", self.max_anchors >= 0, "must be >= 0"),
            ("s0", self.s0 > 0, "must be > 0"),
            ("g0", self.g0 > 0, "must be > 0"),
            ("shape", self.shape in ("exp", "log", "linear"), "is unknown; there are: exp, log, linear"),
            ("place", self.place in ("symbol", "path"), "is unknown; there are: symbol, path"),
            ("estimator", self.estimator in ESTIMATORS, f"is unknown; there are: {', '.join(ESTIMATORS)}"),
            ("content", self.content in ("auto", "diff", "sum"), "is unknown; there are: auto, diff, sum"),
            ("judge_budget", self.judge_budget >= 0, "must be >= 0"),
        ):
            if not holds:
                raise ValueError(f"algorithm.{key}={getattr(self, key)} {remedy}")
        for key, used_by in USED_BY.items():
            if self.estimator not in used_by and getattr(self, key) != getattr(DidpoConfig, key):
                raise ValueError(
                    f"algorithm.{key}={getattr(self, key)} does nothing with algorithm.estimator={self.estimator};"
                    f" it is for {', '.join(used_by)}"
                )


class Didpo:
    """DiDPO, diff-in-diff policy optimisation (2026): A(i, t, k) = A_E(i) + lambda A_D(the change that token k writes).

    A_E is GRPO's. A_D is by default that of ``regression``; it and its like (:mod:`algorithms.didpo.estimators`) ask
    what a *place* gained from what was written there. Tokens that write content get lambda A_D, beside A_E or alone
    (``content``), with ``std`` in units of a standard deviation, as A_E is: that of the returns, or by execution that
    of what the trajectories' changes gained. All others have A_E, those that name a place among them: that a place is
    left alone shows in the name of the next. A deletion writes nothing; the tokens that name what goes are its content.

    Published (``estimator=within``): the change is an occurrence s of an anchor, a sub-diff that recurs across
    trajectories, and A_D(s) = R(i, t) - mean of R over the anchor's trajectories, R(i, t) being the return-to-go
    discounted by gamma. A trajectory in which the anchor occurs several times counts once, with the mean of its
    returns. Tokens in no anchor have A_D = 0.

    Bias of the published rule: the baseline depends on the action. If all occurrences are identical and written in the
    same context, their A_D sums to zero and adds nothing in expectation; between variants of a change it moves weight
    towards those with the better rest of the trajectory. The others name theirs where they are.

    Args:
        config: the options.
        judge: scores workspaces for counterfactual and shapley; by default the tests of the run's environment or, where
            there is no run, of ``config.judge``.
    """

    name = "didpo"
    Config = DidpoConfig
    loss_defaults: dict[str, Any] = {
        # All as published.
        "agg_mode": "token-mean",
        "clip_ratio_low": 0.2,
        "clip_ratio_high": 0.2,
        "clip_ratio_c": 3.0,
        "kl_coef": 0.01,
        "kl_type": "k3",  # "low variance"
        "entropy_coef": 0.001,
    }

    def __init__(self, config: DidpoConfig, judge: Judge | None = None) -> None:
        self.config, self.judge = config, judge

    def prepare(self, config: RunConfig) -> None:
        """Open the judge of a run. Raises ValueError if it cannot judge the run's tasks."""
        if self.config.estimator in BY_EXECUTION and self.judge is None:
            self.judge = judge_of_run(self.config.judge, self.config.judge_budget, config.env)

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T], and the anchors. Raises ValueError for a NaN reward."""
        returns = episode_returns(group)
        episode = group_advantage(returns, std=self.config.std)
        summed = self.config.content == "sum" or (self.config.content == "auto" and self.config.estimator in SUMMED)
        if self.config.estimator == "within":
            anchors, pieces = self._anchors(group)
            unit = 1.0
        else:
            anchors, pieces, gained = self._places(group)
            # Executions say what tests say, and rewards may pay something else: each is measured by its own spread.
            spread_of = gained if self.config.estimator in BY_EXECUTION else returns
            unit = _deviation(spread_of) if self.config.std else 1.0
        advantages = spread(group, lambda i, t: episode[i])
        diff: list[list[np.ndarray]] = []
        for i, turns in enumerate(advantages):
            diff.append([])
            for t, tokens in enumerate(turns):
                ends = group[i].turns[t].token_ends
                own = paint(len(tokens), ends, pieces[i][t])
                if not summed:
                    tokens[paint(len(tokens), ends, [(span, 1.0) for span, _ in pieces[i][t]]) > 0] = 0
                tokens += (self.config.lam / unit * own).astype(np.float32)
                diff[i].append(own)
        touched = np.concatenate([turn for turns in diff for turn in turns]) if any(diff) else np.zeros(0)
        metrics = {
            "credit/equal_returns": float(not keep_group(returns)),
            "credit/anchors": float(len(anchors)),
            "credit/anchor_size": float(np.mean([len(anchor.occurrences) for anchor in anchors])) if anchors else 0.0,
            "credit/diff_tokens": float(np.mean(touched != 0)) if touched.size else 0.0,
        }
        if self.config.estimator in BY_EXECUTION and self.judge is not None:
            metrics["credit/unknown"] = self.judge.unknown / len(group)
        return Credit(advantages, metrics, anchors)

    def _anchors(self, group: Sequence[Trajectory]) -> tuple[tuple[Anchor, ...], _Pieces]:
        """The published rule: anchors with A_D, and per turn the spans that have one, the weightiest last."""
        config = self.config
        to_go = turn_returns(group, config.gamma)
        score = Score(config.s0, config.g0, config.shape)
        found = find_anchors(group, eta=config.eta, limit=config.max_anchors, score=score, place=config.place)
        anchors: list[Anchor] = []
        pieces: _Pieces = [[[] for _ in trajectory.turns] for trajectory in group]
        # Lowest score first: where two anchors claim a token, the higher paints over.
        for anchor in reversed(found):
            values = np.array([to_go[i][o.turn] for i, o in zip(anchor.positions, anchor.occurrences, strict=True)])
            advantages = within(values, np.array(anchor.positions), std=config.diff_std).tolist()
            for i, occurrence, value in zip(anchor.positions, anchor.occurrences, advantages, strict=True):
                pieces[i][occurrence.turn].append((occurrence.span, value))
            anchors.append(Anchor(anchor.id, anchor.score, anchor.lines, anchor.occurrences, tuple(advantages)))
        return tuple(reversed(anchors)), pieces

    def _places(self, group: Sequence[Trajectory]) -> tuple[tuple[Anchor, ...], _Pieces, np.ndarray]:
        """The other estimators: places as anchors whose members are variants, the spans that write them, and the sum of
        each trajectory's A_D [G] before centring."""
        if self.config.estimator in BY_EXECUTION and self.judge is None:
            self.judge = environment_judge(self.config.judge, self.config.judge_budget)
        score = Score(self.config.s0, self.config.g0, self.config.shape)
        anchors: list[Anchor] = []
        pieces: _Pieces = [[[] for _ in trajectory.turns] for trajectory in group]
        gained = np.zeros(len(group))
        by_symbol = self.config.place == "symbol"
        for place, values in worth(group, self.config.estimator, self.config.gamma, self.judge, by_symbol):
            np.add.at(gained, [visit.member for visit in place.visits], values)
            if self.config.center:
                values = center(values)
            occurrences, advantages, lines = [], [], 0
            for visit, value in zip(place.visits, values.tolist(), strict=True):
                pieces[visit.member][place.turn] += [(span, value) for span in visit.spans]
                occurrences += [Occurrence(group[visit.member].member, place.turn, span) for span in visit.spans]
                advantages += [value] * len(visit.spans)
                lines += sum(max(1, len(hunk.text.splitlines())) for _, hunk in visit.hunks)
            changed = sum(bool(visit.hunks) for visit in place.visits)
            name = hashlib.blake2b(repr((place.turn, place.key)).encode(), digest_size=8).hexdigest()
            size = score(lines / changed, len(place.visits))
            anchors.append(Anchor(name, size, lines / changed, tuple(occurrences), tuple(advantages)))
        return tuple(sorted(anchors, key=lambda anchor: -anchor.score)), pieces, gained


def _deviation(values: np.ndarray) -> float:
    """The values' standard deviation (ddof=1), 1 if they are all equal."""
    return 1.0 if all_equal(values) else float(np.std(values, ddof=1))
