"""DAPO: GRPO with clip-higher, dynamic sampling, token-mean and overlong shaping."""

from algorithms.dapo.algorithm import Dapo

ALGORITHM = Dapo

__all__ = ["ALGORITHM"]
