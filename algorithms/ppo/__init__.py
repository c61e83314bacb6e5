"""PPO with a critic and generalised advantage estimation."""

from algorithms.ppo.algorithm import Ppo

ALGORITHM = Ppo

__all__ = ["ALGORITHM"]
