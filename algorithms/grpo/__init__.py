"""GRPO and, with ``algorithm.std=false``, Dr. GRPO."""

from algorithms.grpo.algorithm import Grpo

ALGORITHM = Grpo

__all__ = ["ALGORITHM"]
