"""Checkpoints: whole or not at all; a run that was killed ends as one that was not."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import signal
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch

from algorithms.core import checkpoint
from algorithms.core.checkpoint import CheckpointError, State
from algorithms.core.trainer import Trainer
from tests.algorithms.training_for_tests import Relative, make_config, make_model, run_in_process


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("checkpoint") / "model")


def state(step: int) -> State:
    return State(step, 8 * step, {"metrics": 5}, 1, {"trainer": {"seed": 0}})


def write(folder: Path) -> None:
    (folder / "weights").write_bytes(b"w" * 100)


def names(run_dir: Path) -> list[str]:
    return sorted(path.name for path in (run_dir / "checkpoints").iterdir())


def test_what_is_saved_is_read_and_the_last_ones_are_kept(tmp_path) -> None:
    for step in (2, 4, 6):
        checkpoint.save(tmp_path, state(step), write, keep=2)
    assert names(tmp_path) == ["step_000004", "step_000006"]
    found = checkpoint.latest(tmp_path)
    assert found is not None
    assert checkpoint.read(found) == state(6)
    assert (found / "weights").read_bytes() == b"w" * 100


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("PytorchStreamWriter failed writing file")]
)
def test_a_full_disk_leaves_the_last_good_one(tmp_path, error: Exception) -> None:
    checkpoint.save(tmp_path, state(2), write, keep=1)

    def full(folder: Path) -> None:
        write(folder)
        raise error

    with pytest.raises(CheckpointError, match=r"step 4 in trainer\.run_dir=.*(No space|failed writing)") as caught:
        checkpoint.save(tmp_path, state(4), full, keep=1)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == ["step_000002"]
    assert checkpoint.read(tmp_path / "checkpoints" / "step_000002") == state(2)


def test_a_disk_that_fills_in_the_run_stops_it_with_the_checkpoint_before(model, tmp_path, monkeypatch) -> None:
    config = make_config(model, tmp_path / "run", trainer__save_every=2)
    real, calls = checkpoint._force, []

    def fill(path: Path) -> None:
        calls.append(path)
        if "partial_000004" in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(path)

    monkeypatch.setattr(checkpoint, "_force", fill)
    with pytest.raises(OSError, match=r"no checkpoint of step 4 in trainer\.run_dir"):
        Trainer(config, Relative()).run()
    assert names(tmp_path / "run") == ["step_000002"]
    monkeypatch.setattr(checkpoint, "_force", real)
    assert Trainer(config, Relative()).run().steps == 5


def test_half_a_checkpoint_is_not_found(tmp_path) -> None:
    checkpoint.save(tmp_path, state(2), write, keep=2)
    partial = tmp_path / "checkpoints" / ".partial_000004"
    partial.mkdir()
    write(partial)
    (tmp_path / "checkpoints" / "step_000006").mkdir()  # no state.json
    found = checkpoint.latest(tmp_path)
    assert found is not None
    assert found.name == "step_000002"


def test_what_resume_asks_for_must_be_there(tmp_path) -> None:
    assert checkpoint.find(tmp_path, "auto") is None
    assert checkpoint.find(tmp_path, "never") is None
    with pytest.raises(ValueError, match=r"trainer\.resume=.*nowhere is no checkpoint"):
        checkpoint.find(tmp_path, str(tmp_path / "nowhere"))
    made = checkpoint.save(tmp_path, state(2), write, keep=2)
    assert checkpoint.find(tmp_path, "auto") == checkpoint.find(tmp_path, str(made)) == made
    with pytest.raises(ValueError, match=r"trainer\.resume=never, but .* holds a run"):
        checkpoint.find(tmp_path, "never")


def left(run_dir: Path) -> dict[str, bytes]:
    """Everything of a run that must not depend on its history."""
    files = [run_dir / "metrics.jsonl", run_dir / "eval.jsonl", *run_dir.glob("trajectories/*")]
    last = checkpoint.latest(run_dir)
    assert last is not None
    files.append(last / "model.safetensors")
    moments = torch.load(last / "optimizer.pt", weights_only=True)["state"]
    state = {f"{name} {key}": value.numpy().tobytes() for name, own in moments.items() for key, value in own.items()}
    return state | {str(path.relative_to(run_dir)): path.read_bytes() for path in files}


def test_going_on_at_any_checkpoint_gives_the_same_bytes(model, tmp_path) -> None:
    """S1: from the last step of a shorter run too."""
    whole = make_config(model, tmp_path / "whole", trainer__steps=6, trainer__eval_every=3)
    Trainer(whole, Relative()).run()
    short = make_config(model, tmp_path / "parts", trainer__steps=3, trainer__eval_every=3)
    assert Trainer(short, Relative()).run().steps == 3
    short.trainer.steps = 6
    summary = Trainer(short, Relative()).run()
    assert [step for step, _ in summary.evals] == [0, 3, 6]
    right, got = left(tmp_path / "whole"), left(tmp_path / "parts")
    assert got.pop("trajectories/step_000003.jsonl")  # its last step then
    assert got == right


def test_a_finished_run_has_nothing_left_to_do(model, tmp_path) -> None:
    config = make_config(model, tmp_path / "run")
    Trainer(config, Relative()).run()
    before = left(tmp_path / "run")
    summary = Trainer(config, Relative()).run()
    assert summary.steps == 5
    assert len(summary.evals) == 2
    assert left(tmp_path / "run") == before


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt"])
def test_a_damaged_checkpoint_is_named(model, tmp_path, name) -> None:
    config = make_config(model, tmp_path / "run", trainer__steps=1)
    Trainer(config, Relative()).run()
    file = tmp_path / "run" / "checkpoints" / "step_000001" / name
    whole = file.read_bytes()
    config.trainer.steps = 2
    for damaged in (b"garbage", whole[: len(whole) // 2], b""):
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"{name} is damaged; remove its folder"):
            Trainer(config, Relative()).run()


def test_other_settings_are_no_continuation(model, tmp_path) -> None:
    config = make_config(model, tmp_path / "run", trainer__steps=1)
    Trainer(config, Relative()).run()
    config.optim.lr, config.trainer.steps = 1.0, 2
    with pytest.raises(ValueError, match=r"was begun with optim\.lr=0\.003; keep that or choose another folder"):
        Trainer(config, Relative())


def test_a_path_of_another_run_begins_a_folder_of_its_own(model, tmp_path) -> None:
    first = make_config(model, tmp_path / "first", trainer__steps=4, trainer__save_every=2)
    Trainer(first, Relative()).run()
    path = tmp_path / "first" / "checkpoints" / "step_000002"
    second = make_config(model, tmp_path / "second", trainer__steps=4, trainer__resume=str(path))
    Trainer(second, Relative()).run()
    rows, all_rows = ((tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("second", "first"))
    assert rows == all_rows[2:]
    back = make_config(model, tmp_path / "first", trainer__steps=4, trainer__resume=str(path))
    before = left(tmp_path / "first")
    Trainer(back, Relative()).run()
    assert left(tmp_path / "first") == before


def test_a_killed_run_ends_as_one_that_was_not(model, tmp_path) -> None:
    """S2: kill -9 at random moments, inside steps and inside checkpoints, then let the run end."""
    steps = 40
    reference = make_config(model, tmp_path / "whole", trainer__steps=steps, trainer__save_every=2)
    Trainer(reference, Relative()).run()
    context = multiprocessing.get_context("forkserver")  # imports torch once for all the processes to be killed
    context.set_forkserver_preload(["tests.algorithms.training_for_tests", "algorithms.core.trainer"])
    moments, metrics = random.Random(0), tmp_path / "killed" / "metrics.jsonl"

    def start() -> BaseProcess:
        process = context.Process(target=run_in_process, args=(model, tmp_path / "killed", steps))
        process.start()
        return process

    for target in (1, 5, 12, 19, 26, 33):  # rows of metrics; the moment after them is drawn
        process = start()
        while process.is_alive() and (not metrics.exists() or metrics.read_bytes().count(b"\n") < target):
            process.join(0.002)
        process.join(moments.random() * 0.1)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    last = start()
    last.join()
    assert last.exitcode == 0
    assert left(tmp_path / "killed") == left(tmp_path / "whole")
