"""RTMC: the trajectories of a task as a tree of shared states, with Monte-Carlo values."""

from algorithms.rtmc.algorithm import Rtmc

ALGORITHM = Rtmc

__all__ = ["ALGORITHM"]
