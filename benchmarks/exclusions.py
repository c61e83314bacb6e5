"""Tasks that are left out because they do not behave on this machine: written by ``codegym check``, read by loaders.

A list is the file ``exclude/<benchmark>.json`` in the folder of data sets (:func:`benchmarks.data.home`): task id ->
why. It is a file to read and to edit; removing it brings all tasks back.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.base import Task
from benchmarks.data import home

_LOG = logging.getLogger(__name__)


def place(benchmark: str) -> Path:
    """The list of a benchmark, whether it is there or not."""
    return home() / "exclude" / f"{benchmark}.json"


def read(benchmark: str) -> dict[str, str]:
    """Task id -> why it is left out; empty where no list is. Raises ValueError for a list that cannot be read."""
    path = place(benchmark)
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is no JSON ({error}): mend or remove it") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} holds no object of task ids: mend or remove it")
    return {str(task): str(why) for task, why in found.items()}


def write(benchmark: str, excluded: Mapping[str, str]) -> Path:
    """Replace the list; an empty one is removed. Where it lies."""
    path = place(benchmark)
    if not excluded:
        path.unlink(missing_ok=True)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(dict(sorted(excluded.items())), indent=1) + "\n", encoding="utf-8")
    return path


def without(benchmark: str, tasks: Sequence[Task]) -> list[Task]:
    """The tasks that are not on the benchmark's list, in order. What is left out is logged."""
    excluded = read(benchmark)
    kept = [task for task in tasks if task.id not in excluded]
    if len(kept) < len(tasks):
        _LOG.info("%s: %d of %d tasks left out by %s", benchmark, len(tasks) - len(kept), len(tasks), place(benchmark))
    return kept
