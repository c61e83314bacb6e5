"""The environments' ids. Done by ``import codegym``, and cheap: a benchmark is imported when one is made.

A package of its own benchmarks registers its environments in the same way, once its ``benchmarks.base.register``
has run::

    register_environment("mine/Puzzles-v0", benchmark="puzzles", max_turns=4)
"""

from __future__ import annotations

from typing import Any

import gymnasium


def register_environment(env_id: str, *, benchmark: str, **defaults: Any) -> None:
    """Make ``gymnasium.make(env_id)`` give a CodeEnv of the named benchmark; ``defaults`` are its options."""
    if env_id not in gymnasium.registry:  # importing twice must not warn
        gymnasium.register(env_id, entry_point="codegym.env:CodeEnv", kwargs={"benchmark": benchmark, **defaults})


def register_all() -> None:
    """Register the environments of this package."""
    register_environment("codegym/Repair-v0", benchmark="repair")
    for name, benchmark in (
        ("HumanEval", "humaneval"),
        ("HumanEvalFix", "humanevalfix"),
        ("HumanEvalPlus", "humaneval-plus"),
        ("MBPP", "mbpp"),
        ("MBPPPlus", "mbpp-plus"),
        ("ClassEval", "classeval"),
        ("BigCodeBench", "bigcodebench"),
        ("Exercism", "exercism"),
        ("AiderPolyglot", "aider-polyglot"),
        ("QuixBugs", "quixbugs"),
        ("Stdio", "stdio"),
        ("APPS", "apps"),
        ("CodeContests", "code-contests"),
        ("LiveCodeBench", "livecodebench"),
    ):
        register_environment(f"codegym/{name}-v0", benchmark=benchmark, split="test")
    for name, benchmark in (
        ("Lite", "swe-lite"),
        ("Verified", "swe-verified"),
        ("bench", "swe-bench"),
        ("Multilingual", "swe-multilingual"),
    ):
        # no tests are shown; agents that resolve such tasks take tens of turns
        register_environment(f"codegym/SWE-{name}-v0", benchmark=benchmark, split="test", feedback="exec", max_turns=50)
