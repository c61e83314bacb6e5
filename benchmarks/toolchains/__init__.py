"""How programs in other languages are built, run and judged: one small module per tool chain.

::

    chain = toolchain("rust")
    chain.find()                      # raises ToolMissing, which names what to install
    with BuiltGrader(workers=2) as grader:
        grader.grade(suite, tests, files)      # benchmarks.grading.built

Each module says which programs it needs, how the two kinds of suites (:mod:`benchmarks.toolchains.base`) become files
and commands, and what its verdict rests on.
"""

from __future__ import annotations

import functools
import importlib

from benchmarks.toolchains.base import Build, Suite, Toolchain, ToolMissing

#: language -> the module with its tool chain
LANGUAGES = {"javascript": "javascript", "java": "java", "go": "golang", "cpp": "cpp", "rust": "rust"}


@functools.cache
def toolchain(language: str) -> Toolchain:
    """The tool chain of a language. Raises ValueError for a language that has none."""
    if language not in LANGUAGES:
        raise ValueError(f"language={language!r} has no tool chain; there are: {', '.join(LANGUAGES)}")
    made: Toolchain = importlib.import_module(f"benchmarks.toolchains.{LANGUAGES[language]}").CHAIN
    return made


__all__ = ["LANGUAGES", "Build", "Suite", "ToolMissing", "Toolchain", "toolchain"]
