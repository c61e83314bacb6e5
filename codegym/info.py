"""The keys that ``info`` always has, after ``reset`` and after every ``step``.

A number or a dict keeps its type in every turn, because Gymnasium's vector environments batch the values of a key
into one array: a None among numbers would become NaN, 0 or an error there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

from codegym.diff.model import Diff


class Timing(Mapping[str, float]):
    """Seconds of wall time spent on each part of a turn: ``diff``, ``tests``, ``sandbox``.

    Equal to any other with the same parts: how long a turn took is no part of what happened in it, and two runs of
    one episode must compare equal.
    """

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self._seconds = dict(seconds)

    def __getitem__(self, part: str) -> float:
        return self._seconds[part]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seconds)

    def __len__(self) -> int:
        return len(self._seconds)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timing) and self.keys() == other.keys()

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __repr__(self) -> str:
        return f"Timing({self._seconds})"


class ActionInfo(TypedDict):
    """What the reply was read as: edit | shell | submit | invalid, and ``reset`` before the first reply.

    ``valid`` is false too where an edit was refused. ``error`` is the message the agent saw, or None.
    """

    kind: str
    valid: bool
    error: str | None


class TestsInfo(TypedDict):
    """Tests after this turn.

    ``visible_passed`` of ``visible_total`` pass; -1 where the workspace of this turn was not tested (see ``feedback``).
    ``hidden``: id -> verdict when the episode has ended, empty before.
    """

    visible_passed: int
    visible_total: int
    hidden: dict[str, str]


class Info(TypedDict):
    """See docs/environment.md.

    ``state`` is a hash of the workspace after the turn; ``state_before`` of the workspace the reply acted on.
    ``patch`` is the cumulative unified diff against the task's base. ``stop_reason`` is None while the episode
    runs, then one of submitted | solved | max_turns | max_seconds | infra_error.
    ``resolved`` and ``score`` are the hidden tests' verdict once ``stop_reason`` is set, False and 0.0 before; after an
    infra error they say nothing, and the episode must be left out. ``reward_terms`` sum to the reward.
    """

    task_id: str
    turn: int
    action: ActionInfo
    diff: Diff
    patch: str
    state: str
    state_before: str
    tests: TestsInfo
    reward_terms: dict[str, float]
    resolved: bool
    score: float
    stop_reason: str | None
    infra_error: str | None
    timing: Timing
    extra: dict[str, Any]
