"""GRPO and, with ``algorithm.std=false``, Dr. GRPO."""

from algorithms.grpo.algorithm import Grpo as ALGORITHM

__all__ = ["ALGORITHM"]
