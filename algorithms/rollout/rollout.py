"""Episodes, turn by turn: all active ones reply together, then all environments step together.

::

    rollout = Rollout(config, chat, generate, environments)
    step = rollout.train_step(position)       # groups of trajectories, and the position after them
    episodes = rollout.evaluate(greedy=True)

Which task is drawn is a function of (seed, position); what is said, of (seed, task, member, turn). So a step is a
function of the weights and its position, whatever the speed of the environments.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algorithms.core.config import Config
from algorithms.core.groups import episode_returns
from algorithms.core.statistics import keep_group
from algorithms.core.tokens import Chat
from algorithms.core.trajectory import Trajectory, Turn
from algorithms.distributed.handles import Handle
from algorithms.rollout.engine import Generation, Sampling, derive_seed
from algorithms.rollout.environments import Event
from codegym.info import Info
from codegym.spans import reply_text

Generate = Callable[[Sequence[Sequence[int]], Sampling, Sequence[int]], list[Generation]]


@dataclass(frozen=True)
class Start:
    """Where an episode begins: the arguments of ``reset`` that say its task, its number in the group, and the key of
    its draws."""

    split: str
    which: Mapping[str, Any]
    member: int
    draw_key: int


@dataclass
class Groups:
    """What a step sampled.

    Attributes:
        kept: groups to learn from, infra errors taken out.
        sampled: every trajectory of the step without an infra error, also those of dropped groups.
        position: tasks drawn since the start of the run.
        timing: seconds: ``timing/generate``, ``timing/environment``, and those the environments report.
    """

    kept: list[list[Trajectory]]
    sampled: list[Trajectory]
    position: int
    dropped: int = 0
    lost: int = 0
    infra_errors: int = 0
    timing: dict[str, float] = field(default_factory=dict)


@dataclass
class _Episode:
    slot: int
    start: Start
    prompt: list[int]
    info: Info
    observation: str
    trajectory: Trajectory
    history: list[str] = field(default_factory=list)


class Rollout:
    """Runs episodes with an engine and environments; knows nothing of credit."""

    def __init__(self, config: Config, chat: Chat, generate: Generate, environments: Sequence[Handle]) -> None:
        self._config, self._chat, self._generate, self._environments = config, chat, generate, environments
        self._timing: dict[str, float] = {}

    def train_step(self, position: int) -> Groups:
        """Sample ``rollout.tasks`` groups from ``position`` on; with dynamic sampling, draw again for those whose
        returns are all equal. Groups that infra errors leave with fewer than two members are lost and counted."""
        rollout, seed = self._config.rollout, self._config.trainer.seed
        sampling = Sampling(
            rollout.max_response_tokens, self._chat.stop_ids, rollout.temperature, rollout.top_p, rollout.top_k
        )
        step = Groups([], [], position)
        self._timing = {}
        error = ""
        for _ in range(1 + (rollout.max_refills if rollout.dynamic_sampling else 0)):
            wanted = rollout.tasks - len(step.kept)
            starts = [
                Start(
                    split=self._config.env.train_split,
                    which={"seed": derive_seed("task", seed, number) % 2**31},
                    member=member,
                    draw_key=derive_seed(seed, number, member),
                )
                for number in range(step.position, step.position + wanted)
                for member in range(rollout.n)
            ]
            step.position += wanted
            episodes = self._run(starts, sampling)
            for first in range(0, len(episodes), rollout.n):
                group = episodes[first : first + rollout.n]
                failed = [trajectory.infra_error for trajectory in group if trajectory.infra_error is not None]
                group = [trajectory for trajectory in group if trajectory.infra_error is None]
                step.infra_errors += len(failed)
                error = failed[0] if failed else error
                step.sampled += group
                if len(group) < 2:
                    step.lost += 1
                elif rollout.dynamic_sampling and not keep_group(episode_returns(group)):
                    step.dropped += 1
                else:
                    step.kept.append(group)
            if len(step.kept) == rollout.tasks:
                break
        if not step.sampled:
            raise RuntimeError(f"every episode of the step ended in an infra error; the last: {error}")
        step.timing = self._timing
        return step

    def evaluate(self, *, greedy: bool) -> list[Trajectory]:
        """One episode for each of the first ``trainer.eval_tasks`` held-out tasks, greedy or at temperature 1: the same
        tasks and draws at every call and for every ``trainer.seed``. Those with infra errors are among them."""
        starts = [
            Start(
                split=self._config.env.eval_split,
                which={"seed": number, "options": {"index": number}},
                member=0,
                draw_key=derive_seed("evaluation", number),
            )
            for number in range(self._config.trainer.eval_tasks)
        ]
        rollout = self._config.rollout
        return self._run(
            starts, Sampling(rollout.max_response_tokens, self._chat.stop_ids, temperature=0.0 if greedy else 1.0)
        )

    def _run(self, starts: Sequence[Start], sampling: Sampling) -> list[Trajectory]:
        """Episodes in waves of ``rollout.batch_size``: so many environments exist."""
        size = self._config.rollout.batch_size
        waves = (starts[first : first + size] for first in range(0, len(starts), size))
        return [trajectory for wave in waves for trajectory in self._wave(wave, sampling)]

    def _wave(self, starts: Sequence[Start], sampling: Sampling) -> list[Trajectory]:
        events = self._call("reset", [(slot, start.split, start.which) for slot, start in enumerate(starts)])
        trajectories, active = [], []
        for slot, (start, event) in enumerate(zip(starts, events, strict=True)):
            if event.info is None:
                trajectories.append(Trajectory("", start.member, [], infra_error=event.infra_error))
                continue
            trajectory = Trajectory(event.info["task_id"], start.member, [])
            prompt = self._chat.first(event.observation)
            if len(prompt) > self._config.rollout.max_prompt_tokens:
                raise ValueError(
                    f"task {trajectory.task_id}: its first prompt has {len(prompt)} tokens, more than"
                    f" rollout.max_prompt_tokens={self._config.rollout.max_prompt_tokens}; raise it"
                )
            trajectories.append(trajectory)
            active.append(_Episode(slot, start, prompt, event.info, event.observation, trajectory))
        while active:
            active = self._turn(active, sampling)
        return trajectories

    def _turn(self, active: Sequence[_Episode], sampling: Sampling) -> list[_Episode]:
        """One turn of all active episodes; those that go on."""
        began = time.perf_counter()
        seeds = [derive_seed(episode.start.draw_key, len(episode.trajectory.turns)) for episode in active]
        generations = self._generate([episode.prompt for episode in active], sampling, seeds)
        self._add("timing/generate", time.perf_counter() - began)
        decoded = [self._chat.decode(generation.ids) for generation in generations]
        replies = [reply_text(reply) for reply, _ in decoded]
        events = self._call(
            "step", [(episode.slot, episode.start.split, reply) for episode, reply in zip(active, replies, strict=True)]
        )
        going = []
        for episode, generation, (reply, ends), event in zip(active, generations, decoded, events, strict=True):
            if event.info is None:
                episode.trajectory.infra_error = event.infra_error
                episode.trajectory.stop_reason = "infra_error"
                continue
            episode.trajectory.turns.append(_turn(episode, generation, reply, ends, event))
            if self._goes_on(episode, generation, reply, event):
                going.append(episode)
        return going

    def _goes_on(self, episode: _Episode, generation: Generation, reply: bytes, event: Event) -> bool:
        assert event.info is not None
        trajectory = episode.trajectory
        if event.done:
            trajectory.resolved = bool(event.info["resolved"])
            trajectory.score = float(event.info["score"] or 0.0)
            trajectory.stop_reason = event.info["stop_reason"] or "done"
            return False
        episode.history += [episode.observation, reply_text(reply)]
        episode.prompt = self._chat.next(
            episode.prompt, generation.ids.tolist(), event.observation, history=episode.history
        )
        episode.info, episode.observation = event.info, event.observation
        if len(episode.prompt) > self._config.rollout.max_prompt_tokens:
            trajectory.stop_reason = "max_prompt_tokens"
            return False
        return True

    def _call(self, method: str, jobs: Sequence[tuple]) -> list[Event]:
        """Spread jobs over the workers by slot; events in the order of the jobs."""
        began = time.perf_counter()
        count = len(self._environments)
        mine = [[k for k, job in enumerate(jobs) if job[0] % count == worker] for worker in range(count)]
        answers = [
            handle.start(method, [jobs[k] for k in own]) for handle, own in zip(self._environments, mine, strict=True)
        ]
        events: dict[int, Event] = {}
        for own, answer in zip(mine, answers, strict=True):
            events.update(zip(own, answer(), strict=True))
        self._add("timing/environment", time.perf_counter() - began)
        for event in events.values():
            for name, seconds in (event.info["timing"] if event.info is not None else {}).items():
                self._add(f"timing/{name}" if name == "diff" else f"timing/environment_{name}", seconds)
        return [events[k] for k in range(len(jobs))]

    def _add(self, name: str, seconds: float) -> None:
        self._timing[name] = self._timing.get(name, 0.0) + seconds


def _turn(episode: _Episode, generation: Generation, reply: bytes, ends: np.ndarray, event: Event) -> Turn:
    assert event.info is not None
    return Turn(
        prompt_ids=np.array(episode.prompt, dtype=np.int64),
        response_ids=generation.ids,
        logprobs=generation.logprobs,
        token_ends=ends,
        reply=reply,
        observation=episode.observation,
        reward=event.reward,
        state_before=event.info["state_before"],
        diff=event.info["diff"],
        action_valid=event.info["action"]["valid"],
        truncated=generation.truncated,
        reward_terms=dict(event.info["reward_terms"]),
    )
