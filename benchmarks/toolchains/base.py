"""What a tool chain is: it turns a suite and a workspace into files, build commands and a run.

Tests of these languages are compiled with the solution, so both share a process, and the verdict is proved as follows.
Every grade draws one secret key per test. It is compiled into our harness under a name that is drawn too, and printed
when that test, and no other, has passed; exit codes and all other output are ignored. So ending the process, printing
results, or changing the tests' files gains nothing. Names of the tests' own words that the solution declares anew
(macros, shadowing classes, predeclared identifiers) make it refused. What is left is code that was written against
this very grader and looks for its key in the memory that they share: that is hindered, not locked out.
"""

from __future__ import annotations

import abc
import re
import secrets
import shutil
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.base import Place, Test, Workspace
from sandbox import Limits

if TYPE_CHECKING:
    from benchmarks.grading.built import BuiltGrader

#: Compilers want more than the default; a test suite takes seconds, an endless loop takes all of ``wall_s``.
LIMITS = Limits(
    wall_s=20.0, cpu_s=60.0, memory_bytes=3 << 30, pids=512, disk_bytes=1 << 30, files=50_000, output_bytes=4 << 20
)
# Wall time of one build command, which ends what only waits: its work is bounded by LIMITS.cpu_s. The slowest (C++ with
# Catch) takes 10 s on a quiet machine.
BUILD_S = 600.0
KEY = re.compile(rb"^([0-9a-f]{32})$", re.M)


class ToolMissing(LookupError):  # noqa: N818 - what the reader of the message needs to know
    """A program or a library of a language is not on this machine; the message says how to get it."""


class Refused(ValueError):  # noqa: N818 - it names the verdict
    """A solution that is not built, for a reason of its own; the message says which."""


@dataclass(frozen=True)
class Suite:
    """The tests of one task.

    Attributes:
        kind: ``program``, one source text that checks a function (HumanEvalPack's ``test``), the body of its one test;
            or ``exercise``, test files of the language's usual framework, whose tests are named by their ids.
        language: of the tool chain.
        solution: paths of the solution's files, the main one first.
        files: of a program, nothing; of an exercise, its test files and what they need: they win over the workspace.
        before: of a program, the text that stands above its tests (imports, prototypes).
        names: what the reference solution declares and tests may use.
        run_s: CPU seconds of one run.
    """

    kind: str
    language: str
    solution: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    before: str = ""
    names: tuple[str, ...] = ()
    run_s: float = LIMITS.wall_s

    def grader(self, *, workers: int, limits: Limits | None) -> BuiltGrader:
        """A grader of such suites."""
        from benchmarks.grading.built import BuiltGrader  # late: it needs this module

        return BuiltGrader(workers=workers, limits=limits)


@dataclass(frozen=True)
class Build:
    """What is done in a sandbox: write ``files``, run each of ``commands``, remove ``hidden``, run ``run``."""

    files: Mapping[str, bytes]
    commands: Sequence[Sequence[str]]
    run: Sequence[str]
    hidden: Sequence[str] = ()


class Toolchain(abc.ABC):
    """One language. ``needs``: program -> the apt package that has it."""

    language: str
    needs: Mapping[str, str]

    def find(self, kind: str = "exercise") -> None:
        """Raise ToolMissing, with the command, if what suites of this kind need is not here."""
        missing = {package for program, package in self.needs.items() if shutil.which(program) is None}
        if missing:
            raise ToolMissing(f"{self.language} needs its tools: apt-get install {' '.join(sorted(missing))}")

    def prepare(self) -> str:
        """Get and build ahead what is not built at the first grade. Raises ToolMissing. Returns what was done."""
        self.find()
        self.place()
        return f"{self.language} is ready"

    @abc.abstractmethod
    def place(self) -> Place:
        """What sandboxes are shown and told; may build caches at the first call. Raises ToolMissing."""

    @abc.abstractmethod
    def build(self, suite: Suite, keys: Mapping[str, str], tests: Sequence[Test], files: Workspace) -> Build:
        """How these tests are run on this workspace. ``keys``: test id -> its key. Raises Refused."""

    @abc.abstractmethod
    def tests(self, files: Mapping[str, bytes]) -> list[str]:
        """The ids of the tests in the test files of an exercise."""


def told(command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """What a tool of this machine prints. Raises ToolMissing if it does not run here."""
    ran = subprocess.run(command, capture_output=True, text=True, env=env)
    if ran.returncode:
        why = ran.stderr.strip()[-200:] or f"exit {ran.returncode}"
        raise ToolMissing(f"`{' '.join(command)}` does not run here: {why}")
    return ran.stdout


def drawn() -> str:
    """A name that no solution knows."""
    return "z" + secrets.token_hex(6)


def masked(key: str) -> tuple[list[int], list[int]]:
    """A key as two lists of bytes whose exclusive or it is, so that its text is nowhere in the program."""
    mask = list(secrets.token_bytes(len(key)))
    return mask, [code ^ each for code, each in zip(key.encode(), mask, strict=True)]


def refuse_words(declared: Collection[str], tests: Collection[str], own: Collection[str]) -> None:
    """Raise Refused if a declared name is a word of the tests that the reference solution does not declare."""
    words = {word for text in tests for word in re.findall(r"\w+", text)}
    taken = sorted((set(declared) & words) - set(own))
    if taken:
        raise Refused(f"it declares {', '.join(taken)}, which the tests use")
