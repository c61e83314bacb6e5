"""The loop: rollout, credit, rows, update, sync, log. It knows no algorithm by name.

::

    summary = Trainer(config, Grpo(config.algorithm), observers=[...]).run()

What a run leaves is described in :mod:`algorithms.core.runfolder`; whoever wants to watch it is an :class:`Observer`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omegaconf import OmegaConf

from algorithms.core import checkpoint, metrics, rewards
from algorithms.core.batch import Row, rows_of_groups, with_tokens
from algorithms.core.check import validate, validate_method
from algorithms.core.config import Config
from algorithms.core.groups import credits
from algorithms.core.runfolder import RunFolder
from algorithms.core.tokens import Chat, load_tokenizer
from algorithms.core.trajectory import Algorithm, Credit, Trajectory
from algorithms.distributed.launch import Workers, launch
from algorithms.rollout.rollout import Groups, Rollout

Credited = list[tuple[list[Trajectory], Credit]]

#: Trajectories are saved at the first step, every so many, and at the last.
TRAJECTORIES_EVERY = 10

#: What may differ when a run goes on: how long and how watched it is, and where it is computed.
MAY_CHANGE = ("trainer.", "distributed.", "env.workers")
MAY_NOT_CHANGE = ("trainer.seed", "trainer.eval_tasks")


@dataclass
class Summary:
    """What came of a run: its folder, updates done, (step, results) of each evaluation, metrics of the last step."""

    run_dir: Path
    steps: int
    evals: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)


class Observer:
    """Watches a run. Every method may be left out. Steps count from 1; step 0 is before the first."""

    def on_start(self, config: Config, total_steps: int, first_step: int) -> None:
        """The run begins (or goes on) with ``first_step``."""

    def on_phase(self, step: int, name: str) -> None:
        """A phase of a step begins: rollout, prepare (if models are asked before credit), credit, update, sync, eval
        sampled, eval greedy, checkpoint."""

    def on_step(self, step: int, metrics: dict[str, Any], timing: dict[str, float]) -> None:
        """A step is done. ``timing`` is in seconds."""

    def on_eval(self, step: int, results: dict[str, Any]) -> None:
        """Held-out tasks were tried after ``step`` updates."""

    def on_trajectories(self, step: int, groups: Credited) -> None:
        """The groups a step learned from, with their credit."""

    def on_end(self, summary: Summary) -> None:
        """The run is complete."""


class Trainer:
    """Trains one policy with one algorithm. Raises ValueError for a configuration that cannot be run."""

    def __init__(self, config: Config, algorithm: Algorithm, observers: Sequence[Observer] = ()) -> None:
        validate(config)
        validate_method(config, algorithm)
        self._run_dir = Path(config.trainer.run_dir)
        self._settings = _plain(config)
        self._resumed = checkpoint.find(self._run_dir, config.trainer.resume)
        self._state = self._first_state() if self._resumed is None else self._read(self._resumed)
        threads = config.trainer.threads or self._state.threads
        self._config = dataclasses.replace(config, trainer=dataclasses.replace(config.trainer, threads=threads))
        self._algorithm, self._observers = algorithm, observers
        self._timing: dict[str, float] = {}

    def run(self) -> Summary:
        """Train until ``trainer.steps`` updates are done; goes on from a checkpoint as ``trainer.resume`` says."""
        config = self._config
        if config.distributed.device != "cuda":
            torch.use_deterministic_algorithms(True)
        chat = Chat(load_tokenizer(config.model.path), config.model.path)
        with launch(config) as workers:
            self._folder = RunFolder(config.trainer.run_dir)
            self._folder.cut(self._state.lengths, self._state.step)
            (self._run_dir / "config.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(self._settings)))
            self._summary = Summary(self._run_dir, self._state.step, self._folder.evaluations())
            self._rollout = Rollout(config, chat, workers.generate, workers.environments)
            if self._resumed is not None:
                workers.policy.load(self._resumed)
            workers.sync()
            self._tell("on_start", config, config.trainer.steps, self._state.step + 1)
            for step, results in self._summary.evals:
                self._tell("on_eval", step, results)
            with _settled():
                if self._state.step == 0 and config.trainer.eval_first:
                    self._evaluate(0)
                position = self._state.position
                for step in range(self._state.step + 1, config.trainer.steps + 1):
                    position = self._step(step, position, workers)
                    self._finish(step, position, chat, workers)
        self._tell("on_end", self._summary)
        return self._summary

    def _step(self, step: int, position: int, workers: Workers) -> int:
        """One update; the position after it."""
        began = time.perf_counter()
        self._timing = {}
        with self._phase(step, "rollout"):
            groups = self._rollout.train_step(position)
        kept, trained, known = self._prepare(step, groups.kept, workers)
        with self._phase(step, "credit"):
            credited = list(zip(kept, credits(self._algorithm, kept), strict=True)) if kept else []
            rows = _rows(credited, known)
        if rows:  # none where every group's returns were equal: there is nothing to learn from
            with self._phase(step, "update"):
                trained |= workers.policy.update(rows, step)
            with self._phase(step, "sync"):
                workers.sync()
        elif dropped := rewards.uncredited_rows([groups.sampled]):
            with self._phase(step, "prepare"):
                trained |= workers.policy.engine_metrics(dropped)
        values = _step_metrics(groups, credited) | trained
        timing = metrics.seconds(self._timing | groups.timing | {"timing/step": time.perf_counter() - began})
        self._folder.append("metrics", {"step": step, **values})
        self._folder.append("timing", {"step": step, **timing})
        if step in (1, self._config.trainer.steps) or step % TRAJECTORIES_EVERY == 0:
            self._folder.save_groups(step, credited)
        self._summary.steps, self._summary.metrics = step, values
        self._tell("on_trajectories", step, credited)
        self._tell("on_step", step, values, timing)
        return groups.position

    def _prepare(
        self, step: int, groups: list[list[Trajectory]], workers: Workers
    ) -> tuple[list[list[Trajectory]], dict[str, float], list[Row]]:
        """The groups with what the settings add to their rewards; metrics; and the rows, where models were asked."""
        config, measured = self._config, {}
        if config.rollout.overlong_filter:
            before = sum(map(len, groups))
            groups = rewards.without_overlong(groups)
            measured["groups/overlong"] = float(before - sum(map(len, groups)))
        if config.rollout.overlong_share:
            measured["reward/overlong"] = -rewards.punish_overlong(groups, config.rollout)
        rows: list[Row] = []
        if config.critic.enabled or (config.loss.kl_coef and config.loss.kl_in == "reward"):
            rows = rewards.uncredited_rows(groups)
            if rows:
                with self._phase(step, "prepare"):
                    rows = workers.policy.prepare(rows)
                    measured |= rewards.set_penalties_and_values(groups, rows, config)
        return groups, measured, rows

    def _finish(self, step: int, position: int, chat: Chat, workers: Workers) -> None:
        """Evaluate and save, where it is time to."""
        trainer = self._config.trainer
        last = step == trainer.steps
        if last or (trainer.eval_every and step % trainer.eval_every == 0):
            self._evaluate(step)
        if last or (trainer.save_every and step % trainer.save_every == 0):
            self._tell("on_phase", step, "checkpoint")
            state = checkpoint.State(step, position, self._folder.lengths(), trainer.threads, self._settings)

            def write(folder: Path) -> None:
                workers.policy.save(folder)
                chat.tokenizer.save_pretrained(folder)

            checkpoint.save(self._run_dir, state, write, trainer.keep)

    def _evaluate(self, step: int) -> None:
        results: dict[str, Any] = {}
        for mode in ("sampled", "greedy"):
            with self._phase(step, f"eval {mode}"):
                episodes = self._rollout.evaluate(greedy=mode == "greedy")
            results |= metrics.of_evaluation(mode, episodes)
        self._folder.append("eval", {"step": step, **results})
        self._summary.evals.append((step, results))
        self._tell("on_eval", step, results)

    def _first_state(self) -> checkpoint.State:
        threads = max(1, torch.get_num_threads())
        return checkpoint.State(0, 0, lengths={}, threads=threads, settings=self._settings)

    def _read(self, folder: Path) -> checkpoint.State:
        """The state to go on from. Raises ValueError if the run was begun with other settings."""
        state = checkpoint.read(folder)
        before, now = _flat(state.settings), _flat(self._settings)
        changed = [
            key
            for key in sorted(before.keys() | now.keys())
            if before.get(key) != now.get(key) and (not key.startswith(MAY_CHANGE) or key in MAY_NOT_CHANGE)
        ]
        if changed:
            was = ", ".join(f"{key}={before.get(key)}" for key in changed)
            raise ValueError(
                f"trainer.run_dir={self._run_dir} was begun with {was}; keep that or choose another folder"
            )
        if folder.resolve().parent.parent != self._run_dir.resolve():
            if checkpoint.latest(self._run_dir) is not None:
                raise ValueError(f"trainer.resume={folder}: trainer.run_dir={self._run_dir} holds a run of its own")
            state = dataclasses.replace(state, lengths={})
        checkpoint.remove_after(self._run_dir, state.step)
        return state

    @contextlib.contextmanager
    def _phase(self, step: int, name: str) -> Iterator[None]:
        self._tell("on_phase", step, name)
        began = time.perf_counter()
        yield
        self._timing[f"timing/{name}"] = time.perf_counter() - began

    def _tell(self, event: str, *args: Any) -> None:
        for observer in self._observers:
            getattr(observer, event)(*args)


@contextlib.contextmanager
def _settled() -> Iterator[None]:
    """What is loaded by now lives as long as the run, so the garbage collector does not look at it again and again: its
    passes over everything took more time than the credit they fell into."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _rows(credited: Credited, known: Sequence[Row]) -> list[Row]:
    """The rows to train on; ``known`` holds the same rows with what was computed before credit."""
    rows = rows_of_groups(credited)
    if known:
        rows = [dataclasses.replace(old, advantages=new.advantages) for old, new in zip(known, rows, strict=True)]
    returns = [own for _, credit in credited for trajectory in credit.returns or [] for own in trajectory]
    return with_tokens(rows, "returns", np.concatenate(returns)) if returns and rows else rows


def _step_metrics(groups: Groups, credited: Credited) -> dict[str, float]:
    return {
        **metrics.of_trajectories(groups.sampled),
        **metrics.of_credits([credit for _, credit in credited]),
        "groups/kept": len(credited),
        "groups/dropped": groups.dropped,
        "groups/lost": groups.lost,
        "infra_errors": groups.infra_errors,
        "trajectories": len(groups.sampled),
    }


def _plain(config: Config) -> dict[str, Any]:
    plain = OmegaConf.to_container(OmegaConf.create(dataclasses.asdict(config)))
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value}
    return flat
