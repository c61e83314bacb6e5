"""Environments side by side: a worker owns some, and steps several at once.

A worker is a plain class; in one process there is one with ``env.workers`` threads, with Ray there are ``env.workers``
actors with one thread each. Environments are made when first needed and used again; the first at once, so that a wrong
setting ends the run before it leaves anything.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from algorithms.core.config import EnvConfig
from codegym.info import Info
from sandbox.base import SandboxError


@dataclass
class Event:
    """What came of a reset (reward 0) or a step. ``info`` is None exactly if the machine failed: ``infra_error``."""

    observation: str
    reward: float
    done: bool
    info: Info | None
    infra_error: str | None = None


class EnvWorker:
    """Some environments, by slot number."""

    def __init__(self, config: EnvConfig, threads: int) -> None:
        importlib.import_module("codegym")
        self._config = config
        self._envs: dict[tuple[int, str], gym.Env[Any, Any]] = {}
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="environment")
        self._env(0, "train")

    def reset(self, jobs: Sequence[tuple[int, str, dict[str, Any]]]) -> list[Event]:
        """Begin episodes: (slot, split, arguments of ``reset`` that say which task of the split it is) each."""
        return list(self._pool.map(lambda job: self._reset(*job), jobs))

    def step(self, jobs: Sequence[tuple[int, str, str]]) -> list[Event]:
        """Give replies: (slot, split, reply) each."""
        return list(self._pool.map(lambda job: self._step(*job), jobs))

    def _reset(self, slot: int, split: str, which: dict[str, Any]) -> Event:
        env = self._env(slot, split)

        def begin() -> Event:
            observation, info = env.reset(**which)
            return _event(observation, 0.0, False, info)

        try:
            return self._guard(begin)
        except IndexError as error:
            raise ValueError(f"trainer.eval_tasks is more than there are: {error}; lower it") from None

    def _env(self, slot: int, split: str) -> gym.Env[Any, Any]:
        if (slot, split) not in self._envs:
            options = {"split": split, **self._config.kwargs}
            try:
                self._envs[slot, split] = gym.make(self._config.id, disable_env_checker=True, **options)
            except gym.error.UnregisteredEnv as error:
                raise ValueError(f"env.id={self._config.id}: {error} gymnasium.pprint_registry() lists them") from None
        return self._envs[slot, split]

    def _step(self, slot: int, split: str, reply: str) -> Event:
        def act() -> Event:
            observation, reward, terminated, truncated, info = self._envs[slot, split].step(reply)
            return _event(observation, float(reward), terminated or truncated, info)

        return self._guard(act)

    def _guard(self, call: Callable[[], Event]) -> Event:
        """A failing machine costs an episode; no sandbox at all, or a wrong setting, ends the run."""
        try:
            return call()
        except (OSError, SandboxError) as error:
            return Event("", 0.0, True, None, f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Close all environments. May be called twice."""
        self._pool.shutdown()
        while self._envs:
            self._envs.popitem()[1].close()


def _event(observation: str, reward: float, done: bool, info: Any) -> Event:
    if info["infra_error"] is not None:
        return Event(observation, 0.0, True, None, info["infra_error"])
    return Event(observation, reward, done, info)
