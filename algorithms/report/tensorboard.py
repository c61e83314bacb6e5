"""Scalars of a run for TensorBoard: ``tensorboard --logdir runs``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from algorithms.core.config import Config
from algorithms.core.trainer import Observer


class TensorBoard(Observer):
    """Writes metrics, timings and evaluations under ``<run_dir>/tensorboard``."""

    def on_start(self, config: Config, total_steps: int, first_step: int) -> None:
        # purge_step hides what an interrupted run wrote after the checkpoint that this one goes on from
        self._writer = SummaryWriter(str(Path(config.trainer.run_dir) / "tensorboard"), purge_step=first_step)

    def on_step(self, step: int, metrics: dict[str, Any], timing: dict[str, float]) -> None:
        for name, value in {**metrics, **timing}.items():
            if isinstance(value, int | float):
                self._writer.add_scalar(name, value, step)

    def on_eval(self, step: int, results: dict[str, Any]) -> None:
        for name, value in results.items():
            if isinstance(value, int | float):
                self._writer.add_scalar(f"eval/{name}", value, step)

    def on_end(self, summary: Any) -> None:
        self._writer.close()
