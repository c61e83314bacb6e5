"""``report.html`` of a run: curves, time, and conversations with every response token coloured by its advantage.

One file that needs nothing else. ``python -m algorithms.report.html RUN_FOLDER`` writes it again.
"""

from __future__ import annotations

import html
import itertools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from algorithms.core.config import Config
from algorithms.core.trainer import Observer
from algorithms.report.curves import learning_curves, read_rows, time_shares
from codegym.spans import reply_bytes, reply_text

GROUPS = 3  # groups shown of each saved step that is shown: enough to read, small enough to load
STEPS = 3  # the first, the middle and the last saved step


class ReportWriter(Observer):
    """Writes the report when the run ends."""

    def on_start(self, config: Config, total_steps: int, first_step: int) -> None:
        self._folder = Path(config.trainer.run_dir)

    def on_end(self, summary: Any) -> None:
        write_report(self._folder)


def write_report(folder: Path) -> Path:
    """Write ``report.html`` into a run's folder and return its path. Raises FileNotFoundError if it is no run."""
    if not (folder / "config.yaml").exists():
        raise FileNotFoundError(f"{folder} is no run folder: it holds no config.yaml")
    evals = read_rows(folder / "eval.jsonl")
    parts = [
        f"<h1>{html.escape(folder.name)}</h1>",
        _evaluations(evals),
        "<h2>Learning curves</h2>",
        learning_curves(read_rows(folder / "metrics.jsonl"), evals),
        "<h2>Where the time went</h2>",
        "<p>Seconds of the whole run. Generating and the environments are parts of the rollout; what environments did"
        " at the same time is added up.</p>",
        time_shares(read_rows(folder / "timing.jsonl")),
        "<h2>Trajectories</h2>",
        LEGEND,
    ]
    saved = sorted((folder / "trajectories").glob("step_*.jsonl"))
    for number, path in enumerate(_spread(saved, STEPS)):
        parts.append(f"<h3>step {int(path.stem.removeprefix('step_'))}</h3>")
        groups = read_rows(path)[:GROUPS]
        parts += [_group(group, opened=number == k == 0) for k, group in enumerate(groups)]
    config = html.escape((folder / "config.yaml").read_text())
    parts.append(f"<h2>Configuration</h2><details><summary>config.yaml</summary><pre>{config}</pre></details>")
    path = folder / "report.html"
    path.write_text(PAGE.format(title=html.escape(folder.name), body="\n".join(parts)), errors="replace")
    return path


def _spread(items: Sequence[Path], count: int) -> list[Path]:
    if len(items) <= count:
        return list(items)
    return [items[round(k * (len(items) - 1) / (count - 1))] for k in range(count)]


def _evaluations(evals: Sequence[Mapping[str, Any]]) -> str:
    rows = ""
    for row in evals:
        for mode in ("sampled", "greedy"):
            if f"{mode}/success" in row:
                low, high = row[f"{mode}/low"], row[f"{mode}/high"]
                rows += (
                    f"<tr><td>{row['step']}<td>{mode}<td>{row[f'{mode}/success']:.1%}"
                    f"<td>[{low:.1%}, {high:.1%}]<td>{row[f'{mode}/tasks']}"
                )
    return f"<table><tr><th>after step<th>held out<th>success<th>95 % interval<th>tasks{rows}</table>"


def _group(group: Mapping[str, Any], opened: bool) -> str:
    members = sorted(group["trajectories"], key=lambda member: -member["return"])
    shown = members if len(members) <= 4 else [*members[:2], *members[-2:]]
    scale = max((abs(a) for member in members for turn in member["turns"] for a in turn["advantages"]), default=0.0)
    head = (
        f"{html.escape(group['task_id'])}: {len(members)} trajectories, "
        f"{sum(bool(member['resolved']) for member in members)} resolved, {len(group['anchors'])} anchors, "
        f"largest |advantage| {scale:.3g}"
    )
    body = "".join(_trajectory(member, group["anchors"], scale) for member in shown)
    return f"<details class=group{' open' if opened else ''}><summary>{head}</summary>{body}</details>"


