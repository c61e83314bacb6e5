"""CISPO: the importance ratio is clipped as a weight, so every token keeps its gradient."""

from algorithms.cispo.algorithm import Cispo

ALGORITHM = Cispo

__all__ = ["ALGORITHM"]
