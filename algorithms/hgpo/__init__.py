"""HGPO: step groups by state and by ever longer common history."""

from algorithms.hgpo.algorithm import Hgpo

ALGORITHM = Hgpo

__all__ = ["ALGORITHM"]
