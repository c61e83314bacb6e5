"""Coding benchmarks as multi-turn Gymnasium environments. ``import codegym`` registers them."""

from codegym.registration import register_all, register_environment

__all__ = ["register_environment"]
register_all()
