"""The rows of a study, sorted: by setting, by method, by seed.

::

    for setting, rows in by_setting(read_rows(path)):
        for method, runs in by_method(rows).items():
            areas(runs, measure_of(setting))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from algorithms.study.plan import ALIASES, SETTINGS

REFERENCE = "grpo"
Rows = Sequence[dict[str, Any]]
#: Seed -> row of one method.
Runs = dict[int, dict[str, Any]]


def by_setting(rows: Rows) -> list[tuple[str, Rows]]:
    """Settings in which methods were run, in the plan's order, each with its rows."""
    order = list(SETTINGS)
    compared = {row["setting"] for row in rows if row["method"] != "start"}
    names = sorted(compared, key=lambda name: (order.index(name.partition(":")[0]), name))
    return [(name, [row for row in rows if row["setting"] == name]) for name in names]


def by_method(rows: Rows) -> dict[str, Runs]:
    """Method -> seed -> row, without the model before training, in order of first appearance."""
    found: dict[str, Runs] = {}
    for row in rows:
        if row["method"] != "start":
            found.setdefault(row["method"], {})[row["seed"]] = row
    return found


def measure_of(name: str) -> str:
    """What a setting's reward pays for."""
    return SETTINGS[name.partition(":")[0]].measure


def curves(runs: Runs, measure: str) -> np.ndarray:
    """Training curves [seeds, steps]."""
    return np.array([runs[seed][measure] for seed in sorted(runs)])


def areas(runs: Runs, measure: str) -> dict[int, float]:
    """Seed -> the mean of the training curve."""
    return {seed: float(np.mean(row[measure])) for seed, row in runs.items()}


def is_baseline(method: str) -> bool:
    """Whether it is one of the published methods that DiDPO is compared with."""
    return ALIASES.get(method, method).partition(":")[0] != "didpo"
