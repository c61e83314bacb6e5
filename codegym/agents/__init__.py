"""Agents: anything that reads an observation and answers with a reply.

An agent is a callable ``agent(observation: str, info: dict) -> str``, or an object that also has ``reset(info)``,
called at the start of each episode. ``info`` is the environment's (docs/environment.md). Provided here::

    RandomAgent()                       samples the action space; the floor of every benchmark
    GoldAgent(env.unwrapped.benchmark)  writes the reference solution; checks that a benchmark can be solved
"""

from __future__ import annotations

from typing import Any, Protocol

from codegym.agents.gold import GoldAgent as GoldAgent
from codegym.agents.random import RandomAgent as RandomAgent


class Agent(Protocol):
    """What :func:`codegym.evaluate.evaluate` calls; ``reset`` is optional and marks an agent that keeps state."""

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        """The reply to an observation."""
        ...
