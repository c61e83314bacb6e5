"""Several algorithms and seeds at equal rollouts: one table, one plot.

    python -m algorithms.study --algorithms didpo,gigpo,grpo --seeds 0,1,2 --out runs/study trainer.steps=40
    python -m algorithms.study --algorithms didpo,didpo:algorithm.eta=1,grpo:algorithm.reward=process

Every run is an ordinary run folder under ``--out``; one that is complete is not run again, one that was interrupted
goes on. A method may be followed by settings of its own. Rollouts are equal because groups are never refilled
(``rollout.max_refills=0``): every method samples the same number of trajectories of the same tasks in the same order.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.core.cli import load_algorithm, resolve
from algorithms.report.curves import read_rows, save_png, study_panels

MODES = ("sampled", "greedy")


@dataclass(frozen=True)
class Result:
    """What one run reached."""

    algorithm: str
    seed: int
    before: Mapping[str, float]  # mode -> held-out success
    after: Mapping[str, float]
    curve: np.ndarray  # [steps], success on the training groups before the step's update

    @property
    def area(self) -> float:
        """Mean of the training curve: high when learning came early."""
        return float(self.curve.mean())


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is missing, then write ``study.md`` and ``study.png`` into the folder."""
    parser = argparse.ArgumentParser(
        prog="python -m algorithms.study",
        description=(__doc__ or "").split("\n", 1)[0],
        epilog="Settings are those of python -m algorithms.didpo.train --help and hold for every run.",
    )
    parser.add_argument(
        "--algorithms",
        default="didpo,gigpo,grpo",
        help="names, separated by commas; NAME:key=value sets what only it has",
    )
    parser.add_argument("--seeds", default="0,1,2", help="numbers, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("runs/study"), help="the folder of all runs")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    args = parser.parse_intermixed_args(argv)
    try:
        names = args.algorithms.split(",")
        results = [run(name, int(seed), args.out, args.overrides) for seed in args.seeds.split(",") for name in names]
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    text = table(results)
    (args.out / "study.md").write_text(text)
    save_png(
        study_panels({name: [r for r in results if r.algorithm == name] for name in names}), args.out / "study.png"
    )
    sys.stdout.write(f"{text}\nwritten: {args.out / 'study.md'}, {args.out / 'study.png'}\n")
    return 0


def run(name: str, seed: int, out: Path, overrides: Sequence[str]) -> Result:
    """Train, or read what a complete run left."""
    from algorithms.core.trainer import Trainer
    from algorithms.report import observers

    folder = out / f"{name.replace(':', '-')}-seed{seed}"
    algorithm, *own = name.split(":")
    method = load_algorithm(algorithm)
    fixed = [f"trainer.seed={seed}", f"trainer.run_dir={folder}"]
    config = resolve(method, ["rollout.max_refills=0", *overrides, *own, *fixed])
    trainer = Trainer(config, method(config.algorithm), observers=observers(config))  # refuses a run of other settings
    if not _complete(folder, config.trainer.steps):
        trainer.run()
    evals, steps = (_until(config.trainer.steps, folder / f"{log}.jsonl") for log in ("eval", "metrics"))
    curve = [row["success/train"] for row in steps]
    before, after = ({mode: row[f"{mode}/success"] for mode in MODES} for row in (evals[0], evals[-1]))
    return Result(name, seed, before, after, np.array(curve))


def _until(step: int, path: Path) -> list[dict[str, Any]]:
    """The rows up to a step: the run may have gone on for longer."""
    return [row for row in read_rows(path) if row["step"] <= step]


def _complete(folder: Path, steps: int) -> bool:
    return any(row["step"] == steps for row in read_rows(folder / "eval.jsonl"))


def table(results: Sequence[Result]) -> str:
    """Markdown: held-out success before and after, and the mean of the training curve, mean and range over seeds."""
    lines = [
        "| algorithm | seeds | sampled before | sampled after | greedy before | greedy after | training curve |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(result.algorithm for result in results):
        runs = [result for result in results if result.algorithm == name]
        cells = [
            _cell([r.before[mode] if when == "before" else r.after[mode] for r in runs])
            for mode in MODES
            for when in ("before", "after")
        ]
        lines.append(f"| {name} | {len(runs)} | " + " | ".join(cells) + f" | {_cell([r.area for r in runs])} |")
    note = "Mean over seeds, lowest to highest seed in brackets; the training curve is its mean over the steps."
    return "\n".join([*lines, "", note, ""])


def _cell(values: Sequence[float]) -> str:
    return f"{np.mean(values):.1%} [{min(values):.1%}, {max(values):.1%}]"


if __name__ == "__main__":
    sys.exit(main())
