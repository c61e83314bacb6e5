"""Trajectories as algorithms see them, and the credit they give back.

An algorithm is one class::

    class Grpo:
        def credit(self, group: Sequence[Trajectory]) -> Credit: ...

``group`` holds the G trajectories of one task, infra errors already taken out. The credit has one array per
turn with one advantage per *sampled token* of that turn's response.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from codegym.diff.model import Diff
from codegym.spans import Span


@dataclass
class Turn:
    """One reply and what came of it.

    Attributes:
        prompt_ids: int64 [P], the whole prompt the engine was given for this turn.
        response_ids: int64 [T], the ids sampled (the end-of-turn token included if it was sampled).
        logprobs: float32 [T], the engine's log-probabilities at the sampling temperature.
        token_ends: int64 [T], byte offset in ``reply`` at which each token's bytes end
            (cumulative byte lengths of the sampled ids; special tokens have length 0).
        reply: the response as bytes.
        observation: what the agent read before replying.
        reward: the environment's reward for this turn; ``reward_terms`` are its parts.
        state_before: hash of the workspace the reply acted on.
        diff: what the reply changed, with source spans in ``reply``.
        truncated: the response was cut by the token limit.
        penalties: float32 [T], what the trainer takes off the reward, token by token: the KL in the reward, the
            punishment of overlong replies. None: nothing.
        values: float32 [T], the critic's value before each token, for algorithms with a critic.
    """

    prompt_ids: np.ndarray
    response_ids: np.ndarray
    logprobs: np.ndarray
    token_ends: np.ndarray
    reply: bytes
    observation: str
    reward: float
    state_before: str
    diff: Diff
    action_valid: bool = True
    truncated: bool = False
    reward_terms: dict[str, float] = field(default_factory=dict)
    penalties: np.ndarray | None = None
    values: np.ndarray | None = None

    @property
    def net_reward(self) -> float:
        """The reward less the penalties: what algorithms learn from."""
        return self.reward - (0.0 if self.penalties is None else math.fsum(self.penalties.tolist()))


@dataclass
class Trajectory:
    """One episode of one task. ``member`` numbers it in its group; ``(task_id, member)`` is its stable id."""

    task_id: str
    member: int
    turns: list[Turn]
    resolved: bool = False
    score: float = 0.0
    stop_reason: str = ""
    infra_error: str | None = None

    @property
    def tokens(self) -> int:
        """How many tokens the policy sampled."""
        return sum(len(turn.response_ids) for turn in self.turns)

    @property
    def episode_return(self) -> float:
        """The undiscounted sum of the environment's rewards; :func:`algorithms.core.groups.episode_returns` is R(i)."""
        return float(sum(turn.reward for turn in self.turns))


@dataclass(frozen=True)
class Occurrence:
    """Where one trajectory wrote an anchor: member, turn index, byte range of that turn's reply."""

    member: int
    turn: int
    span: Span


@dataclass(frozen=True)
class Anchor:
    """A sub-diff that recurs across trajectories: a stable id, its score, where it occurs, its advantage there."""

    id: str
    score: float
    lines: float
    occurrences: tuple[Occurrence, ...]
    advantages: tuple[float, ...]


@dataclass
class Credit:
    """What an algorithm gives back for a group.

    Attributes:
        advantages: [trajectory][turn] -> float32 [T], one value per sampled token.
        metrics: numbers to log (averaged over groups by the trainer).
        anchors: for algorithms that find them; shown by the report.
        returns: [trajectory][turn] -> float32 [T], what a critic learns to foresee at each token.
    """

    advantages: list[list[np.ndarray]]
    metrics: dict[str, float] = field(default_factory=dict)
    anchors: tuple[Anchor, ...] = ()
    returns: list[list[np.ndarray]] | None = None


class Algorithm(Protocol):
    """What the trainer needs of an algorithm.

    Attributes:
        name: as in ``runs/<name>-seed0``.
        Config: its own dataclass, filled from ``algorithm.*``.
        loss_defaults: values for ``loss.*`` that the method prescribes.

    These may be left out:
        defaults: values for other sections, e.g. ``{"rollout": {"dynamic_sampling": False}}``.
        critic: True if turns need ``values``; with ``defaults = {"critic": {"enabled": True}}``.
        credit_step(groups): the credits of all groups of a step, called instead of ``credit`` by a method that
            compares trajectories across tasks.
        prepare(config): called once before a run with the whole configuration; raises ValueError, in one line, for what
            the method cannot work with.
    """

    name: str
    Config: type
    loss_defaults: dict[str, Any]

    def __init__(self, config: Any) -> None: ...

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        """Advantages of the tokens of one group's trajectories."""
        ...
