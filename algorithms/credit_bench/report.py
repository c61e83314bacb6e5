"""The bench's figures as one table and one plot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from algorithms.credit_bench.bench import REWARDS, Row


def table(rows: Sequence[Row], gradients: Mapping[str, Mapping[str, Mapping[str, float]]], policy: str) -> str:
    """Markdown: per method the AUC at every group size for both rewards, then the other figures at one size."""
    sizes = sorted({row.size for row in rows})
    middle = 16 if 16 in sizes else sizes[len(sizes) // 2]
    found = {(row.method, row.policy, row.reward, row.size): row for row in rows}
    heads = [f"AUC {reward}, G = {'/'.join(map(str, sizes))}" for reward in REWARDS]
    heads += [f"Spearman, G = {middle}", f"no effect, G = {middle}", "cosine", "noise", f"ms, G = {middle}"]
    lines = ["| method | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for method in dict.fromkeys(row.method for row in rows):
        cells = [
            " ".join(
                _figure(found[key].auc) if (key := (method, policy, reward, size)) in found else "-" for size in sizes
            )
            for reward in REWARDS
        ]
        one = found.get((method, policy, "fractional", middle))
        cells += [_figure(one.spearman), _figure(one.wasted)] if one else ["-", "-"]
        own = [gradients[method][reward] for reward in REWARDS]
        cells.append(" ".join(_figure(two["cosine"], 3) for two in own))
        cells.append(" ".join(f"{two['noise']:.2f}" for two in own))
        cells.append(f"{1000 * one.seconds:.1f}" if one else "-")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _figure(value: float, digits: int = 2) -> str:
    if math.isnan(value):
        return "-"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and not text.lstrip("-").startswith("1") else text


def plot(rows: Sequence[Row], path: Path) -> None:
    """A panel per policy and reward: AUC over the group size, a line per method."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "credit"  # the same figures give the same bytes
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    policies = list(dict.fromkeys(row.policy for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    figure, axes = plt.subplots(
        len(REWARDS), len(policies), figsize=(3.4 * len(policies), 6), sharex=True, sharey=True, squeeze=False
    )
    colours = plt.get_cmap("tab20").colors  # type: ignore[attr-defined]
    for r, reward in enumerate(REWARDS):
        for p, policy in enumerate(policies):
            axis = axes[r][p]
            for k, method in enumerate(methods):
                own = [row for row in rows if (row.method, row.policy, row.reward) == (method, policy, reward)]
                axis.plot(
                    [row.size for row in own], [row.auc for row in own], ".-", color=colours[k % 20], label=method
                )
            solved = next((row.solved for row in rows if row.policy == policy), 0.0)
            axis.set_title(f"{policy} policy ({solved:.0%} solved), {reward}", fontsize=9)
            axis.set_xscale("log", base=2)
            axis.axhline(0.5, color="gray", linewidth=0.5)
    for axis in axes[-1]:
        axis.set_xlabel("trajectories of a group")
    for first in axes:
        first[0].set_ylabel("AUC for positive worth")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncol=4, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.05 + 0.025 * math.ceil(len(methods) / 4), 1, 1))
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
