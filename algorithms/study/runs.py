"""One run and its row: trained, gone on with, or found among the rows.

A row is what a figure needs: the setting, the method, the seed, hashes of the configuration and of the weights it
started from, the versions, the training curve per step, and the held-out results of the last step.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from algorithms.core.config import Config
from algorithms.core.model import fingerprint
from algorithms.core.trainer import Trainer
from algorithms.report.curves import read_rows
from algorithms.study.plan import configure, digest, file_name, label

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
    that is stopped has compared all methods on some seeds. Raises ValueError if a row was made with other settings or
    weights."""
    for setting in settings:
        for seed in seeds:
            for method in methods:
                yield _row(setting, method, seed, out, rows, overrides)


def repeat(rows: Sequence[Row], out: Path, overrides: Sequence[str]) -> Iterator[tuple[Row, list[str]]]:
    """Every row once more, and the keys that came out otherwise, ``seconds`` aside. The new rows are in ``out``.

    Raises ValueError, before the first run, for a row that cannot be run as it was.
    """
    known: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        kind = row["setting"], row["method"]
        if kind not in known:
            known[kind] = _marks(configure(*kind, 0, str(out), overrides)[0])
        for key in _others(row, known[kind]):
            raise ValueError(
                f"{row['method']}, seed {row['seed']} of {row['setting']} was made with {key}={row.get(key)}, which is"
                f" {known[kind][key]} now; take the overrides away that change it, or another commit or model"
            )
    for row in rows:
        new, _ = _row(row["setting"], row["method"], row["seed"], out, out / "rows.jsonl", overrides)
        yield row, [key for key in row if key != "seconds" and row[key] != new[key]]


def _marks(config: Config) -> dict[str, str]:
    return {"settings": digest(config), "model": fingerprint(config.model.path)}


def _others(row: Row, marks: dict[str, str]) -> list[str]:
    return [key for key, mark in marks.items() if row.get(key) != mark]


def _row(setting: str, method: str, seed: int, out: Path, rows: Path, overrides: Sequence[str]) -> tuple[Row, bool]:
    name = label(setting, overrides)
    folder = out / file_name(name) / f"{file_name(method)}-seed{seed}"
    config, cls = configure(setting, method, seed, str(folder), overrides)
    marks = _marks(config)
    for row in read_rows(rows):
        if (row["setting"], row["method"], row["seed"]) == (name, method, seed):
            if other := _others(row, marks):
                raise ValueError(
                    f"{rows} holds {method}, seed {seed} of {name} with another {' and '.join(other)}; choose another"
                    " --rows, or take its rows out"
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
        **marks,
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
