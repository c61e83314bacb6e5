"""Learning curves of a run folder, drawn as SVG text that can stand inside a page."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Rows = Sequence[Mapping[str, Any]]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a .jsonl file; none where there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def learning_curves(metrics: Rows, evals: Rows) -> str:
    """Success on training groups and on held-out tasks, reward, response length, entropy, gradient norm."""
    panels = (
        ("success", ("success/train",)),
        ("reward", ("reward/mean",)),
        ("tokens per response", ("response/tokens",)),
        ("entropy (nats per token)", ("loss/entropy",)),
        ("gradient norm", ("grad_norm",)),
        ("share of replies", ("action/invalid", "response/truncated")),
    )
    figure, axes = new_figure(2, 3)
    for axis, (title, keys) in zip(axes.flat, panels, strict=True):
        for key in keys:
            points = [(row["step"], row[key]) for row in metrics if row.get(key) is not None]
            if points:
                axis.plot(*zip(*points, strict=True), label=key, linewidth=1.2)
        if title == "success":
            for mode, marker in (("sampled", "o"), ("greedy", "s")):
                points = [(row["step"], row[f"{mode}/success"]) for row in evals if f"{mode}/success" in row]
                if points:
                    axis.plot(*zip(*points, strict=True), marker, label=f"held out, {mode}")
            axis.set_ylim(-0.02, 1.02)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("step")
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize=7, frameon=False)
    return to_svg(figure)


def time_shares(timing: Rows) -> str:
    """Where the seconds of a step went, summed over the run."""
    parts: dict[str, float] = {}
    for row in timing:
        for key, value in row.items():
            if key.startswith("timing/") and key != "timing/step":
                parts[key.removeprefix("timing/")] = parts.get(key.removeprefix("timing/"), 0.0) + value
    figure, axes = new_figure(1, 1, height=0.35 * max(len(parts), 1) + 0.8)
    axis = axes.flat[0]
    names = sorted(parts, key=lambda name: parts[name])
    axis.barh(names, [parts[name] for name in names])
    axis.set_xlabel("seconds")
    return to_svg(figure)


def new_figure(rows: int, columns: int, height: float | None = None) -> tuple[Any, Any]:
    """A figure and its axes [rows, columns]."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "codegym"  # the same run gives the same bytes
    matplotlib.rcParams["svg.fonttype"] = "none"  # text as text: a tenth of the size
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(rows, columns, figsize=(3.6 * columns + 1, height or 2.6 * rows), squeeze=False)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    return figure, axes


def to_svg(figure: Any) -> str:
    """The figure as SVG text, and closed."""
    import matplotlib.pyplot as plt

    figure.tight_layout()
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
