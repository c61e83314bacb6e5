"""What a person may get wrong, or a machine lack: one line that names the remedy, and nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from algorithms.core.cli import main
from codegym.cli import main as codegym
from sandbox.base import SandboxUnavailable
from tests.e2e.commands import SMALL

CASES = {
    "a model that is not there": (["model.path=./nowhere"], "model.path=./nowhere: no such folder"),
    "a folder that could be a name on the hub": (["model.path=tests/none"], "model.path=tests/none: no such folder"),
    "a key misspelt": (["rollout.temprature=1"], "did you mean rollout.temperature?"),
    "a group of one": (["rollout.n=1"], "use at least 2"),
    "an option the environment does not have": (["env.kwargs.n_bug=1"], "did you mean 'n_bugs'?"),
    "more ranks than processes": (["distributed.ranks=2"], "trainer.ray=true"),
    "a file for a folder": (["trainer.run_dir=README.md"], "trainer.run_dir=README.md is a file"),
    "an environment that does not exist": (["env.id=codegym/Nothing-v0"], "codegym/Nothing-v0"),
}


@pytest.mark.parametrize("case", CASES)
def test_training(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overrides, remedy = CASES[case]
    assert main("didpo", [*SMALL, f"trainer.run_dir={tmp_path}/run", "trainer.logger=[]", *overrides]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert remedy in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_hub_out_of_reach(more: list[str], tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert main("didpo", [*SMALL, f"trainer.run_dir={tmp_path}/run", "model.path=nobody/nothing", *more]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: model.path=nobody/nothing")
    assert error.count("\n") == 1
    assert "a hub name that this machine can reach" in error
    assert list(tmp_path.iterdir()) == []


def test_no_sandbox(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*args: object, **kwargs: object) -> None:
        raise SandboxUnavailable("no sandbox here; run python -m sandbox doctor")

    monkeypatch.setattr("benchmarks.grading.caching.LazyRunner.get", none)
    assert main("didpo", [*SMALL, f"trainer.run_dir={tmp_path}", "trainer.logger=[]"]) == 2
    assert capsys.readouterr().err == "error: no sandbox here; run python -m sandbox doctor\n"


def test_a_task_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert codegym(["show", "tiny/train/f9b9"]) != 0
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "ids look like" in error
