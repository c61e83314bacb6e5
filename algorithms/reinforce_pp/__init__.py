"""REINFORCE++, and with ``algorithm.baseline=true`` its variant with a group baseline."""

from algorithms.reinforce_pp.algorithm import ReinforcePp

ALGORITHM = ReinforcePp

__all__ = ["ALGORITHM"]
