"""The loop: it learns, what it leaves, whom it tells, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from transformers import AutoModelForCausalLM, AutoTokenizer

from algorithms.core import metrics
from algorithms.core.check import validate
from algorithms.core.trainer import Observer, Trainer
from algorithms.core.trajectory import Trajectory
from codegym.spans import reply_bytes
from tests.algorithms.training_for_tests import Relative, make_config, make_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("trainer") / "model")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Recorder(Observer):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.groups: list[Any] = []
        self.metrics: list[dict[str, Any]] = []
        self.timing: list[dict[str, float]] = []

    def on_start(self, config, total_steps, first_step) -> None:
        self.told.append(("start", total_steps, first_step))

    def on_phase(self, step, name) -> None:
        self.told.append((name, step))

    def on_step(self, step, metrics, timing) -> None:
        self.told.append(("step", step))
        self.metrics.append(metrics)
        self.timing.append(timing)

    def on_eval(self, step, results) -> None:
        self.told.append(("eval", step))

    def on_trajectories(self, step, groups) -> None:
        self.groups += groups

    def on_end(self, summary) -> None:
        self.told.append(("end", summary.steps))


def test_it_learns(model, tmp_path) -> None:
    config = make_config(model, tmp_path / "run", trainer__steps=30, rollout__tasks=4, rollout__n=8)
    summary = Trainer(config, Relative()).run()
    curve = [row["reward/mean"] for row in rows(tmp_path / "run" / "metrics.jsonl")]
    assert np.mean(curve[:3]) < 1.2  # a random reply has half of its bytes right, in two turns
    assert np.mean(curve[-3:]) > 1.7
    (_, before), (_, after) = summary.evals
    assert before["sampled/success"] < 0.3 < 0.7 < after["sampled/success"]
    assert before["sampled/low"] <= before["sampled/success"] <= before["sampled/high"]


def test_what_observers_are_told(model, tmp_path) -> None:
    seen = Recorder()
    config = make_config(model, tmp_path / "run", trainer__steps=2, trainer__eval_every=1)
    Trainer(config, Relative(), [seen, Observer()]).run()
    step = ["rollout", "credit", "update", "sync"]
    both = ["eval sampled", "eval greedy"]
    expected = [("start", 2, 1), *((name, 0) for name in [*both, "eval"])]
    expected += [(name, 1) for name in [*step, "step", *both, "eval"]]
    expected += [(name, 2) for name in [*step, "step", *both, "eval", "checkpoint"]]
    assert seen.told == [*expected, ("end", 2)]
    assert len(seen.groups) == 4
    for group, credit in seen.groups:
        assert [len(a) for own in credit.advantages for a in own] == [
            len(t.response_ids) for m in group for t in m.turns
        ]
    wanted = {"timing/rollout", "timing/generate", "timing/environment", "timing/diff", "timing/credit"}
    assert wanted | {"timing/update", "timing/sync", "timing/step"} <= seen.timing[0].keys()
    names = "reward/mean success/train response/tokens response/truncated action/invalid loss/policy loss/entropy"
    names += " clip/low clip/high grad_norm advantage/std groups/dropped infra_errors credit/groups"
    assert set(names.split()) <= seen.metrics[0].keys()
    assert not [name for name in seen.metrics[0] if name.startswith("timing")]
    assert seen.metrics[0]["engine/gap"] < 1e-5
    assert seen.metrics[0]["loss/ratio"] == pytest.approx(1.0, abs=1e-6)


def test_the_run_folder(model, tmp_path) -> None:
    run = tmp_path / "run"
    config = make_config(model, run, trainer__steps=11)
    Trainer(config, Relative()).run()
    assert [row["step"] for row in rows(run / "metrics.jsonl")] == list(range(1, 12))
    assert [row["step"] for row in rows(run / "timing.jsonl")] == list(range(1, 12))
    assert [row["step"] for row in rows(run / "eval.jsonl")] == [0, 11]
    assert yaml.safe_load((run / "config.yaml").read_text())["rollout"]["n"] == 4
    assert sorted(path.name for path in (run / "checkpoints").iterdir()) == ["step_000010", "step_000011"]
    saved = sorted((run / "trajectories").iterdir())
    assert [path.stem for path in saved] == ["step_000001", "step_000010", "step_000011"]
    tokenizer = AutoTokenizer.from_pretrained(model)
    for group in rows(saved[0]):
        for member in group["trajectories"]:
            for turn in member["turns"]:
                assert len(turn["advantages"]) == len(turn["token_ends"]) == len(turn["response_ids"])
                assert turn["token_ends"][-1] == len(reply_bytes(turn["reply"]))
                assert turn["reply"] == tokenizer.decode(turn["response_ids"], skip_special_tokens=True)
                assert turn["diff"]["files"] == []
            assert member["return"] == pytest.approx(sum(turn["reward"] for turn in member["turns"]))


def test_a_checkpoint_is_a_model_that_can_be_trained_further(model, tmp_path) -> None:
    Trainer(make_config(model, tmp_path / "run", trainer__steps=1), Relative()).run()
    folder = tmp_path / "run" / "checkpoints" / "step_000001"
    start, end = (AutoModelForCausalLM.from_pretrained(path) for path in (model, folder))
    assert not torch.equal(start.lm_head.weight, end.lm_head.weight)
    assert Trainer(make_config(folder, tmp_path / "next", trainer__steps=1), Relative()).run().steps == 1


def test_the_same_seed_gives_the_same_bytes(model, tmp_path) -> None:
    for name, workers in (("one", 1), ("two", 4)):
        Trainer(make_config(model, tmp_path / name, trainer__steps=3, env__workers=workers), Relative()).run()
    one, two = ((tmp_path / name / "metrics.jsonl").read_bytes() for name in ("one", "two"))
    assert one == two


def test_infra_errors_are_counted_and_never_learned_from(model, tmp_path) -> None:
    """S5."""
    seen = Recorder()
    config = make_config(model, tmp_path / "run", env__kwargs={"fail_at": 3}, rollout__tasks=6)
    Trainer(config, Relative(), [seen]).run()
    assert sum(row["infra_errors"] for row in seen.metrics) > 0
    assert all(row["trajectories"] + row["infra_errors"] == 24 for row in seen.metrics)
    assert all(trajectory.infra_error is None for group, _ in seen.groups for trajectory in group)
    results = rows(tmp_path / "run" / "eval.jsonl")[0]
    assert (results["sampled/tasks"], results["sampled/infra_errors"]) == (5, 3)  # seeds 0, 3 and 6 fail


def test_a_step_that_teaches_nothing_changes_nothing(model, tmp_path) -> None:
    """All groups dropped: the step is logged, engine and trainer are compared, and the weights stay."""
    equal = {"reward": 0.5}
    config = make_config(model, tmp_path / "run", env__kwargs=equal, rollout__dynamic_sampling=True, trainer__steps=2)
    Trainer(config, Relative()).run()
    logged = rows(tmp_path / "run" / "metrics.jsonl")
    assert [(row["groups/kept"], row["groups/dropped"]) for row in logged] == [(0, 6), (0, 6)]
    assert all(0 < row["engine/gap"] <= row["engine/gap_max"] < 1e-4 and row["engine/corrected"] == 0 for row in logged)
    start = AutoModelForCausalLM.from_pretrained(model)
    end = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "checkpoints" / "step_000002")
    assert all(torch.equal(a, b) for a, b in zip(start.parameters(), end.parameters(), strict=True))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rollout__n": 1}, r"rollout\.n=1: .* use at least 2"),  # A6
        ({"rollout__top_p": 0.9, "loss__epochs": 2}, r"rollout\.top_p < 1 .* loss\.epochs=1"),  # L14
        ({"rollout__top_k": 20, "loss__kl_coef": 0.1}, r"rollout\.top_k > 0 .* loss\.kl_coef=0"),
        ({"rollout__temperature": 0.0}, r"rollout\.temperature=0\.0 must be > 0"),
        ({"rollout__engine": "vllm"}, r"rollout\.engine='vllm' is unknown; there are: native"),
        ({"distributed__ranks": 2}, r"distributed\.ranks=2 needs trainer\.ray=true"),
        ({"distributed__engines": 2}, r"distributed\.engines=2 needs trainer\.ray=true"),
        ({"distributed__backend": "mpi"}, r"distributed\.backend='mpi' is unknown"),
        ({"model__path": "./nowhere"}, r'model\.path=\./nowhere: no such folder; give .* "tiny"'),
        ({"model__dtype": "int8"}, r"model\.dtype='int8'"),
        ({"loss__clip_ratio_c": 1.0}, r"loss\.clip_ratio_c=1\.0 must be > 1"),
        ({"trainer__resume": "runs/none/checkpoints/step_000001"}, r"trainer\.resume=.* is no checkpoint"),
        ({"trainer__steps": -1}, r"trainer\.steps=-1 must not be negative"),
        ({"env__workers": 0}, r"env\.workers=0 must be at least 1"),
        ({"optim__grad_clip": 0.0}, r"optim\.grad_clip=0\.0 must be > 0"),
    ],
)
def test_bad_settings_are_refused_in_one_line(model, tmp_path, changes: dict[str, Any], message: str) -> None:
    config = make_config(model, tmp_path / "run", **changes)
    with pytest.raises(ValueError, match=message) as caught:
        validate(config)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_folder_without_a_model_is_refused(tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"model\.path=.*empty: the folder holds no config\.json"):
        validate(make_config(tmp_path / "empty", tmp_path / "run"))


def test_metrics_of_nothing_are_numbers() -> None:
    empty = metrics.of_trajectories([Trajectory("t", 0, [])]) | metrics.of_credits([])
    assert all(np.isfinite(value) for value in empty.values())
