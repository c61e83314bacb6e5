"""A study: its plan, its runs and rows, its figures, and that the published page is made from the published rows."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import gymnasium
import matplotlib
import numpy as np
import pytest

import codegym  # noqa: F401 - registers its environments
from algorithms.core.cli import ConfigError
from algorithms.core.model import fingerprint
from algorithms.core.trainer import Trainer
from algorithms.report.curves import read_rows
from algorithms.study import figures, plan, report
from algorithms.study.__main__ import main
from tests.algorithms.environment_for_tests import ENV
from tests.algorithms.training_for_tests import make_model

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def settings(tmp_path: Path) -> list[str]:
    model = make_model(tmp_path / "model")
    return [
        f"model.path={model}",
        f"env.id={ENV}",
        "env.workers=1",
        "rollout.n=4",
        "rollout.tasks=2",
        "rollout.max_response_tokens=6",
        "trainer.steps=3",
        "trainer.save_every=1",
        "trainer.eval_tasks=4",
        "trainer.threads=1",
    ]


def study(out: Path, settings: list[str], methods: str, seeds: str = "0,1") -> int:
    return main(["--settings", "built-in", "--methods", methods, "--seeds", seeds, "--out", str(out), *settings])


def test_a_method_s_own_keys_are_the_algorithm_s_or_full_names() -> None:
    config, cls = plan.configure("bugs", "didpo:estimator=marginal:loss.kl_coef=0", 3, "runs/x", ["optim.lr=0.25"])
    assert (cls.name, config.algorithm.estimator, config.loss.kl_coef) == ("didpo", "marginal", 0)
    assert (config.optim.lr, config.trainer.seed, config.rollout.max_refills) == (0.25, 3, 0)
    oracle = plan.configure("bugs", "oracle", 0, "runs/x")[0].algorithm
    assert oracle.estimator == "shapley"
    config = plan.configure(f"bugs:env.id={ENV}:rollout.n=8", "grpo", 0, "runs/x")[0]
    assert (config.env.id, config.rollout.n) == (ENV, 8)
    with pytest.raises(ConfigError, match=r"--settings: there is no 'hard'; there are: flaky, "):
        plan.configure("hard", "grpo", 0, "runs/x")
    with pytest.raises(ConfigError, match="there is no algorithm 'nope'"):
        plan.configure("bugs", "nope", 0, "runs/x")


def test_the_hash_is_of_what_decides_a_result() -> None:
    def mark(setting="bugs", method="grpo", seed=0, folder="runs/x", *overrides):
        return plan.digest(plan.configure(setting, method, seed, folder, overrides)[0])

    assert mark() == mark("bugs", "grpo", 7, "runs/y", "trainer.threads=1", "env.workers=9", "env.kwargs.workers=3")
    others = {
        mark("rare"),
        mark("bugs", "grpo:std=false"),
        mark("bugs", "grpo", 0, "runs/x", "trainer.steps=9"),
        mark("bugs", "grpo", 0, "runs/x", "env.kwargs.n_bugs=1"),
    }
    assert len(others | {mark()}) == 5
    assert (
        plan.label("bugs", ["trainer.threads=1", "trainer.steps=9", "optim.lr=1"]) == "bugs:trainer.steps=9:optim.lr=1"
    )


def test_names_of_files_are_short_and_differ() -> None:
    assert plan.file_name("rare:env.id=a/b-v0") == "rare-env.id=a_b-v0"
    long = [plan.file_name("bugs:model.path=" + "/folder" * 40 + end) for end in ("1", "2")]
    assert [len(name) for name in long] == [120, 120]
    assert long[0] != long[1]


@pytest.mark.parametrize("name", plan.SETTINGS)
def test_every_setting_is_one_that_the_environment_has(name: str) -> None:
    config, _ = plan.configure(name, "grpo", 0, "runs/x")
    env = gymnasium.make(config.env.id, disable_env_checker=True, **config.env.kwargs)
    _, info = env.reset(options={"index": 0})
    assert re.fullmatch(r"tiny/train/(f4b[234]|f10b10)/\d+", info["task_id"])
    env.close()


def test_every_run_once_and_its_row_is_what_the_run_left(
    tmp_path: Path, settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "study"
    assert study(out, settings, "grpo,grpo:reward=process") == 0
    rows = read_rows(out / "rows.jsonl")
    assert [(row["seed"], row["method"]) for row in rows] == [
        (0, "grpo"), (0, "grpo:reward=process"), (1, "grpo"), (1, "grpo:reward=process"),
    ]  # fmt: skip
    for row in rows:
        (folder,) = out.glob(f"*/{row['method'].replace(':', '-')}-seed{row['seed']}")
        assert ("reward: process" in (folder / "config.yaml").read_text()) == row["method"].endswith("process")
        steps, (last,) = read_rows(folder / "metrics.jsonl"), read_rows(folder / "eval.jsonl")
        assert row["rollouts"] == [8, 8, 8], "equal rollouts"
        assert row["score"] == pytest.approx([step["score/train"] for step in steps], abs=1e-4)
        assert row["held_out"]["greedy/success"] == pytest.approx(last["greedy/success"], abs=1e-4)

    monkeypatch.setattr(Trainer, "run", lambda self: pytest.fail("a complete run was run again"))
    assert study(out, settings, "grpo,grpo:reward=process") == 0
    assert read_rows(out / "rows.jsonl") == rows


def test_rows_are_repeated_and_compared(
    tmp_path: Path, settings: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert study(tmp_path / "first", [*settings, "optim.lr=0.125"], "grpo,rloo", "0,1") == 0
    rows = read_rows(tmp_path / "first" / "rows.jsonl")
    assert "optim.lr=0.125" in rows[0]["setting"]
    rows[2]["score"][1] += 0.5
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    capsys.readouterr()
    command = ["repeat", "--rows", str(tmp_path / "rows.jsonl"), "--out", str(tmp_path / "again")]
    assert main([*command, "--methods", "grpo", "trainer.threads=1"]) == 1
    one, other = capsys.readouterr().out.splitlines()
    assert one.startswith("1/2  built-in:")
    assert one.endswith("  grpo  seed 0: the same")
    assert other.endswith("  grpo  seed 1: another score")
    assert main([*command, "--methods", "rloo", "--seeds", "1", "trainer.threads=1"]) == 0
    assert len(read_rows(tmp_path / "again" / "rows.jsonl")) == 3

    monkeypatch.setattr(Trainer, "run", lambda self: pytest.fail("a run that cannot be the same was begun"))
    assert main([*command, "--seeds", "0", "loss.kl_coef=0.5"]) == 2
    assert re.search(r"grpo, seed 0 of built-in\S* was made with settings=\w+, which is", capsys.readouterr().err)
    assert main([*command, "--seeds", "7"]) == 2
    assert "--seeds 7: " in capsys.readouterr().err


def test_a_killed_run_goes_on_to_the_same_row(
    tmp_path: Path, settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert study(tmp_path / "whole", settings, "grpo", "0") == 0
    finish = Trainer._finish

    def killed(self, step, *rest) -> None:
        finish(self, step, *rest)
        if step == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_finish", killed)
        with pytest.raises(KeyboardInterrupt):
            study(tmp_path / "cut", settings, "grpo", "0")
    assert not (tmp_path / "cut" / "rows.jsonl").exists()
    taken: list[int] = []
    step = Trainer._step
    monkeypatch.setattr(Trainer, "_step", lambda self, number, *rest: taken.append(number) or step(self, number, *rest))
    assert study(tmp_path / "cut", settings, "grpo", "0") == 0
    assert taken == [3]
    whole, cut = (read_rows(tmp_path / name / "rows.jsonl")[0] | {"seconds": 0} for name in ("whole", "cut"))
    assert whole == cut


def test_a_row_of_other_settings_is_refused_and_errors_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = plan.digest(plan.configure("bugs", "grpo", 0, "runs/x")[0])
    row = {"setting": "bugs", "method": "grpo", "seed": 0, "settings": mark, "model": "another"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    assert main(["--settings", "bugs", "--methods", "grpo", "--seeds", "0", "--out", str(tmp_path)]) == 2
    assert "rows.jsonl holds grpo, seed 0 of bugs with another model; choose" in capsys.readouterr().err
    assert main(["--methods", "nope", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "error: there is no algorithm 'nope' in algorithms/\n"
    assert main(["--seeds", "x"]) == 2
    assert capsys.readouterr().err == "error: --seeds: 'x' is no whole number; write them as 0,1,2\n"
    assert main(["report", "--rows", str(tmp_path / "none")]) == 2
    assert "no rows; python -m algorithms.study makes them" in capsys.readouterr().err


def test_intervals_of_known_values() -> None:
    same = figures.estimate([0.25] * 5)
    assert (same.mean, same.low, same.high) == (0.25, 0.25, 0.25)
    spread = figures.estimate([0.0, 1.0])  # the mean of two draws: 0, .5 or 1
    assert (spread.mean, spread.low, spread.high) == (0.5, 0.0, 1.0)
    values = np.random.default_rng(1).normal(size=400)
    found = figures.estimate(values.tolist())
    half = 1.96 * values.std() / 20
    assert (found.high - found.mean, found.mean - found.low) == pytest.approx((half, half), rel=0.05)
    difference = figures.paired({0: 0.5, 1: 0.75, 2: 0.0}, {1: 0.5, 0: 0.5, 9: 1.0})
    assert difference is not None
    assert difference.values == (0.0, 0.25)
    assert figures.paired({0: 1.0}, {1: 1.0}) is None


def test_settings_count_alike_and_their_seeds_are_drawn_within_them() -> None:
    many, one = figures.estimate([0.0, 1.0] * 50), figures.estimate([0.25, 0.25])
    found = figures.over_settings([many, one])
    assert (found.mean, found.values) == (0.375, (0.5, 0.25))
    half = 1.96 * 0.05 / 2  # the first setting's, halved: the other has no spread
    assert (found.high - found.mean, found.mean - found.low) == pytest.approx((half, half), rel=0.1)


def test_rollouts_to_a_level_count_full_windows() -> None:
    steps = 3 * figures.WINDOW
    ramp = np.arange(1.0, steps + 1)
    smoothed = figures.smooth(np.array([ramp]))[0]
    assert smoothed[0] == 1
    assert smoothed[-1] == pytest.approx(ramp[-figures.WINDOW :].mean())
    first = next(k for k, value in enumerate(smoothed, 1) if value >= 10 and k >= figures.WINDOW)
    assert figures.reached(np.array([ramp, ramp]), 10, 16) == (16 * first,) * 3
    assert figures.reached(np.array([ramp[::-1]]), steps, 4) == (math.inf,) * 3, "one good step is luck"
    low = np.zeros((2, steps))
    low[0] = 1
    mean, best, worst = figures.reached(low, 0.6, 1)
    assert (mean, best, worst) == (math.inf, figures.WINDOW, math.inf)


def row(method: str, seed: int, curve: list[float], **held_out: float) -> dict:
    keys = {f"{mode}/{what}": 0.5 for mode in ("sampled", "greedy") for what in ("success", "score", "tokens")}
    return {
        "setting": "bugs", "method": method, "seed": seed, "settings": "0", "rollouts": [16] * len(curve), "updates": 1,
        "tasks": 64, "model": "9f", "score": curve, "success": curve, "held_out": keys | held_out, "seconds": 9,
    }  # fmt: skip


def test_a_report_says_what_the_rows_say_and_only_replaces_its_own_part(tmp_path: Path) -> None:
    curve = np.linspace(0.2, 0.6, 12)
    rows = [row("grpo", seed, (curve + 0.01 * seed).tolist()) for seed in (0, 1)]
    rows += [row("oracle", seed, (curve + 0.1 + 0.01 * seed).tolist()) for seed in (0, 1)]
    rows += [row("start", 0, [], **{"sampled/score": 0.25})]
    rows += [row("rloo", 0, (curve + 0.3).tolist())]  # of one seed: sets no level
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    page = tmp_path / "page.md"
    page.write_text(f"above\n{report.BEGIN}\nold\n{report.END}\nbelow\n")
    command = ["report", "--rows", str(tmp_path / "rows.jsonl"), "--page", str(page)]
    assert main(command) == 0
    first = page.read_text()
    assert first.startswith("above\n")
    assert first.endswith("\nbelow\n")
    assert "old" not in first
    assert "Before training: share of hidden tests 25.0% sampled" in first
    grpo, oracle = (
        next(line for line in first.splitlines() if line.startswith(f"| {name} ")) for name in ("grpo", "oracle")
    )
    assert oracle.startswith(
        "| oracle | 2 | 50.5 [50.0, 51.0] | +10.0 [+10.0, +10.0], 2 of 2 ahead | 50.0 [50.0, 50.0] | +0.0 ["
    )
    assert grpo.startswith("| grpo | 2 | 40.5 [40.0, 41.0] |  | 50.0")
    ends = figures.smooth(np.array([curve + 0.005]))[0]
    assert f"ends: {ends[-1]:.1%}." in first
    assert grpo.endswith("| 192 [192, > 192] | 1 |")
    assert (tmp_path / "img" / "study-bugs.svg").read_text().startswith("<svg")
    assert main(command) == 0
    assert page.read_text() == first
    assert "All settings" not in first
    assert not (tmp_path / "img" / "study-all.svg").exists()
    other = [one | {"setting": "two", "score": [x - 0.05 * (one["method"] == "oracle") for x in one["score"]]}
             for one in rows if one["method"] != "start"]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in [*rows, *other]))
    assert main(command) == 0
    cells = re.findall(r"(<text[^>]*>)([+-][0-9.]+)</text>", (tmp_path / "img" / "study-all.svg").read_text())
    assert sorted((text, "weight: 700" in style) for style, text in cells) == [
        ("+10.0", True),
        ("+30.0", False),  # one seed has no interval
        ("+30.0", False),
        ("+5.0", True),
    ]
    together = page.read_text().partition("### All settings")[2].partition("### bugs")[0]
    assert "| oracle | 2 | 4 | +7.5 [+7.5, +7.5], in 2 of 2 ahead | +0.0 [+0.0, +0.0], in 0 of 2 ahead |" in together
    assert "| rloo | 2 | 2 | +30.0 [+30.0, +30.0], in 2 of 2 ahead |" in together
    assert report.SAME_LOSS not in together
    same = [one | {"method": report.SAME_LOSS} for one in [*rows, *other] if one["method"] == "grpo"]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in [*rows, *other, *same]))
    assert main(command) == 0
    shared = page.read_text().partition(f"to {report.SAME_LOSS}")[2].partition("### bugs")[0]
    assert "| oracle | 2 | 4 | +7.5 [+7.5, +7.5], in 2 of 2 ahead |" in shared
    assert "| rloo |" not in shared  # its loss is another
    page.write_text("no marks")
    assert main(command) == 2


def test_the_published_page_is_made_from_the_published_rows() -> None:
    rows = read_rows(DOCS / "data" / "study.jsonl")
    assert rows
    page = (DOCS / "study.md").read_text()
    assert page.partition(report.BEGIN)[2].partition(report.END)[0] == f"\n\n{report.text(rows)}\n"
    for name, plot in report.make_plots(rows):
        published = (DOCS / name).read_text()
        if matplotlib.__version__ in published:
            assert published == plot
        else:
            assert published.startswith("<svg")


def test_the_published_rows_are_of_the_settings_as_they_are() -> None:
    rows = read_rows(DOCS / "data" / "study.jsonl")
    kinds = {(one["setting"], one["method"]): one for one in rows}
    marks = {}
    for (setting, method), one in kinds.items():
        name, *overrides = setting.split(":")
        config, _ = plan.configure(name, method, 0, "runs/x", overrides)
        marks[setting, method] = plan.digest(config)
        assert sum(one["rollouts"]) == config.trainer.steps * config.rollout.tasks * config.rollout.n
    for one in rows:
        assert one["model"] == fingerprint("tiny10" if one["setting"] == "many" else "tiny")
        assert one["settings"] == marks[one["setting"], one["method"]], (one["setting"], one["method"], one["seed"])
    assert len({(one["setting"], one["method"], one["seed"]) for one in rows}) == len(rows), "each run once"
