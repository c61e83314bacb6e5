"""Bug-repair tasks of our own, endless and seeded.

Two levels: ``tiny`` (short generated files of small functions, for models trained from scratch) and ``program``
(real programs with 1 to 5 bugs). ``docs/repair.md`` tells how tasks are made, proved and graded::

    with contextlib.closing(benchmarks.load("repair", level="program", n_bugs="1-3")) as bench:
        task = bench.tasks("train")[7]
        bench.check(task, task.workspace).details   # what the visible tests say of the broken program
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from benchmarks.base import Benchmark, Grade, Task, Workspace, register

if TYPE_CHECKING:
    from benchmarks.grading.examples import ExampleGrader

SPLITS = ("train", "test")
LEVELS = ("tiny", "program")
LENGTH = 1_000_000  # tasks of a split: more than any run visits
FUNCTIONS = 4  # of a tiny task unless the option says otherwise
BLOCK = 8  # numbers in which a task of dependent functions looks for its file: a third of all are such
KEEP_TASKS = 1024  # built tasks kept in memory, a few kB each
_LOG = logging.getLogger(__name__)


@register("repair")
class Repair(Benchmark):
    """Tasks of one level.

    Args:
        level: ``tiny`` or ``program``.
        n_bugs: bugs of a task, or a range ``"1-3"`` from which each task draws.
        functions: functions in a file; tiny level only.
        dependent: only files in which functions call another; tiny level only.
        seed: another seed gives other tasks. Ids do not depend on it: any id can be built again.
        workers: grading jobs at once; their processes start when they are needed.
    """

    name = "repair"

    def __init__(
        self,
        *,
        level: str = "program",
        n_bugs: int | str = 1,
        functions: int | None = None,
        dependent: bool = False,
        seed: int = 0,
        workers: int = os.cpu_count() or 1,
    ) -> None:
        if level not in LEVELS:
            raise ValueError(f"level={level!r} is unknown; there are: {', '.join(LEVELS)}")
        if level != "tiny" and functions is not None:
            raise ValueError(f'functions={functions!r} is an option of level="tiny" only')
        if not isinstance(dependent, bool):
            raise ValueError(f"dependent={dependent!r}: needs True or False")
        if level != "tiny" and dependent:
            raise ValueError('dependent=True is an option of level="tiny" only')
        for name, value in {"functions": functions, "seed": seed, "workers": workers}.items():
            if value is not None and not isinstance(value, int):
                raise ValueError(f"{name}={value!r}: needs a whole number")
        if functions is not None and functions < 1:
            raise ValueError(f"functions={functions}: needs at least 1")
        if seed < 0:
            raise ValueError(f"seed={seed}: needs 0 or more")
        if workers < 1:
            raise ValueError(f"workers={workers}: needs at least 1")
        self.level, self.seed = level, seed
        self.functions = FUNCTIONS if functions is None else functions
        if dependent and self.functions < 2:
            raise ValueError("dependent=True: one function has no other to call; use functions=2 or more")
        self.dependent = dependent
        self.bugs = _range(n_bugs, most=self.functions if level == "tiny" else 5)
        self._workers = workers
        self._grader: ExampleGrader | None = None
        self._built: OrderedDict[str, Task] = OrderedDict()
        self._lock = threading.Lock()

    def tasks(self, split: str) -> Sequence[Task]:
        """``LENGTH`` tasks, built on access; the program level goes round the split's programs."""
        if split not in SPLITS:
            raise ValueError(f"split={split!r} is unknown; there are: {', '.join(SPLITS)}")
        return _Tasks(self, split)

    def task(self, task_id: str) -> Task:
        """The task with this id, of either level, whatever the options."""
        with self._lock:
            if task := self._built.get(task_id):
                self._built.move_to_end(task_id)
                return task
        task = self._build(task_id)
        with self._lock:
            self._built[task_id] = task
            while len(self._built) > KEEP_TASKS:
                self._built.popitem(last=False)
        return task

    def grade(self, task: Task, workspace: Workspace) -> Grade:
        """The verdict of the hidden tests. Kept in memory: the same modules are not run twice."""
        return self._examples().grade(task.hidden, _restored(task, workspace))

    def check(self, task: Task, workspace: Workspace) -> Grade:
        """The verdict of the visible tests, kept likewise."""
        return self._examples().grade(task.visible, _restored(task, workspace))

    def forget(self) -> None:
        """See :meth:`benchmarks.base.Benchmark.forget`."""
        self._examples().forget()

    def close(self) -> None:
        """End the grading processes; a later grade starts new ones. May be called twice."""
        with self._lock:
            grader, self._grader = self._grader, None
        if grader is not None:
            grader.close()

    def _examples(self) -> ExampleGrader:
        with self._lock:
            if self._grader is None:
                from benchmarks.grading.examples import ExampleGrader  # late: loading a benchmark must stay cheap

                self._grader = ExampleGrader(workers=self._workers)
            return self._grader

    def _build(self, task_id: str) -> Task:
        if task_id.startswith("tiny/"):
            from benchmarks.repair import tiny

            tiny_id = tiny.parse_id(task_id)
            return tiny.make_task(tiny_id.split, tiny_id.index, n_bugs=tiny_id.n_bugs, functions=tiny_id.functions)
        if task_id.startswith("program/"):
            from benchmarks.repair import program

            which = program.parse_id(task_id)
            return program.make_task(program.load(which.name), which.n_bugs, which.seed, grader=self._examples())
        raise KeyError(f"no task {task_id!r}; ids look like tiny/train/f4b3/7 or program/train/NAME/b2/7")

    def _at(self, split: str, index: int) -> Task:
        number = self.seed * LENGTH + index
        low, high = self.bugs
        draw = hashlib.sha256(f"{self.level}/{split}/{number}".encode()).digest()[:8]
        n_bugs = low + int.from_bytes(draw, "big") % (high - low + 1)
        if self.level == "tiny":
            from benchmarks.repair.tiny import calls_another

            ids = (
                f"tiny/{split}/f{self.functions}b{n_bugs}/{BLOCK * number + k if self.dependent else number}"
                for k in itertools.count()
            )
            tasks = map(self.task, ids)
            return next(task for task in tasks if not self.dependent or calls_another(task))
        from benchmarks.repair import program

        names = program.names(split)
        for step in range(len(names)):
            name = names[(index + step) % len(names)]
            try:
                return self.task(f"program/{split}/{name}/b{n_bugs}/{self.seed * LENGTH + index // len(names)}")
            except program.CannotCarry as error:
                _LOG.warning("task %d of %s: %s; taking the next program", index, split, error)
        raise program.CannotCarry(f"no program of split {split!r} carries {n_bugs} bugs; lower n_bugs")


class _Tasks(Sequence[Task]):
    def __init__(self, bench: Repair, split: str) -> None:
        self._bench, self._split = bench, split

    def __len__(self) -> int:
        return LENGTH

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        places = range(LENGTH)[index]
        if isinstance(places, range):
            return [self._bench._at(self._split, place) for place in places]
        return self._bench._at(self._split, places)


def _range(n_bugs: int | str, *, most: int) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", str(n_bugs))
    if match is not None:
        low, high = int(match[1]), int(match[2] or match[1])
        if 1 <= low <= high <= most:
            return low, high
    raise ValueError(f'n_bugs={n_bugs!r}: needs a number or a range like "1-3", from 1 to {most}')


def _restored(task: Task, workspace: Workspace) -> Workspace:
    return {**workspace, **{path: task.workspace[path] for path in task.protected}}
