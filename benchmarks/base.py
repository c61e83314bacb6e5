"""What a task is, what a grade is, and the registry of benchmarks.

A benchmark is one class with four methods; ``register`` gives it a name::

    @register("my-benchmark")
    class MyBenchmark(Benchmark): ...

    bench = load("my-benchmark")
    task = bench.tasks("train")[0]
    bench.grade(task, task.workspace).resolved   # False: the bug is still there
"""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.base import Limits

#: A workspace is its regular files: relative POSIX path -> bytes.
Workspace = Mapping[str, bytes]


@dataclass(frozen=True)
class Test:
    """One test: an id that is unique in its task, and a body that the task's benchmark knows how to run."""

    __test__ = False  # not a pytest class

    id: str
    body: str


@dataclass(frozen=True)
class Place:
    """Where a task's commands run, for tasks that need more than the system's programs.

    Attributes:
        backend: of :func:`sandbox.open_sandbox`.
        image: the container image, for backends that take one.
        read_only: folders of the host that are shown inside, such as a virtual environment.
        env: variables of commands, such as PATH.
        executable: files of the workspace that may be run by name (a workspace holds bytes, not modes).
        git: commands find a git repository of one commit, the task's files; what they do to it is no change of files.
    """

    backend: str = "auto"
    image: str | None = None
    read_only: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    executable: tuple[str, ...] = ()
    git: bool = False

    def sandbox(self) -> dict[str, Any]:
        """What :func:`sandbox.open_sandbox` must be told."""
        said = {"backend": self.backend, "image": self.image, "read_only": self.read_only}
        return {name: value for name, value in said.items() if value not in ("auto", None, ())}


@dataclass(frozen=True)
class Task:
    """One problem. The agent sees ``prompt``, ``workspace`` and ``visible``; never ``hidden`` or ``meta``.

    Attributes:
        id: unique in its benchmark, and enough to build the task again.
        protected: paths whose content the agent cannot change for grading; the task's own wins.
        meta: what the benchmark wants to remember (the kinds of bug). ``meta["fixed"]``, where there is one, is the
            reference solution as changes of the workspace: path -> bytes, None for a file that is removed.
        place: gives where the agent's commands run; called before the first, and may then prepare it.
    """

    id: str
    benchmark: str
    prompt: str
    language: str
    workspace: Workspace
    visible: tuple[Test, ...]
    hidden: tuple[Test, ...]
    protected: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    meta: Mapping[str, Any] = field(default_factory=dict)
    place: Callable[[], Place] = Place


def reference(task: Task) -> dict[str, bytes] | None:
    """The workspace with the changes of the reference solution; None if the task comes without one."""
    fixed: Mapping[str, bytes | None] | None = task.meta.get("fixed")
    if fixed is None:
        return None
    changed = {**task.workspace, **fixed}
    return {path: data for path, data in changed.items() if data is not None}


def changes(old: Workspace, new: Workspace) -> dict[str, bytes | None]:
    """What makes one workspace of another: path -> bytes, None for a file that is removed."""
    found: dict[str, bytes | None] = {path: data for path, data in new.items() if old.get(path) != data}
    return found | {path: None for path in old if path not in new}


@dataclass(frozen=True)
class Grade:
    """The verdict on one workspace.

    Attributes:
        resolved: every test passed.
        score: share of tests passed, in [0, 1].
        tests: id -> "passed" | "failed" | "error" | "timeout".
        details: id -> one short line for the reader of a failing test (call, wanted, got).
        infra_error: the machine failed and the rest of the grade says nothing; else None.
    """

    resolved: bool
    score: float
    tests: Mapping[str, str]
    details: Mapping[str, str] = field(default_factory=dict)
    infra_error: str | None = None


class Benchmark(abc.ABC):
    """Where tasks come from and how a solution is graded. Made cheaply: nothing is loaded before it is used."""

    name: str

    @abc.abstractmethod
    def tasks(self, split: str) -> Sequence[Task]:
        """The tasks of a split, in a fixed order, built on access. Raises ValueError naming the valid splits."""

    @abc.abstractmethod
    def task(self, task_id: str) -> Task:
        """The task with this id. Raises KeyError with a message that says what ids look like."""

    @abc.abstractmethod
    def grade(self, task: Task, workspace: Workspace) -> Grade:
        """The verdict of the hidden tests, in a fresh sandbox."""

    @abc.abstractmethod
    def check(self, task: Task, workspace: Workspace) -> Grade:
        """The verdict of the visible tests, with ``details`` for the agent to read, in a fresh sandbox."""

    def all_tasks(self, split: str) -> Sequence[Task]:
        """The tasks of a split, with those that an exclusion list leaves out of :meth:`tasks`."""
        return self.tasks(split)

    def forget(self) -> None:
        """Drop the verdicts that are kept in memory, so that the next grade runs again. Most keep none."""

    def close(self) -> None:
        """Free what the benchmark holds. May be called twice."""


_REGISTRY: dict[str, Callable[..., Benchmark]] = {}


def register(name: str) -> Callable[[Callable[..., Benchmark]], Callable[..., Benchmark]]:
    """Give a benchmark (a class, or a function that returns one) a name for :func:`load`."""

    def add(factory: Callable[..., Benchmark]) -> Callable[..., Benchmark]:
        if name in _REGISTRY:
            raise ValueError(f"a benchmark named {name!r} is registered already")
        _REGISTRY[name] = factory
        return factory

    return add


def load(name: str, **options: Any) -> Benchmark:
    """Make the benchmark of this name with its options, e.g. ``load("repair", level="tiny", n_bugs=2)``.

    Raises KeyError for a name, and TypeError for an option, that there is not.
    """
    known = option_names(name)
    if unknown := [option for option in options if option not in known]:
        raise TypeError(f"{name} has no option {unknown[0]!r}; there are: {', '.join(known)}")
    return _factory(name)(**options)


def option_names(name: str) -> tuple[str, ...]:
    """The options that :func:`load` takes for the benchmark of this name."""
    return tuple(inspect.signature(_factory(name)).parameters)


def _factory(name: str) -> Callable[..., Benchmark]:
    if name not in _REGISTRY:
        raise KeyError(f"no benchmark named {name!r}; there are: {', '.join(sorted(_REGISTRY))}")
    return _REGISTRY[name]
