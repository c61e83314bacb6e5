"""What the tests say of a workspace in which only some of a reply's changes were made.

::

    judge = Judge(base=lambda task_id: {...}, evaluate=lambda task_id, files: 0.5, budget=4096)
    judge = environment_judge("codegym/Repair-v0", budget=4096)      # the environment's own hidden tests
    value = judge.value(task_id, files_before, turn, changes)
    value(frozenset({0, 2}))                                         # the score with changes 0 and 2 alone

Scores are kept by task and content, and the budget counts only workspaces that were executed.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from algorithms.core.trajectory import Turn
from codegym.diff.model import FileDiff, Hunk

Files = Mapping[str, bytes]
#: The hunks of one change, with the path of each.
ChangeHunks = Sequence[tuple[str, Hunk]]
KEPT = 1 << 16  # scores


class Unknown(Exception):  # noqa: N818 - no error: the way to an estimate that needs less
    """The score cannot be had: the group's budget is used up, or the machine failed."""


class Judge:
    """Scores workspaces.

    Args:
        base: the files of a task before the first turn.
        evaluate: the score of files for a task, in [0, 1]. May raise Unknown.
        budget: workspaces executed per :meth:`begin`.
    """

    def __init__(
        self, base: Callable[[str], Files], evaluate: Callable[[str, Files], float], budget: int = 4096
    ) -> None:
        self.base, self.left, self.executed = base, budget, 0
        self._evaluate, self._budget = evaluate, budget
        self._scores: OrderedDict[bytes, float] = OrderedDict()

    def begin(self) -> None:
        """A new group: the whole budget again."""
        self.left = self._budget

    def score(self, task_id: str, files: Files) -> float:
        """The score of these files. Raises Unknown."""
        key = _digest(task_id, files)
        known = self._scores.get(key)
        if known is None:
            if self.left <= 0:
                raise Unknown("the budget is used up")
            self.left -= 1
            self.executed += 1
            known = self._scores[key] = self._evaluate(task_id, files)
            while len(self._scores) > KEPT:
                self._scores.popitem(last=False)
        else:
            self._scores.move_to_end(key)
        return known

    def value(
        self, task_id: str, before: Files, turn: Turn, changes: Sequence[ChangeHunks]
    ) -> Callable[[frozenset[int]], float]:
        """The score of ``before`` with a set of the turn's changes made."""

        def value(made: frozenset[int]) -> float:
            chosen = {(path, hunk.old, hunk.text) for k in made for path, hunk in changes[k]}
            return self.score(task_id, _partly(before, turn, chosen))

        return value


def environment_judge(env_id: str, budget: int) -> Judge:
    """A judge that runs the hidden tests of a Gymnasium environment's benchmark. Task ids are enough to find a task."""
    import gymnasium

    import codegym  # noqa: F401 - registers its environments

    bench = gymnasium.make(env_id, disable_env_checker=True).unwrapped.benchmark  # type: ignore[attr-defined]

    def evaluate(task_id: str, files: Files) -> float:
        grade = bench.grade(bench.task(task_id), files)
        if grade.infra_error is not None:
            raise Unknown(grade.infra_error)
        return float(grade.score)

    return Judge(lambda task_id: bench.task(task_id).workspace, evaluate, budget)


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
