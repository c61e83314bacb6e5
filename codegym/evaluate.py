"""Runs an agent over tasks and reports how many it resolves.

::

    def agent(observation, info):
        return "<submit/>"

    report = evaluate(agent, "codegym/Repair-v0", tasks=50, env_kwargs={"level": "tiny"}, out="rows.jsonl")
    print(report.table())

Each episode is one line of ``out``; a run that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import gymnasium

import codegym  # noqa: F401 - registers the environments
from codegym.env import CodeEnv
from codegym.report import Report, Row
from sandbox.base import SandboxError

Agent = Callable[[str, dict[str, Any]], str]
Job = tuple[int | str, int]  # the task, by index or id, and the attempt


class AgentError(RuntimeError):
    """The agent raised (its own exception is the cause), or is no ``agent(observation, info) -> reply``."""


def evaluate(
    agent: Agent | type,
    env_id: str,
    *,
    tasks: int | Sequence[str] = 50,
    split: str = "test",
    seed: int = 0,
    attempts: int = 1,
    workers: int = 1,
    env_kwargs: Mapping[str, Any] | None = None,
    progress: bool = True,
    out: str | Path | None = None,
) -> Report:
    """Run ``attempts`` episodes of each task.

    Args:
        agent: ``agent(observation, info) -> reply``, with an optional ``reset(info)``; or a class that makes one,
            called once per worker. ``info["extra"]["attempt"]`` numbers the attempts at a task from 0.
        env_id: a Gymnasium id of this package, or of one that registers with it.
        tasks: task ids, or how many tasks to draw from the split (all of them if it has no more).
        split: the split to draw from.
        seed: of the draw. The same seed gives the same tasks.
        attempts: episodes per task; more than one gives pass@k.
        workers: episodes at the same time, in threads, each with an environment of its own.
        env_kwargs: options of the environment.
        progress: write a line to stderr that counts episodes.
        out: a file of JSON lines that is written as episodes end and read to resume. Episodes with an infra error
            are run again.

    Raises ValueError if ``out`` holds another evaluation, or if an agent that keeps state is shared by workers;
    AgentError if the agent raises or gives no text, which ends the evaluation. What was written stays.
    """
    if attempts < 1 or workers < 1:
        raise ValueError(f"attempts={attempts}, workers={workers}: each needs at least 1")
    if workers > 1 and not isinstance(agent, type) and hasattr(agent, "reset"):
        raise ValueError("this agent has reset(), so it keeps state: give its class (one per worker) or workers=1")
    options = dict(env_kwargs or {})

    def make() -> gymnasium.Env[str, str]:
        return gymnasium.make(env_id, split=split, **options)

    with closing(make()) as env:
        chosen = _choose(env, tasks, split, seed)
    jobs: list[Job] = [(task, attempt) for task in chosen for attempt in range(attempts)]
    name = {"env_id": env_id, "split": split, "seed": seed, "env_kwargs": options}
    done = {} if out is None else _resume(Path(out), name)
    todo: SimpleQueue[Job] = SimpleQueue()
    for job in jobs:
        if job not in done:
            todo.put(job)
    lock, stop = threading.Lock(), threading.Event()

    def work() -> None:
        own = _made(agent)
        with closing(make()) as env:
            while not stop.is_set():
                try:
                    job = todo.get_nowait()
                except Empty:
                    return
                row = run_episode(own, env, job[0], job[1])
                with lock:
                    done[job] = row
                    if out is not None:
                        with Path(out).open("a") as file:
                            file.write(json.dumps(asdict(row)) + "\n")
                    if progress:
                        _count([done[job] for job in jobs if job in done], len(jobs))

    with ThreadPoolExecutor(max_workers=workers) as pool:
        running = [pool.submit(work) for _ in range(workers)]
        try:
            wait(running, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()  # an agent failed, or the user stopped the run: the others end after their episode
    for each in running:
        each.result()
    if progress:
        sys.stderr.write("\n")
    return Report(env_id, split, tuple(done[job] for job in jobs))


def _made(agent: Agent | type) -> Agent:
    """The agent, or a new one of its class."""
    name = getattr(agent, "__qualname__", type(agent).__qualname__)
    try:
        made = agent() if isinstance(agent, type) else agent
    except Exception as error:
        raise AgentError(f"no {name}() could be made: {type(error).__name__}: {error}") from error
    if not callable(made):
        raise AgentError(f"a {name} cannot be called: give it __call__(observation, info), which returns the reply")
    return made


def run_episode(agent: Agent, env: gymnasium.Env[str, str], task: int | str, attempt: int = 0) -> Row:
    """One episode of one task, given by index of the environment's split or by id."""
    began = time.monotonic()
    key = "index" if isinstance(task, int) else "task_id"
    try:
        observation, info = env.reset(options={key: task})
    except SandboxError as error:  # what the task is made of is not there, such as a clone
        seconds = round(time.monotonic() - began, 3)
        return Row(task, attempt, str(task), False, 0.0, 0.0, 0, 0, "infra_error", str(error), seconds, "")
    info["extra"]["attempt"] = attempt
    total, invalid, over = 0.0, 0, False
    while not over:
        where = f"the agent failed at turn {info['turn'] + 1} of task {info['task_id']}"
        try:
            if info["turn"] == 0 and hasattr(agent, "reset"):
                agent.reset(info)
            reply = agent(observation, info)
        except Exception as error:
            raise AgentError(f"{where}: {type(error).__name__}: {error}") from error
        if not isinstance(reply, str):
            raise AgentError(f"{where}: it returned {type(reply).__name__}, where its reply is a str")
        observation, reward, terminated, truncated, info = env.step(reply)
        info["extra"]["attempt"] = attempt
        total += float(reward)
        invalid += not info["action"]["valid"]
        over = terminated or truncated
    return Row(
        task=task,
        attempt=attempt,
        task_id=info["task_id"],
        resolved=info["resolved"],
        score=info["score"],
        reward=total,
        turns=info["turn"],
        invalid=invalid,
        stop_reason=info["stop_reason"],
        infra_error=info["infra_error"],
        seconds=round(time.monotonic() - began, 3),
        patch=info["patch"],
    )


