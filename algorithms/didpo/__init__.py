"""DiDPO: credit for the diffs that recur across trajectories."""

from algorithms.didpo.algorithm import Didpo

ALGORITHM = Didpo

__all__ = ["ALGORITHM"]
