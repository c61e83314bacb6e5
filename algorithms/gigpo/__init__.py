"""GiGPO: groups of equal states inside the group of trajectories."""

from algorithms.gigpo.algorithm import Gigpo

ALGORITHM = Gigpo

__all__ = ["ALGORITHM"]
