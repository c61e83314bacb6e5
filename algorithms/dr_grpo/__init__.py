"""Dr. GRPO: GRPO without its two divisions."""

from algorithms.dr_grpo.algorithm import DrGrpo

ALGORITHM = DrGrpo

__all__ = ["ALGORITHM"]
