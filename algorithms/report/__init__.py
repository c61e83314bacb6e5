"""What a person sees of a run: the live table, TensorBoard, and ``report.html``. All of it observes the trainer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from algorithms.core.config import Config

if TYPE_CHECKING:
    from algorithms.core.trainer import Observer

LOGGERS = ("console", "tensorboard")


def observers(config: Config) -> list[Observer]:
    """The observers that ``trainer.logger`` and ``trainer.report`` ask for."""
    unknown = sorted(set(config.trainer.logger) - set(LOGGERS))
    if unknown:
        raise ValueError(f"trainer.logger: {', '.join(unknown)} is unknown; there are: {', '.join(LOGGERS)}")
    chosen: list[Observer] = []
    if "tensorboard" in config.trainer.logger:
        from algorithms.report.tensorboard import TensorBoard

        chosen.append(TensorBoard())
    if config.trainer.report:
        from algorithms.report.html import ReportWriter

        chosen.append(ReportWriter())
    if "console" in config.trainer.logger:
        from algorithms.report.console import Console

        chosen.append(Console())
    return chosen
