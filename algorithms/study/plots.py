"""Plots of a study's rows, as SVG text: one of all settings, one of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from algorithms.report.curves import new_figure, to_svg
from algorithms.study import figures
from algorithms.study.figures import Estimate
from algorithms.study.rows import REFERENCE, Rows, areas, by_method, curves, is_baseline, measure_of


def overview(settings: Sequence[tuple[str, Rows]]) -> str:
    """A cell for each method and setting: the curve's difference to GRPO, bold where its interval leaves out 0."""
    cells: dict[tuple[str, str], Estimate] = {}
    for name, rows in settings:
        own, measure = by_method(rows), measure_of(name)
        for method, runs in own.items():
            difference = figures.paired(areas(runs, measure), areas(own.get(REFERENCE, {}), measure))
            if method != REFERENCE and difference:
                cells[method, name] = difference
    names, methods = [name for name, _ in settings], list(dict.fromkeys(method for method, _ in cells))
    means = np.full((len(methods), len(names)), math.nan)
    figure, axes = new_figure(1, 1, height=0.6 + 0.22 * len(methods))
    figure.set_figwidth(2.2 + 0.66 * len(names))
    axis = axes.flat[0]
    axis.grid(visible=False)
    for (method, name), one in cells.items():
        row, column = methods.index(method), names.index(name)
        means[row, column] = 100 * one.mean
        clear = len(one.values) > 1 and (one.low > 0 or one.high < 0)
        text = f"{round(100 * one.mean, 1) + 0.0:+.1f}"  # + 0.0: no minus before a zero
        style = {"ha": "center", "va": "center", "fontsize": 7, "weight": "bold" if clear else "normal"}
        axis.text(column + 0.5, row + 0.5, text, **style)
    axis.pcolormesh(means, cmap="RdBu", vmin=-6, vmax=6, edgecolors="white", alpha=0.8)
    axis.set_xticks(np.arange(len(names)) + 0.5, names, fontsize=8)
    axis.set_yticks(np.arange(len(methods)) + 0.5, methods, fontsize=7)
    axis.tick_params(length=0, labeltop=True, labelbottom=False)
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.invert_yaxis()
    return to_svg(figure)


def setting_plot(name: str, rows: Rows) -> str:
    """Smoothed curves, the mean over seeds; and the paired differences to GRPO with their intervals.

    GRPO and DiDPO's estimators have a colour each, which the differences tell; the other baselines are light.
    """
    methods, measure = by_method(rows), measure_of(name)
    figure, axes = new_figure(1, 2, height=3.0 + 0.16 * len(methods))
    left, right = axes.flat
    reference = methods.get(REFERENCE)
    colours = itertools.cycle(f"C{index}" for index in (7, 0, 3, 1, 2, 4, 5, 6, 8, 9))
    for index, (method, runs) in enumerate(methods.items()):
        colour = next(colours) if method == REFERENCE or not is_baseline(method) else "silver"
        mean = figures.smooth(curves(runs, measure)).mean(0)
        per_step = next(iter(runs.values()))["rollouts"][0]
        left.plot(
            per_step * np.arange(1, len(mean) + 1), mean, color=colour, linewidth=1.2, zorder=2 + (colour != "silver")
        )
        difference = figures.paired(areas(runs, measure), areas(reference, measure)) if reference else None
        if difference is not None:
            right.plot([100 * difference.low, 100 * difference.high], [-index, -index], color=colour)
            right.plot([100 * difference.mean], [-index], "o", color=colour, markersize=4)
    left.set_xlabel("rollouts")
    left.set_title(
        "share of hidden tests, training" if measure == "score" else "files all right, training", fontsize=10
    )
    right.axvline(0, color="gray", linewidth=0.8)
    right.set_yticks([-index for index in range(len(methods))], list(methods), fontsize=7)
    right.set_title("curve's mean against grpo, points, 95 %", fontsize=10)
    return to_svg(figure)
