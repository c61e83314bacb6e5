"""Replies with several changes each, from scripted policies whose chances are known, or from a trained model.

A scripted policy repairs a tiny task function by function: it writes the right line, its favourite wrong one, another
wrong one, or leaves the function alone; it also rewords comments, which changes nothing that a test can see.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.core.trajectory import Trajectory, Turn
from benchmarks.base import Task
from codegym.actions.base import Action, Replace, Text
from codegym.actions.xml import Xml
from codegym.diff import diff_files
from codegym.edits import apply_edits
from codegym.spans import reply_bytes

PATH = "m.py"


@dataclass(frozen=True)
class Policy:
    """Chances per bug of the right line, of the favourite wrong one and of any wrong one; the rest leaves it alone.

    ``reword`` is the chance, per function, that its comment is rewritten.
    """

    right: float
    favourite: float
    other: float
    reword: float = 0.15


#: With four bugs all is right with the fourth power of ``right``: .03, .17, .41.
STRENGTHS = {
    "weak": Policy(0.42, 0.33, 0.10),
    "medium": Policy(0.64, 0.20, 0.06),
    "strong": Policy(0.80, 0.10, 0.04),
}


def replies(task: Task, policy: Policy, count: int, seed: int) -> list[str]:
    """``count`` replies to a tiny task; a function of the arguments."""
    rng = random.Random(f"{seed}/{task.id}/{policy}")
    return [_reply(task, policy, rng) for _ in range(count)]


def _reply(task: Task, policy: Policy, rng: random.Random) -> str:
    text = task.workspace[PATH].decode()
    edits: list[tuple[int, str, str]] = []
    for bug in task.meta["bugs"]:
        wrong = [line for line in bug["others"] if line != bug["broken"]] or [bug["fixed"] + " "]
        draw, pick = rng.random(), rng.randrange(len(wrong))
        new = (
            bug["fixed"]
            if draw < policy.right
            else wrong[0]
            if draw < policy.right + policy.favourite
            else wrong[pick]
            if draw < policy.right + policy.favourite + policy.other
            else None
        )
        if new is not None:
            edits.append((text.index(bug["broken"]), bug["broken"], new))
    for line in (line.strip() for line in text.splitlines()):
        if line.startswith("#") and rng.random() < policy.reword and text.count(line) == 1:
            edits.append((text.index(line), line, line + "."))
    edits.sort()
    action = Action(
        "edit", tuple(Replace(PATH, Text(old.encode()), Text(new.encode())) for _, old, new in edits)
    ) if edits else Action("submit")  # fmt: skip
    return Xml().render(action)


def trajectory(task: Task, reply: str, member: int) -> Trajectory:
    """The trajectory of one reply, in tokens of one to four bytes; its reward is yet to be given."""
    data = reply_bytes(reply)
    diff = diff_files(task.workspace, task.workspace)
    action = Xml().parse(reply)
    if action.edits:
        applied = apply_edits(task.workspace, action.edits)
        diff = diff_files(task.workspace, applied.files, applied.origins)
    ends = tokens(data)
    turn = Turn(
        prompt_ids=np.zeros(1, dtype=np.int64),
        response_ids=np.arange(len(ends)),
        logprobs=np.zeros(len(ends), dtype=np.float32),
        token_ends=ends,
        reply=data,
        observation="",
        reward=0.0,
        state_before="base",
        diff=diff,
    )
    return Trajectory(task.id, member, [turn])


def tokens(reply: bytes) -> np.ndarray:
    """Ends [T] of tokens: runs of up to four word characters, and single signs and spaces."""
    ends: list[tuple[int, bool, int]] = []
    for position, byte in enumerate(reply):
        word = chr(byte).isalnum()
        if ends and word and ends[-1][1] and ends[-1][2] < 4:
            ends[-1] = (position + 1, True, ends[-1][2] + 1)
        else:
            ends.append((position + 1, word, 1))
    return np.array([end for end, _, _ in ends], dtype=np.int64)


def from_checkpoint(path: str, tasks: int, size: int, env: Sequence[str] = ()) -> list[list[Trajectory]]:
    """Groups that a trained model samples in one turn; ``env`` are settings such as ``env.kwargs.n_bugs=4``."""
    from algorithms.core.cli import load_algorithm, resolve
    from algorithms.core.tokens import Chat, load_tokenizer
    from algorithms.distributed.launch import launch
    from algorithms.rollout.rollout import Rollout

    settings = ["env.kwargs.max_turns=1", "env.kwargs.step_reward=0.0", "rollout.dynamic_sampling=false"]
    sizes = [f"model.path={path}", f"rollout.tasks={tasks}", f"rollout.n={size}"]
    config = resolve(load_algorithm("grpo"), [*settings, *env, *sizes])
    chat = Chat(load_tokenizer(path), path)
    with launch(config) as workers:
        workers.sync()
        return Rollout(config, chat, workers.generate, workers.environments).train_step(0).kept
