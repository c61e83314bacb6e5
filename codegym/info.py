"""The keys that ``info`` always has, after ``reset`` and after every ``step``."""

from __future__ import annotations

from typing import Any, TypedDict

from codegym.diff.model import Diff


class ActionInfo(TypedDict):
    """What the reply was read as. ``error`` is the message the agent saw, or None."""

    kind: str
    valid: bool
    error: str | None


class TestsInfo(TypedDict):
    """Tests after this turn: passed and total of the visible ones; ``hidden`` only when the episode has ended."""

    visible_passed: int | None
    visible_total: int
    hidden: dict[str, str] | None


class Info(TypedDict):
    """See docs/environment.md.

    ``state`` is a hash of the workspace after the turn; ``state_before`` of the workspace the reply acted on.
    ``patch`` is the cumulative unified diff against the task's base. ``stop_reason`` is None while the episode
    runs, then one of submitted | solved | max_turns | max_tokens | max_seconds | infra_error.
    ``resolved`` and ``score`` are the hidden tests' verdict, None until the episode has ended.
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
    resolved: bool | None
    score: float | None
    stop_reason: str | None
    infra_error: str | None
    timing: dict[str, float]
    extra: dict[str, Any]
