"""Tables and plots of a study's rows, written into a page between two marks: the same rows give the same text.

write(Path("docs/data/study.jsonl"), Path("docs/study.md"))
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from algorithms.report.curves import read_rows
from algorithms.study import figures
from algorithms.study.figures import Estimate
from algorithms.study.plan import SETTINGS, file_name
from algorithms.study.plots import overview, setting_plot
from algorithms.study.rows import REFERENCE, Rows, Runs, areas, by_method, by_setting, curves, is_baseline, measure_of

BEGIN, END = "<!-- made by python -m algorithms.study report -->", "<!-- end -->"
#: DiDPO's loss with GRPO's advantage alone. DiDPO's estimators differ from it in the credit and in nothing else; the
#: oracle also learns from groups of equal returns.
SAME_LOSS = "didpo:estimator=within:lam=0"
OVERVIEW = "img/study-all.svg"
HELD_OUT = ("sampled/score", "greedy/score", "sampled/success", "greedy/success")
HEAD = (
    "| method | seeds | {what}, training curve | to grpo, paired | held out, sampled | to grpo, paired |"
    " held out, greedy | all right, sampled | all right, greedy | rollouts to the level | updates a step |"
)
TOGETHER = (
    "| method | settings | pairs of runs | training curve, to {reference}, mean of settings |"
    " share of hidden tests held out, sampled, likewise |"
)


def write(rows: Path, page: Path) -> list[Path]:
    """Replace what stands between the marks of a page (a new page is only that) and write its plots; what was written.

    Raises ValueError if there are no rows, or the page has no marks.
    """
    found = read_rows(rows)
    if not found:
        raise ValueError(f"--rows {rows}: no rows; python -m algorithms.study makes them")
    old = page.read_text() if page.exists() else f"{BEGIN}\n{END}\n"
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        raise ValueError(f"--page {page}: needs the marks {BEGIN!r} and {END!r} once, to be replaced between")
    plots = dict(make_plots(found))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"{old.partition(BEGIN)[0]}{BEGIN}\n\n{text(found)}\n{END}{old.partition(END)[2]}")
    written = [page]
    for name, plot in plots.items():
        written.append(page.parent / name)
        written[-1].parent.mkdir(exist_ok=True)
        written[-1].write_text(plot)
    return written


def text(rows: Rows) -> str:
    """Markdown: all settings together, then for each what it is, its table, its plot."""
    settings = by_setting(rows)
    together = [*_together(settings, REFERENCE), *_together(settings, SAME_LOSS)]
    head = ["### All settings", "", f"![Differences to grpo, method by setting]({OVERVIEW})", ""] if together else []
    return "\n".join([*head, *together, *(_section(name, own) for name, own in settings)])


def make_plots(rows: Rows) -> Iterator[tuple[str, str]]:
    """(path beside the page, SVG) for all settings together, if there are several, and for each."""
    settings = by_setting(rows)
    if _together(settings, REFERENCE):
        yield OVERVIEW, overview(settings)
    for name, own in settings:
        yield _image(name), setting_plot(name, own)


def _image(name: str) -> str:
    return f"img/study-{file_name(name)}.svg"


def level(methods: dict[str, Runs], measure: str) -> float | None:
    """Where the best baseline's smoothed curve ends, in the mean over seeds; None without a baseline.

    Only those with the most seeds count: the best of many single seeds is the luckiest.
    """
    baselines = [runs for method, runs in methods.items() if is_baseline(method)]
    most = max(map(len, baselines), default=0)
    complete = [runs for runs in baselines if len(runs) == most]
    return max((float(figures.smooth(curves(runs, measure))[:, -1].mean()) for runs in complete), default=None)


def _together(settings: Sequence[tuple[str, Rows]], reference: str) -> list[str]:
    """The table of differences over settings, of methods that were run in several; nothing if there is none.

    With :data:`SAME_LOSS` for a reference they are DiDPO's, which share its loss.
    """
    found: dict[str, list[tuple[Estimate, Estimate]]] = {}
    for name, rows in settings:
        methods, measure = by_method(rows), measure_of(name)
        other = methods.get(reference, {})
        for method, runs in methods.items():
            curve = figures.paired(areas(runs, measure), areas(other, measure))
            held_out = figures.paired(_held_out(runs, HELD_OUT[0]), _held_out(other, HELD_OUT[0]))
            comparable = reference == REFERENCE or not (is_baseline(method) or "loss." in method)
            if method != reference and comparable and curve and held_out:
                found.setdefault(method, []).append((curve, held_out))
    lines = []
    for method, pairs in found.items():
        if len(pairs) > 1:
            count = sum(len(curve.values) for curve, _ in pairs)
            cells = [_mean_of_settings(figures.over_settings(column)) for column in zip(*pairs, strict=True)]
            lines.append(f"| {' | '.join([method, str(len(pairs)), str(count), *cells])} |")
    return [TOGETHER.format(reference=reference), "|---" * 5 + "|", *lines, ""] if lines else []


def _mean_of_settings(one: Estimate) -> str:
    ahead = sum(value > 0 for value in one.values)
    return f"{100 * one.mean:+.1f} [{100 * one.low:+.1f}, {100 * one.high:+.1f}], in {ahead} of {len(one.values)} ahead"


def _section(name: str, rows: Rows) -> str:
    methods, measure = by_method(rows), measure_of(name)
    what = "share of hidden tests" if measure == "score" else "files all right"
    first = next(iter(methods.values()), {})
    one = next(iter(first.values()), None)
    goal = level(methods, measure)
    lines = [f"### {name}", "", f"{SETTINGS[name.partition(':')[0]].says.capitalize()}."]
    if one is not None:
        lines[-1] += f" Starts from the weights whose sha256 begins with {one['model']}."
        lines[-1] += f" {sum(one['rollouts']):,} rollouts a run, {one['tasks']} held-out tasks."
    for row in [row for row in rows if row["method"] == "start"][:1]:  # untrained, it is the same with every seed
        own = row["held_out"]
        lines[-1] += (
            f" Before training: share of hidden tests {own['sampled/score']:.1%} sampled, {own['greedy/score']:.1%}"
            f" greedy; all right {own['sampled/success']:.1%}, {own['greedy/success']:.1%}."
        )
    if goal is not None:
        lines[-1] += f" The level, where the best baseline's curve ends: {goal:.1%}."
    lines += ["", HEAD.format(what=what), "|---" * HEAD.count(" |") + "|"]
    lines += [_line(method, runs, methods.get(REFERENCE), measure, goal) for method, runs in methods.items()]
    return "\n".join([*lines, "", f"![Training curves, and differences to grpo]({_image(name)})", ""])


def _line(
    method: str,
    runs: Runs,
    reference: Runs | None,
    measure: str,
    goal: float | None,
) -> str:
    means = areas(runs, measure)
    compare = {} if reference is None or method == REFERENCE else reference
    cells = [method, str(len(runs)), _percent(figures.estimate(list(means.values())))]
    cells.append(_difference(figures.paired(means, areas(compare, measure))))
    for key in HELD_OUT:
        cells.append(_percent(figures.estimate(list(_held_out(runs, key).values()))))
        if key == HELD_OUT[0]:
            cells.append(_difference(figures.paired(_held_out(runs, key), _held_out(compare, key))))
    if goal is None:
        cells.append("")
    else:
        rollouts = next(iter(runs.values()))["rollouts"]
        cells.append(_rollouts(figures.reached(curves(runs, measure), goal, rollouts[0]), sum(rollouts)))
    return f"| {' | '.join([*cells, str(next(iter(runs.values()))['updates'])])} |"


def _held_out(runs: Runs, key: str) -> dict[int, float]:
    return {seed: row["held_out"][key] for seed, row in runs.items()}


def _difference(one: Estimate | None) -> str:
    if one is None:
        return ""
    ahead = sum(value > 0 for value in one.values)
    return f"{100 * one.mean:+.1f} [{100 * one.low:+.1f}, {100 * one.high:+.1f}], {ahead} of {len(one.values)} ahead"


def _percent(one: Estimate) -> str:
    return f"{100 * one.mean:.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}]"


def _rollouts(found: tuple[float, float, float], most: int) -> str:
    mean, low, high = (f"> {most}" if math.isinf(value) else f"{value:.0f}" for value in found)
    return mean if mean == low == high else f"{mean} [{low}, {high}]"
