"""The live table: progress and time left, a line per step, and held-out success before and after.

On a terminal the table is redrawn in place; in a pipe or a file each step is one line.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from rich.console import Console as RichConsole
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from algorithms.core.config import Config
from algorithms.core.trainer import Observer

#: header -> metric, how it is written
COLUMNS = {
    "success": ("success/train", "{:.1%}"),
    "reward": ("reward/mean", "{:.3f}"),
    "tokens": ("response/tokens", "{:.0f}"),
    "invalid": ("action/invalid", "{:.1%}"),
    "entropy": ("loss/entropy", "{:.3f}"),
    "grad": ("grad_norm", "{:.2f}"),
    "s/step": ("timing/step", "{:.1f}"),
}
RECENT = 12  # rows of the live table


class Console(Observer):
    """Prints the run to the terminal."""

    def __init__(self, console: RichConsole | None = None) -> None:
        self._console = console or RichConsole(highlight=False)
        self._rows: deque[tuple[int, dict[str, Any]]] = deque(maxlen=RECENT)
        self._live: Live | None = None
        self._evals: list[tuple[int, dict[str, Any]]] = []
        self._phase = ""

    def on_start(self, config: Config, total_steps: int, first_step: int) -> None:
        self._total, self._first = total_steps, first_step
        self._seconds: list[float] = []
        self._started, self._report = time.monotonic(), config.trainer.report
        self._console.print(
            f"[bold]{config.trainer.run_dir}[/bold]: {config.model.path} on {config.env.id}, "
            f"{config.rollout.tasks} tasks x {config.rollout.n} trajectories, steps {first_step} to {total_steps}",
            soft_wrap=True,
        )
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, get_renderable=self._table)
            self._live.start()

    def on_phase(self, step: int, name: str) -> None:
        self._phase = name
        if self._live is not None:
            self._live.refresh()
        elif name.startswith("eval"):
            self._console.print(f"{name} ...")

    def on_step(self, step: int, metrics: dict[str, Any], timing: dict[str, float]) -> None:
        self._seconds.append(timing["timing/step"])
        self._rows.append((step, {**metrics, **timing}))
        if self._live is not None:
            self._live.refresh()
        else:
            values = "  ".join(f"{head} {_cell(self._rows[-1][1], head)}" for head in COLUMNS)
            self._console.print(f"step {step}/{self._total}  {values}  left {self._left(step)}", soft_wrap=True)

    def on_eval(self, step: int, results: dict[str, Any]) -> None:
        self._evals.append((step, results))
        line = f"held out after {_steps(step)}: " + ", ".join(
            f"{mode} {_interval(results, mode)}" for mode in ("sampled", "greedy") if f"{mode}/success" in results
        )
        (self._live.console if self._live is not None else self._console).print(line, soft_wrap=True)

    def on_end(self, summary: Any) -> None:
        if self._live is not None:
            self._live.stop()
        if len(self._evals) >= 2:
            self._console.print(closing_table(self._evals[0], self._evals[-1]))
        page = summary.run_dir / "report.html"
        where = f"open {page}" if self._report else f"everything is in {summary.run_dir}"
        self._console.print(f"{_clock(time.monotonic() - self._started)}; {where}", soft_wrap=True)

    def _left(self, step: int) -> str:
        """Time left by the mean of the last ten steps (the closing evaluation is not in it)."""
        recent = self._seconds[-10:]
        return _clock((self._total - step) * sum(recent) / len(recent)) if recent else "?"

    def _table(self) -> Group:
        done = self._rows[-1][0] if self._rows else self._first
        table = Table(box=None, pad_edge=False)
        for head in ("step", *COLUMNS):
            table.add_column(head, justify="right")
        for step, row in self._rows:
            table.add_row(str(step), *(_cell(row, head) for head in COLUMNS))
        width = 40
        filled = round(width * done / max(self._total, 1))
        bar = "━" * filled + "╌" * (width - filled)
        return Group(table, Text(f"{bar} {done}/{self._total}  left {self._left(done)}  {self._phase}"))


def closing_table(before: tuple[int, Mapping[str, Any]], after: tuple[int, Mapping[str, Any]]) -> Table:
    """Held-out success before and after training with 95 % Wilson intervals."""
    table = Table(title="held-out success (95 % interval)")
    for head in ("", f"after {_steps(before[0])}", f"after {_steps(after[0])}", "change"):
        table.add_column(head, justify="left" if not head else "right")
    for mode in ("sampled", "greedy"):
        key = f"{mode}/success"
        if key in before[1] and key in after[1]:
            change = f"{100 * (after[1][key] - before[1][key]):+.1f} points"
            table.add_row(mode, _interval(before[1], mode), _interval(after[1], mode), change)
    return table


def _interval(results: Mapping[str, Any], mode: str) -> str:
    return "{:.1%} [{:.1%}, {:.1%}]".format(*(results[f"{mode}/{part}"] for part in ("success", "low", "high")))


def _cell(row: Mapping[str, Any], head: str) -> str:
    key, form = COLUMNS[head]
    return form.format(row[key]) if row.get(key) is not None else "-"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"
