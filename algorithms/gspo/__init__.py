"""GSPO: the importance ratio and its clip are a sequence's."""

from algorithms.gspo.algorithm import Gspo

ALGORITHM = Gspo

__all__ = ["ALGORITHM"]
