"""Coding benchmarks as multi-turn Gymnasium environments. ``import codegym`` registers them."""
