"""What the tests say of a workspace in which only some of a reply's changes were made.

::

    judge = Judge(base=lambda task_id: {...}, evaluate=lambda task_id, files: 0.5, budget=4096)
    judge = environment_judge("codegym/Repair-v0", budget=4096)      # the environment's own hidden tests
    judge = judge_of_run("codegym/Repair-v0", 4096, config.env)      # the run's, known to know its tasks
    value = judge.value(task_id, files_before, turn, changes)
    value(frozenset({0, 2}))                                         # the score with changes 0 and 2 alone

Scores are kept by task and content, and the budget counts only workspaces that were executed.
"""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from algorithms.core.config import EnvConfig
from algorithms.core.trajectory import Turn
from benchmarks.base import Benchmark
from codegym.diff.model import FileDiff, Hunk

Files = Mapping[str, bytes]
#: The hunks of one change, with the path of each.
ChangeHunks = Sequence[tuple[str, Hunk]]
KEPT = 1 << 16  # scores
#: ``algorithm.judge`` unless it is set: the environment that is trained on, which is this one unless it is set.
DEFAULT_JUDGE = EnvConfig().id


class Unknown(Exception):  # noqa: N818 - no error: the reply's changes get 0
    """The score cannot be had: the group's budget is used up, or the machine failed."""


class Judge:
    """Scores workspaces.

    Args:
        base: the files of a task before the first turn.
        evaluate: the score of files for a task, in [0, 1]. May raise Unknown.
        budget: workspaces executed per :meth:`begin`; ``left`` of it are.
        workers: calls of ``evaluate`` at once, from threads.

    ``unknown`` counts the replies since :meth:`begin` that got no scores; whoever catches Unknown counts them.
    """

    def __init__(
        self,
        base: Callable[[str], Files],
        evaluate: Callable[[str, Files], float],
        budget: int = 4096,
        workers: int = 1,
    ) -> None:
        self.base, self.left, self.unknown = base, budget, 0
        self._evaluate, self._budget = evaluate, budget
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="judge")
        self._scores: OrderedDict[bytes, float] = OrderedDict()

    def begin(self) -> None:
        """A new group: the whole budget again."""
        self.left, self.unknown = self._budget, 0

    def score(self, task_id: str, files: Files) -> float:
        """The score of these files. Raises Unknown."""
        return self.scores(task_id, [files])[0]

    def scores(self, task_id: str, workspaces: Sequence[Files]) -> list[float]:
        """The score of each of some files; those not known yet are executed ``workers`` at a time. Raises Unknown."""
        keys = [_digest(task_id, files) for files in workspaces]
        new = {key: files for key, files in zip(keys, workspaces, strict=True) if key not in self._scores}
        if len(new) > self.left:
            raise Unknown("the budget is used up")
        self.left -= len(new)
        for key, score in zip(
            new, self._pool.map(lambda files: self._evaluate(task_id, files), new.values()), strict=True
        ):
            self._scores[key] = score
        found = []
        for key in keys:
            self._scores.move_to_end(key)
            found.append(self._scores[key])
        while len(self._scores) > KEPT:
            self._scores.popitem(last=False)
        return found

    def value(
        self,
        task_id: str,
        before: Files,
        turn: Turn,
        changes: Sequence[ChangeHunks],
        ahead: Iterable[frozenset[int]] = (),
    ) -> Callable[[frozenset[int]], float]:
        """The score of ``before`` with a set of the turn's changes made; sets ``ahead`` are executed together now.

        Raises Unknown, now or when it is called.
        """

        def files(made: frozenset[int]) -> Files:
            return _partly(before, turn, {(path, hunk.old, hunk.text) for k in made for path, hunk in changes[k]})

        self.scores(task_id, [files(made) for made in ahead])
        return lambda made: self.score(task_id, files(made))


def judge_of_run(name: str, budget: int, env: EnvConfig) -> Judge:
    """The judge of a run on ``env``: by its own hidden tests or, if ``name`` is another environment, by that one's.

    Raises ValueError if it cannot judge the run's tasks.
    """
    own = _benchmark("env.id", env.id, {"split": env.train_split, **env.kwargs})
    task = own.tasks(env.train_split)[0]
    if name in (DEFAULT_JUDGE, env.id):
        return _judge(own, budget)
    other = _benchmark("algorithm.judge", name, {})
    try:
        other.task(task.id)
    except (KeyError, ValueError):
        raise ValueError(
            f"algorithm.judge={name} knows no task {task.id!r} of env.id={env.id}; leave the setting out"
        ) from None
    return _judge(other, budget)


def environment_judge(env_id: str, budget: int) -> Judge:
    """A judge that runs the hidden tests of a Gymnasium environment's benchmark. Task ids are enough to find a task."""
    return _judge(_benchmark("algorithm.judge", env_id, {}), budget)


def _benchmark(key: str, env_id: str, options: Mapping[str, Any]) -> Benchmark:
    import gymnasium

    import codegym  # noqa: F401 - registers its environments

    try:
        env = gymnasium.make(env_id, disable_env_checker=True, **options).unwrapped
    except gymnasium.error.Error as error:
        raise ValueError(f"{key}={env_id}: {str(error).splitlines()[0]}") from None
    if not hasattr(env, "benchmark"):
        raise ValueError(f"{key}={env_id} has no hidden tests to run; take an algorithm.estimator of the rollouts")
    return env.benchmark


def _judge(bench: Benchmark, budget: int) -> Judge:
    def evaluate(task_id: str, files: Files) -> float:
        grade = bench.grade(bench.task(task_id), files)
        if grade.infra_error is not None:
            raise Unknown(grade.infra_error)
        return float(grade.score)

    return Judge(lambda task_id: bench.task(task_id).workspace, evaluate, budget, workers=os.cpu_count() or 1)


def _partly(before: Files, turn: Turn, chosen: set[tuple]) -> dict[str, bytes]:
    """The files with the chosen hunks made. What a diff says without hunks, such as a new name, is always done."""
    files = dict(before)
    for file in turn.diff.files:
        made = [hunk for hunk in file.hunks if (file.path, hunk.old, hunk.text) in chosen]
        if file.hunks and not made:
            continue
        old = files.pop(file.old_path, b"") if file.old_path is not None else b""
        if file.status != "deleted" or len(made) < len(file.hunks):
            files[file.path] = _patched(old, made, file)
    return files


def _patched(old: bytes, hunks: Sequence[Hunk], file: FileDiff) -> bytes:
    parts, position = [], 0
    for hunk in hunks:
        if hunk.old.start < position or hunk.old.end > len(old):
            raise ValueError(f"{file.path}: the diff does not fit the files it is replayed on")
        parts += [old[position : hunk.old.start], hunk.text]
        position = hunk.old.end
    return b"".join([*parts, old[position:]])


def _digest(task_id: str, files: Files) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    digest.update(task_id.encode())
    for path, content in sorted(files.items()):
        for part in (path.encode("utf-8", "surrogateescape"), content):
            digest.update(b" %d:" % len(part) + part)
    return digest.digest()
