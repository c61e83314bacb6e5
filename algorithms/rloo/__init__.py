"""RLOO: REINFORCE, each trajectory against the mean of the others."""

from algorithms.rloo.algorithm import Rloo

ALGORITHM = Rloo

__all__ = ["ALGORITHM"]
