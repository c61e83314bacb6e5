"""What the trainer does to a step's groups before credit: overlong replies, KL in the reward, a critic's values.

::

    groups = without_overlong(groups)                 # rollout.overlong_filter
    punish_overlong(groups, config.rollout)           # rollout.overlong_share
    set_penalties_and_values(groups, rows, config)    # loss.kl_in=reward, critic.enabled

Penalties are kept apart from the environment's rewards, which metrics and the run folder show as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch

from algorithms.core import kl
from algorithms.core.batch import Row, rows_of, tokens_of
from algorithms.core.config import Config, RolloutConfig
from algorithms.core.statistics import overlong_penalty
from algorithms.core.trajectory import Trajectory, Turn

Group = list[Trajectory]


def is_overlong(trajectory: Trajectory) -> bool:
    """Whether a length limit ended the episode: its last reply was cut, or its prompt outgrew max_prompt_tokens."""
    return trajectory.stop_reason == "max_prompt_tokens" or (bool(trajectory.turns) and trajectory.turns[-1].truncated)


def without_overlong(groups: Iterable[Group]) -> list[Group]:
    """The groups without overlong trajectories, so that these are no part of a baseline either; groups of which fewer
    than two trajectories are left are gone (DAPO, arXiv 2503.14476, section 3.4, masks their loss)."""
    left = ([trajectory for trajectory in group if not is_overlong(trajectory)] for group in groups)
    return [group for group in left if len(group) >= 2]


def punish_overlong(groups: Sequence[Group], rollout: RolloutConfig) -> float:
    """Take DAPO's soft punishment (eq. 13) off the last token of every reply that comes near ``max_response_tokens``;
    the mean per trajectory. A turn is what the equation calls a response."""
    limit = rollout.max_response_tokens
    cache = max(1, round(rollout.overlong_share * limit))
    total = 0.0
    for turn in _turns(groups):
        length = len(turn.response_ids)
        penalty = -float(overlong_penalty(np.array([length]), limit, cache)[0])
        if length and penalty:
            penalties = np.zeros(length, dtype=np.float32)
            penalties[-1] = penalty
            _add(turn, penalties)
            total += penalty
    return total / max(sum(map(len, groups)), 1)


def uncredited_rows(groups: Sequence[Group]) -> list[Row]:
    """The rows of all groups with advantages of 0, in the order of the credited ones."""
    return [
        row
        for group in groups
        for trajectory in group
        for row in rows_of(trajectory, [np.zeros(len(turn.response_ids)) for turn in trajectory.turns])
        if row.mask.any()
    ]


def set_penalties_and_values(groups: Sequence[Group], rows: Sequence[Row], config: Config) -> dict[str, float]:
    """Give the turns what the rows know: ``kl_coef`` times the KL of each token as a penalty, the critic's values.

    The KL is that of the policy before the step; its estimates are k1, k2 or k3. Returns metrics.
    """
    metrics: dict[str, float] = {}
    if config.loss.kl_coef and config.loss.kl_in == "reward":
        old, reference = (torch.from_numpy(tokens_of(rows, f"{name}_logprobs")) for name in ("old", "ref"))
        found = kl.estimate(old, reference, config.loss.kl_type).numpy()
        for turn, own in _split(groups, config.loss.kl_coef * found):
            _add(turn, own)
        metrics["reward/kl"] = float(found.mean())
    if config.critic.enabled:
        for turn, own in _split(groups, tokens_of(rows, "values")):
            turn.values = own
    return metrics


def _add(turn: Turn, penalties: np.ndarray) -> None:
    turn.penalties = penalties if turn.penalties is None else turn.penalties + penalties


def _turns(groups: Sequence[Group]) -> Iterator[Turn]:
    return (turn for group in groups for trajectory in group for turn in trajectory.turns)


def _split(groups: Sequence[Group], values: np.ndarray) -> Iterator[tuple[Turn, np.ndarray]]:
    turns = list(_turns(groups))
    ends = np.cumsum([len(turn.response_ids) for turn in turns])
    return zip(turns, np.split(values, ends[:-1]), strict=True)