def _choose(env: gymnasium.Env[str, str], tasks: int | Sequence[str], split: str, seed: int) -> Sequence[int | str]:
    if not isinstance(tasks, int):
        return list(tasks)
    if tasks < 1:
        raise ValueError(f"tasks={tasks}: needs at least 1")
    inner = env.unwrapped
    if not isinstance(inner, CodeEnv):
        raise TypeError(f"{env} is no codegym environment, so it has no tasks to draw from")
    there = len(inner.benchmark.tasks(split))
    return random.Random(seed).sample(range(there), min(tasks, there))


def _resume(path: Path, name: Mapping[str, Any]) -> dict[Job, Row]:
    """The finished episodes of ``path``, which must hold this evaluation; a new file gets its first line here."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    if lines and not lines[-1].endswith(b"\n"):  # the run was killed while it wrote
        with path.open("r+b") as file:
            file.truncate(sum(map(len, lines[:-1])))
        lines.pop()
    if not lines:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"evaluation": name}) + "\n")
        return {}
    found = json.loads(lines[0]).get("evaluation")
    if found != json.loads(json.dumps(name)):
        raise ValueError(f"{path} holds another evaluation ({found}): give another file, or remove it")
    try:
        rows = [Row(**json.loads(line)) for line in lines[1:]]
    except TypeError as error:
        raise ValueError(f"{path} is of another version ({error}): give another file, or remove it") from None
    return {(row.task, row.attempt): row for row in rows if row.infra_error is None}


def _count(rows: Iterable[Row], total: int) -> None:
    rows = list(rows)
    resolved = sum(row.resolved for row in rows)
    sys.stderr.write(f"\r{len(rows)} of {total} episodes, {resolved} resolved")
    sys.stderr.flush()
