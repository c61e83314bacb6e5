"""Numbers to log of a step's trajectories and of an evaluation: pure functions, nothing that depends on the clock."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from algorithms.core.trajectory import Credit, Trajectory
from codegym.report import wilson


def of_trajectories(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Means over trajectories (``reward/*``, ``success/train``) and over turns (``response/*``, ``action/*``)."""
    turns = [turn for trajectory in trajectories for turn in trajectory.turns]
    terms: dict[str, float] = {}
    for turn in turns:
        for name, value in turn.reward_terms.items():
            terms[name] = terms.get(name, 0.0) + value
    return {
        "reward/mean": _mean(trajectory.episode_return for trajectory in trajectories),
        "success/train": _mean(float(trajectory.resolved) for trajectory in trajectories),
        "score/train": _mean(trajectory.score for trajectory in trajectories),
        "response/turns": len(turns) / max(len(trajectories), 1),
        "response/tokens": _mean(float(len(turn.response_ids)) for turn in turns),
        "response/truncated": _mean(float(turn.truncated) for turn in turns),
        "action/invalid": _mean(float(not turn.action_valid) for turn in turns),
        **{f"reward/{name}": total / max(len(trajectories), 1) for name, total in sorted(terms.items())},
    }


def of_credits(credits: Sequence[Credit]) -> dict[str, float]:
    """``advantage/*`` over sampled tokens, and each metric of the algorithm, averaged over the groups that have it."""
    tokens = [values for credit in credits for trajectory in credit.advantages for values in trajectory]
    advantages = np.concatenate(tokens).astype(np.float64) if tokens else np.zeros(1)
    names = sorted({name for credit in credits for name in credit.metrics})
    return {
        "advantage/mean": float(advantages.mean()),
        "advantage/std": float(advantages.std()),
        "advantage/zero": float((advantages == 0).mean()),
        "advantage/largest": float(np.abs(advantages).max(initial=0.0)),
        **{name: _mean(c.metrics[name] for c in credits if name in c.metrics) for name in names},
    }


def of_evaluation(mode: str, trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """``<mode>/success`` with its 95 % interval ``low`` and ``high``; infra errors are counted, not graded."""
    graded = [trajectory for trajectory in trajectories if trajectory.infra_error is None]
    solved = sum(trajectory.resolved for trajectory in graded)
    low, high = wilson(solved / max(len(graded), 1), len(graded))
    step = of_trajectories(graded)
    return {
        f"{mode}/success": solved / max(len(graded), 1),
        f"{mode}/low": low,
        f"{mode}/high": high,
        f"{mode}/tasks": len(graded),
        f"{mode}/infra_errors": len(trajectories) - len(graded),
        f"{mode}/score": step["score/train"],
        f"{mode}/reward": step["reward/mean"],
        f"{mode}/turns": step["response/turns"],
        f"{mode}/tokens": step["response/tokens"],
        f"{mode}/invalid": step["action/invalid"],
    }


def seconds(timing: Mapping[str, float]) -> dict[str, float]:
    """Timings to write: microseconds are enough."""
    return {name: round(value, 6) for name, value in timing.items()}


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found) if found else 0.0
