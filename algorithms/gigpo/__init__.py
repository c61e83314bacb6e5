"""GiGPO: groups of equal states inside the group of trajectories."""

from algorithms.gigpo.algorithm import Gigpo as ALGORITHM

__all__ = ["ALGORITHM"]
