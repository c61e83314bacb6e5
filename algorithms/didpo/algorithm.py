"""DiDPO: beside the episode's advantage, the tokens that wrote a recurring change are compared with their like.

See docs/didpo.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algorithms.core.config import option
from algorithms.core.groups import episode_returns, sampled, spread, turn_returns, within
from algorithms.core.statistics import group_advantage, keep_group
from algorithms.core.trajectory import Anchor, Credit, Trajectory
from algorithms.didpo.anchors import Score, find_anchors
from algorithms.didpo.project import paint
from codegym.spans import Span


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
        "symbol", "symbol: equal text in another function is another change; path: only in another file"
    )
    std: bool = option(True, "divide the episode advantage by its standard deviation, as GRPO")
    diff_std: bool = option(False, "divide the diff advantage by the anchor group's standard deviation")

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
        ):
            if not holds:
                raise ValueError(f"algorithm.{key}={getattr(self, key)} {remedy}")


class Didpo:
    """DiDPO, diff-in-diff policy optimisation (2026), the published rule.

    A(i, t, k) = A_E(i) + lambda A_D(s covering token k). A_E is GRPO's. s is an occurrence of an anchor, a sub-diff
    that recurs across trajectories, and A_D(s) = R(i, t) - mean of R over the anchor's trajectories, R(i, t) being the
    return-to-go discounted by gamma. A trajectory in which the anchor occurs several times counts once, with the mean
    of its returns. Tokens in no anchor have A_D = 0.

    Bias: the baseline depends on the action. If all occurrences are identical and written in the same context, their
    A_D sums to zero and adds nothing in expectation; between variants of a change it moves weight towards those with
    the better rest of the trajectory.
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

    def __init__(self, config: DidpoConfig) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages [trajectory][turn] -> float32 [T], and the anchors. Raises ValueError for a NaN reward."""
        returns, kept = episode_returns(group), sampled(group)
        episode = group_advantage(returns, std=self.config.std, keep=kept)
        anchors, diff = self._diff_advantages(group)
        advantages = spread(group, lambda i, t: episode[i])
        for i, turns in enumerate(advantages):
            for t, tokens in enumerate(turns):
                tokens += (self.config.lam * diff[i][t]).astype(np.float32)
        touched = np.concatenate([turn for turns in diff for turn in turns]) if any(diff) else np.zeros(0)
        metrics = {
            "credit/equal_returns": float(not keep_group(returns[kept])),
            "credit/anchors": float(len(anchors)),
            "credit/anchor_size": float(np.mean([len(anchor.occurrences) for anchor in anchors])) if anchors else 0.0,
            "credit/diff_tokens": float(np.mean(touched != 0)) if touched.size else 0.0,
        }
        return Credit(advantages, metrics, anchors)

    def _diff_advantages(self, group: Sequence[Trajectory]) -> tuple[tuple[Anchor, ...], list[list[np.ndarray]]]:
        """The anchors with A_D, and A_D of every sampled token."""
        config = self.config
        to_go = turn_returns(group, config.gamma)
        score = Score(config.s0, config.g0, config.shape)
        found = find_anchors(group, eta=config.eta, limit=config.max_anchors, score=score, place=config.place)
        anchors: list[Anchor] = []
        pieces: list[list[list[tuple[Span, float]]]] = [[[] for _ in trajectory.turns] for trajectory in group]
        # Lowest score first: where two anchors claim a token, the higher paints over.
        for anchor in reversed(found):
            values = np.array([to_go[i][o.turn] for i, o in zip(anchor.positions, anchor.occurrences, strict=True)])
            advantages = within(values, np.array(anchor.positions), std=config.diff_std).tolist()
            for i, occurrence, value in zip(anchor.positions, anchor.occurrences, advantages, strict=True):
                pieces[i][occurrence.turn].append((occurrence.span, value))
            anchors.append(Anchor(anchor.id, anchor.score, anchor.lines, anchor.occurrences, tuple(advantages)))
        diff = [
            [
                paint(len(turn.response_ids), turn.token_ends, own)
                for turn, own in zip(trajectory.turns, mine, strict=True)
            ]
            for trajectory, mine in zip(group, pieces, strict=True)
        ]
        return tuple(reversed(anchors)), diff
