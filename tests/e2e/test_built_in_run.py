"""The built-in run through its command: what it leaves, that a kill costs nothing, that ranks change nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.commands import ROOT, rows, succeed, train


@pytest.mark.parametrize("algorithm", ["didpo", "grpo", "gigpo"])
def test_one_command_trains_and_leaves_a_run(algorithm: str, tmp_path: Path) -> None:
    printed = succeed(train(tmp_path, "trainer.steps=1", algorithm=algorithm))
    assert "held-out success (95 % interval)" in printed
    (step,) = rows(tmp_path / "metrics.jsonl")
    assert step["trajectories"] >= 8
    assert step["infra_errors"] == 0
    (timing,) = rows(tmp_path / "timing.jsonl")
    assert {"timing/diff", "timing/credit", "timing/step"} <= timing.keys()
    before, after = rows(tmp_path / "eval.jsonl")
    assert (before["step"], after["step"]) == (0, 1)
    assert (tmp_path / "checkpoints" / "step_000001" / "model.safetensors").exists()
    assert (tmp_path / "report.html").stat().st_size > 50_000


def test_killed_at_a_random_moment_and_started_again_it_ends_with_the_same_bytes(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    settings = ("trainer.steps=4", "trainer.save_every=1", "trainer.report=false")
    began = time.monotonic()
    succeed(train(whole, *settings))
    took = time.monotonic() - began
    # Any moment may come, so the seed is not fixed; it is part of what a failure shows.
    seed = random.randrange(10**6)
    moment = random.Random(seed).uniform(0.4, 0.95) * took
    process = subprocess.Popen(train(killed, *settings), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    succeed(train(killed, *settings))
    for name in ("metrics.jsonl", "eval.jsonl", "checkpoints/step_000004/model.safetensors"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), (name, seed, moment, took)
    assert sorted(os.listdir(killed / "checkpoints")) == sorted(os.listdir(whole / "checkpoints"))


def test_two_ranks_and_one_process_give_the_same_losses(tmp_path: Path) -> None:
    ways = {"process": ("trainer.ray=false",), "two": ("trainer.ray=true", "distributed.ranks=2")}
    losses = {}
    for name, way in ways.items():
        succeed(train(tmp_path / name, "trainer.steps=5", "trainer.eval_tasks=2", "trainer.report=false", *way))
        losses[name] = [row["loss/policy"] for row in rows(tmp_path / name / "metrics.jsonl")]
    assert len(losses["process"]) == 5
    assert any(abs(loss) > 1e-4 for loss in losses["process"])
    assert losses["two"] == pytest.approx(losses["process"], abs=1e-5)