def _trajectory(member: Mapping[str, Any], anchors: Sequence[Mapping[str, Any]], scale: float) -> str:
    verdict = "resolved" if member["resolved"] else "not resolved"
    parts = [
        f"<h4>trajectory {member['member']}: {verdict}, return {member['return']:.3f} ({member['stop_reason']})</h4>"
    ]
    for index, turn in enumerate(member["turns"]):
        marks = [
            (*occurrence["span"], anchor["id"], advantage)
            for anchor in anchors
            for occurrence, advantage in zip(anchor["occurrences"], anchor["advantages"], strict=True)
            if occurrence["member"] == member["member"] and occurrence["turn"] == index
        ]
        parts.append(f"<pre class=seen>{html.escape(turn['observation'])}</pre>")
        parts.append(f"<pre class=reply>{coloured(turn, marks, scale)}</pre>")
        parts.append(_changes(turn["diff"]) + f"<p class=note>reward {turn['reward']:.3f}</p>")
    return "".join(parts)


def coloured(turn: Mapping[str, Any], marks: Sequence[tuple[int, int, str, float]], scale: float) -> str:
    """The reply as HTML: a span per token with its advantage as background, anchors outlined.

    ``marks`` are (start, end, anchor id, advantage) in bytes of the reply; they may cut tokens.
    """
    reply, ends = reply_bytes(turn["reply"]), turn["token_ends"]
    edges = sorted({0, len(reply), *ends, *(edge for start, end, *_ in marks for edge in (start, end))})
    parts, token = [], 0
    for start, end in itertools.pairwise(edges):
        while token < len(ends) - 1 and ends[token] <= start:
            token += 1
        advantage = turn["advantages"][token] if ends else 0.0
        opened = [mark for mark in marks if mark[0] == start]
        closed = [mark for mark in marks if mark[1] == end]
        parts += [f"<b class=anchor title='anchor {name[:8]}, advantage {a:+.3f}'>" for *_, name, a in opened]
        text = html.escape(reply_text(reply[start:end]))
        parts.append(f"<span style='background:{_colour(advantage, scale)}' title='{advantage:+.3f}'>{text}</span>")
        parts += ["</b>"] * len(closed)
    return "".join(parts)


def _colour(advantage: float, scale: float) -> str:
    """Blue above zero, orange below: told apart by colour-blind readers too."""
    strength = min(abs(advantage) / scale, 1.0) if scale else 0.0
    red, green, blue = (33, 113, 181) if advantage > 0 else (230, 120, 20)
    return f"rgba({red},{green},{blue},{0.75 * strength:.2f})"


def _changes(diff: Mapping[str, Any]) -> str:
    lines = []
    for file in diff["files"]:
        for change in file["changes"]:
            where = change["symbol"] or "module"
            lines.append(f"{change['kind']} {change['node']} in {where} ({file['path']})")
    return f"<pre class=diff>{html.escape(chr(10).join(lines))}</pre>" if lines else "<p class=note>no change</p>"


LEGEND = (
    "<p>Each response token is coloured by its advantage: <span style='background:rgba(33,113,181,.6)'>above</span> or "
    "<span style='background:rgba(230,120,20,.6)'>below</span> zero, full colour at the group's largest. "
    "<b class=anchor>Outlined</b> parts are compared across trajectories (anchors). Hover for the numbers.</p>"
)

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
table {{ border-collapse: collapse; }} 
td, th {{ padding: .2rem .8rem; border-bottom: 1px solid #ddd; text-align: left; }}
pre {{ white-space: pre-wrap; padding: .6rem .8rem; border-radius: 6px; font-size: 13px; margin: .3rem 0; }}
pre.seen {{ background: #f4f4f4; color: #555; }} pre.reply {{ border: 1px solid #ccc; }} pre.diff {{ color: #555; }}
.group {{ margin: .4rem 0; }} .anchor {{ font-weight: inherit; outline: 1.5px solid #333; border-radius: 2px; }}
.note {{ color: #777; margin: .2rem 0; }} svg {{ max-width: 100%; height: auto; }} summary {{ cursor: pointer; }}
</style><body>{body}</body></html>
"""

if __name__ == "__main__":
    sys.stdout.write(f"{write_report(Path(sys.argv[1]))}\n")
