"""Checkpoints: whole or not there at all.

A checkpoint is written beside its place, forced to the disk and then renamed, so a kill or a full disk at any moment
leaves the last good one. All randomness of a run is a function of its seed and its position, so weights, optimiser,
position and the lengths of the logs are the whole state::

    save(run_dir, State(step=40, position=320, ...), write=policy.save, keep=2)
    folder = latest(run_dir)                          # .../checkpoints/step_000040, or None
    state = read(folder)
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

STATE = "state.json"


class CheckpointError(OSError):
    """A checkpoint could not be written; earlier ones are untouched."""


@dataclass(frozen=True)
class State:
    """What a checkpoint holds beside the tensors.

    Attributes:
        step: updates done; ``position``: tasks drawn.
        lengths: bytes of each log at this moment.
        threads: torch's threads; another number rounds sums otherwise.
        settings: the configuration, as plain data.
    """

    step: int
    position: int
    lengths: Mapping[str, int]
    threads: int
    settings: Mapping[str, Any]


def save(run_dir: Path, state: State, write: Callable[[Path], None], keep: int) -> Path:
    """Write a checkpoint with ``write(folder)`` for the tensors; then remove all but the newest ``keep``.

    Raises CheckpointError, one line that names the setting, if it cannot be written.
    """
    parent = run_dir / "checkpoints"
    final, partial = parent / f"step_{state.step:06d}", parent / f".partial_{state.step:06d}"
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        write(partial)
        (partial / STATE).write_text(json.dumps(dataclasses.asdict(state), indent=1))
        for file in (path for path in partial.rglob("*") if path.is_file()):
            _force(file)
        _force(partial)
        shutil.rmtree(final, ignore_errors=True)  # only there if a run was cut back to before it
        os.rename(partial, final)
        _force(parent)
    except (OSError, RuntimeError, SafetensorError) as error:  # torch and safetensors wrap the system's error
        shutil.rmtree(partial, ignore_errors=True)
        reason = str(error).splitlines()[0]
        raise CheckpointError(
            f"no checkpoint of step {state.step} in trainer.run_dir={run_dir}: {reason}; earlier ones are whole: make"
            " room and give the same command again"
        ) from error
    for old in _all(run_dir)[: -max(keep, 1)]:
        shutil.rmtree(old)
    return final


def latest(run_dir: Path) -> Path | None:
    """The newest whole checkpoint of a run."""
    found = _all(run_dir)
    return found[-1] if found else None


def read(folder: Path) -> State:
    """The state in a checkpoint. Raises ValueError if there is none."""
    try:
        return State(**json.loads((folder / STATE).read_text()))
    except (OSError, TypeError, ValueError):
        raise ValueError(f"trainer.resume: {folder} is no checkpoint; give one of runs/*/checkpoints/step_*") from None


def find(run_dir: Path, resume: str) -> Path | None:
    """The checkpoint that ``trainer.resume`` (auto | never | a path) asks for. Raises ValueError if it is not there,
    or if a run that is there would be overwritten."""
    if resume == "auto":
        return latest(run_dir)
    if resume == "never":
        if latest(run_dir) is not None:
            raise ValueError(f"trainer.resume=never, but trainer.run_dir={run_dir} holds a run; choose another folder")
        return None
    if not (Path(resume) / STATE).exists():
        raise ValueError(
            f"trainer.resume={resume} is no checkpoint; give a folder like runs/NAME/checkpoints/step_000040"
        )
    return Path(resume)


def remove_after(run_dir: Path, step: int) -> None:
    """Remove checkpoints of later steps: a run that goes on from an earlier one must not come back to them."""
    for folder in _all(run_dir):
        if int(folder.name.removeprefix("step_")) > step:
            shutil.rmtree(folder)


def _all(run_dir: Path) -> list[Path]:
    return sorted(path for path in (run_dir / "checkpoints").glob("step_*") if (path / STATE).exists())


def _force(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
