"""One run and its row: trained, gone on with, or found among the rows.

A row is what a figure needs: the setting, the method, the seed, a hash of the configuration, the versions, the
training curve per step, and the held-out results of the last step.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from algorithms.core.trainer import Trainer
from algorithms.report.curves import read_rows
from algorithms.study.plan import configure, digest, label

Row = dict[str, Any]
CURVES = {"score": "score/train", "success": "success/train"}
HELD_OUT = [f"{mode}/{what}" for mode in ("sampled", "greedy") for what in ("success", "score", "tokens")]


def study(
    settings: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    out: Path,
    rows: Path,
    overrides: Sequence[str],
) -> Iterator[tuple[Row, bool]]:
    """The row of every run, and whether it was run now. ``rows`` grows by those. Seeds change slowest, so that a study
    that is stopped has compared all methods on some seeds. Raises ValueError if a row was made with other settings."""
    for setting in settings:
        for seed in seeds:
            for method in methods:
                yield _row(setting, method, seed, out, rows, overrides)


def _row(setting: str, method: str, seed: int, out: Path, rows: Path, overrides: Sequence[str]) -> tuple[Row, bool]:
    name = label(setting, overrides)
    folder = out / name.replace(":", "-").replace("/", "_") / f"{method.replace(':', '-').replace('/', '_')}-seed{seed}"
    config, cls = configure(setting, method, seed, str(folder), overrides)
    mark = digest(config)
    for row in read_rows(rows):
        if (row["setting"], row["method"], row["seed"]) == (name, method, seed):
            if row["settings"] != mark:
                raise ValueError(
                    f"{rows} holds {method}, seed {seed} of {name} with other settings; choose another --rows, or take"
                    " its rows out"
                )
            return row, False
    began = time.perf_counter()
    Trainer(config, cls(config.algorithm)).run()
    seconds = time.perf_counter() - began
    steps, (*_, last) = read_rows(folder / "metrics.jsonl"), read_rows(folder / "eval.jsonl")
    row = {
        "setting": name,
        "method": method,
        "seed": seed,
        "settings": mark,
        "codegym": metadata.version("codegym"),
        "torch": metadata.version("torch"),
        "rollouts": [step["trajectories"] for step in steps],
        "updates": config.loss.epochs * config.loss.minibatches,
        "tasks": config.trainer.eval_tasks,
        **{curve: [round(step[key], 4) for step in steps] for curve, key in CURVES.items()},
        "held_out": {key: round(last[key], 4) for key in HELD_OUT},
        "seconds": round(seconds),
    }
    rows.parent.mkdir(parents=True, exist_ok=True)
    with rows.open("a") as file:
        file.write(json.dumps(row) + "\n")
    return row, True
