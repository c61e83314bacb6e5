"""A study: runs that are complete are read, the others are run; one table and one plot come out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from algorithms import study
from algorithms.core.trainer import Trainer
from tests.algorithms.environment_for_tests import ENV
from tests.algorithms.training_for_tests import make_model


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
        "trainer.steps=2",
        "trainer.eval_tasks=4",
        "trainer.threads=1",
        "trainer.logger=[]",
        "trainer.report=false",
    ]


def test_every_run_once_and_the_figures_are_those_of_the_runs(
    tmp_path: Path, settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "study"
    command = ["--algorithms", "grpo,grpo:algorithm.reward=process", "--seeds", "0,1", "--out", str(out), *settings]
    assert study.main(command) == 0
    table = (out / "study.md").read_text()
    assert (out / "study.png").read_bytes().startswith(b"\x89PNG")
    for name in ("grpo", "grpo:algorithm.reward=process"):
        after = []
        for seed in (0, 1):
            folder = out / f"{name.replace(':', '-')}-seed{seed}"
            own = "reward: process" in (folder / "config.yaml").read_text()
            assert own == name.endswith("process")
            rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
            assert [row["trajectories"] for row in rows] == [8, 8], "equal rollouts"
            after.append(json.loads((folder / "eval.jsonl").read_text().splitlines()[-1])["sampled/success"])
        row = next(line for line in table.splitlines() if line.startswith(f"| {name} "))
        assert f"{sum(after) / 2:.1%} [{min(after):.1%}, {max(after):.1%}]" in row
        assert row.startswith(f"| {name} | 2 |")

    monkeypatch.setattr(Trainer, "run", lambda self: pytest.fail("a complete run was run again"))
    assert study.main(command) == 0
    assert (out / "study.md").read_text() == table


def test_a_complete_run_of_other_settings_is_refused_and_a_longer_one_is_cut(
    tmp_path: Path, settings: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--algorithms", "grpo", "--seeds", "0", "--out", str(tmp_path / "study"), *settings]
    first = study.run("grpo", 0, tmp_path / "study", settings)
    assert study.main([*command, "optim.lr=0.5"]) == 2
    assert "was begun with optim.lr=" in capsys.readouterr().err
    with (tmp_path / "study" / "grpo-seed0" / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"step": 3, "success/train": 99.0}) + "\n")
    assert study.run("grpo", 0, tmp_path / "study", settings).curve.tolist() == first.curve.tolist()


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert study.main(["--algorithms", "nope", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "error: there is no algorithm 'nope' in algorithms/\n"
