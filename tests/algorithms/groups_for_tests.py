"""Trajectories made by hand: replies that write code into files, tokens of a few bytes each."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from algorithms.core.trajectory import Trajectory, Turn
from codegym.diff.model import Change, Diff, FileDiff, Hunk
from codegym.spans import Span

Written = tuple[str, bytes]  # path, text


def turn(
    written: Sequence[Written] = (), reward: float = 0.0, state: str = "s", observation: str = "o", width: int = 3
) -> Turn:
    """A turn whose reply writes each text as one inserted hunk, between tags, in tokens of ``width`` bytes."""
    reply, files = b"I think.", []
    for path, text in written:
        reply += b"<edit>"
        source = Span(len(reply), len(reply) + len(text))
        reply += text + b"</edit>"
        hunk = Hunk(Span(0, 0), Span(0, len(text)), text, (source,))
        files.append(FileDiff(path, path, "modified", "python", True, (hunk,), ()))
    ends = np.array([*range(width, len(reply), width), len(reply), len(reply)])  # the last one: end of turn, no bytes
    return Turn(
        prompt_ids=np.arange(5),
        response_ids=np.arange(len(ends)),
        logprobs=np.zeros(len(ends), dtype=np.float32),
        token_ends=ends,
        reply=reply,
        observation=observation,
        reward=reward,
        state_before=state,
        diff=Diff(tuple(files)),
    )


def trajectory(member: int, turns: list[Turn], task: str = "task") -> Trajectory:
    return Trajectory(task, member, turns)


def with_rewards(*rewards: Sequence[float]) -> list[Trajectory]:
    """One trajectory per argument, one turn per reward."""
    return [trajectory(i, [turn(reward=r) for r in own]) for i, own in enumerate(rewards)]


def deleting(old: Span, place: bytes, change: Change | None = None, reward: float = 0.0) -> Turn:
    """A turn that deletes ``old`` of a.py, naming the place by ``place``."""
    reply = b"<search>" + place + b"</search>"
    hunk = Hunk(old, Span(old.start, old.start), b"", (), (Span(8, 8 + len(place)),))
    file = FileDiff("a.py", "a.py", "modified", "python", True, (hunk,), (change,) if change else ())
    made = turn(reward=reward)
    ends = np.arange(1, len(reply) + 1)
    made.reply, made.token_ends, made.diff = reply, ends, Diff((file,))
    made.response_ids = np.arange(len(ends))
    return made


def block(seed: int, lines: int) -> list[bytes]:
    """Lines of code that resemble no other block's."""
    rng = random.Random(seed)
    word = lambda: "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=6))  # noqa: E731
    return [f"    {word()} = {word()}({word()}, {rng.randint(0, 999)})".encode() for _ in range(lines)]
