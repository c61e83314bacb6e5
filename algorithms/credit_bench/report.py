"""The bench's figures: a short table and a complete one per policy, one of the gradient, and a plot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from algorithms.credit_bench.bench import REWARDS, Gradient, Row


def table(rows: Sequence[Row], gradients: Sequence[Gradient], policy: str) -> str:
    """Markdown: per method the AUC at every group size for both rewards, then the other figures at one size."""
    sizes = sorted({row.size for row in rows})
    middle = 16 if 16 in sizes else sizes[len(sizes) // 2]
    found = {(row.method, row.policy, row.reward, row.size): row for row in rows}
    heads = [f"AUC {reward}, G = {'/'.join(map(str, sizes))}" for reward in REWARDS]
    heads += [f"{name}, G = {middle}" for name in ("Spearman", "no effect", "cosine", "length", "noise", "ms")]
    slopes = {(one.method, one.reward): one.estimate for one in gradients if one.size == middle}
    lines = _head(["method", *heads])
    for method in dict.fromkeys(row.method for row in rows):
        cells = [
            " ".join(
                _figure(found[key].auc) if (key := (method, policy, reward, size)) in found else "-" for size in sizes
            )
            for reward in REWARDS
        ]
        one = found.get((method, policy, "fractional", middle))
        cells += [_figure(one.spearman), _figure(one.wasted)] if one else ["-", "-"]
        own = [slopes[method, reward] for reward in REWARDS]
        cells.append(" ".join(_figure(two.cosine, 3) for two in own))
        cells.append(" ".join(_figure(two.length) for two in own))
        cells.append(" ".join(_figure(two.noise) for two in own))
        cells.append(f"{1000 * one.seconds:.1f}" if one else "-")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def complete(rows: Sequence[Row], policy: str) -> str:
    """Markdown: every figure of a policy, a line per method, reward and group size."""
    lines = _head(["method", "reward", "G", "groups", "changes", "AUC", "Spearman", "no effect", "ms"])
    for row in (row for row in rows if row.policy == policy):
        cells = [row.method, row.reward, str(row.size), str(row.groups), str(row.changes)]
        cells += [_figure(row.auc), _figure(row.spearman), _figure(row.wasted), f"{1000 * row.seconds:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def gradient_table(gradients: Sequence[Gradient]) -> str:
    """Markdown: every figure of the gradient, a line per method, reward and group size."""
    lines = _head(["method", "reward", "G", "cosine", "length", "noise", "error"])
    for one in gradients:
        own = one.estimate
        cells = [one.method, one.reward, str(one.size), _figure(own.cosine, 3)]
        cells += [_figure(value) for value in (own.length, own.noise, own.error)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _head(cells: Sequence[str]) -> list[str]:
    return ["| " + " | ".join(cells) + " |", "|---" * len(cells) + "|"]


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
