"""Environments with equal options share a benchmark; the last one to be closed closes it."""

from __future__ import annotations

import gymnasium as gym
import pytest

import codegym
from benchmarks.base import Benchmark
from codegym import sharing

TINY = {"level": "tiny", "functions": 2, "n_bugs": 1}


def benchmark_of(env: gym.Env) -> Benchmark:
    return env.unwrapped.benchmark  # type: ignore[attr-defined]


def test_equal_options_share_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert codegym
    first, second = (gym.make("codegym/Repair-v0", **TINY) for _ in range(2))
    other = gym.make("codegym/Repair-v0", **{**TINY, "n_bugs": 2})
    shared = benchmark_of(first)
    closed: list[int] = []
    monkeypatch.setattr(shared, "close", lambda: closed.append(1))
    assert benchmark_of(second) is shared
    assert benchmark_of(other) is not shared
    first.close()
    first.close()
    assert closed == []
    second.close()
    assert closed == [1]
    other.close()
    again = gym.make("codegym/Repair-v0", **TINY)
    assert benchmark_of(again) is not shared
    again.close()


def test_two_environments_keep_their_episodes_apart() -> None:
    first, second = (gym.make("codegym/Repair-v0", max_turns=2, **TINY) for _ in range(2))
    first.reset(seed=0)
    before, _ = second.reset(seed=0)
    first.step("<submit/>")
    _, info = second.reset(seed=0)
    assert info["turn"] == 0
    assert second.reset(seed=0)[0] == before
    first.close()
    assert second.step("<submit/>")[4]["stop_reason"] == "submitted"
    second.close()


def test_a_failed_load_leaves_nothing() -> None:
    with pytest.raises(ValueError, match="level"):
        sharing.lease("repair", {"level": "none"})
    assert all("none" not in str(key) for key in sharing._LEASED)
