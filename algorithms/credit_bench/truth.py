"""The true worth of every change of a reply: exact Shapley values for the share of hidden tests that pass."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.core.trajectory import Trajectory
from algorithms.didpo.estimators import shapley
from algorithms.didpo.judge import Files, Judge
from algorithms.didpo.places import places_of
from algorithms.didpo.project import tokens_of
from benchmarks.base import Benchmark
from codegym.diff import apply
from codegym.spans import Span

_COMMENT = re.compile(rb"[ \t]*#[^\n]*")  # the strings of tiny tasks hold letters only
#: Scores are sums of floats: a change within this of 0 has no effect.
NO_EFFECT = 1e-9


@dataclass
class Case:
    """One group with what is known about it: per trajectory its changes, the bytes that write each and its value."""

    group: list[Trajectory]
    spans: list[list[tuple[Span, ...]]]
    values: list[np.ndarray]


def hidden_judge(bench: Benchmark, comments: bool = False) -> Judge:
    """A judge by the hidden tests. Files that differ in ``#`` comments only are run once, unless ``comments`` count:
    elsewhere the sign may stand in a string."""
    plain: dict[tuple[str, bytes], float] = {}

    def evaluate(task_id: str, files: Files) -> float:
        texts = (files[path] for path in sorted(files))
        key = (task_id, b"\0".join(text if comments else _COMMENT.sub(b"", text) for text in texts))
        if key not in plain:
            grade = bench.grade(bench.task(task_id), files)
            if grade.infra_error is not None:
                raise RuntimeError(f"task {task_id}: the tests could not be run: {grade.infra_error}")
            plain[key] = grade.score
        return plain[key]

    return Judge(lambda task_id: bench.task(task_id).workspace, evaluate, budget=1 << 40)


def score(judge: Judge, trajectories: Sequence[Trajectory]) -> None:
    """Fill in ``score`` and ``resolved`` of trajectories of one turn."""
    for own in trajectories:
        own.score = judge.score(own.task_id, apply(own.turns[0].diff, judge.base(own.task_id)))
        own.resolved = own.score == 1.0


def case(judge: Judge, group: list[Trajectory], by_symbol: bool = True) -> Case:
    """The changes and exact values of a group of one turn each. A change is what a reply does to a definition, or with
    ``by_symbol=False`` to a region of the file."""
    known: dict[bytes, tuple] = {}
    spans, values = [], []
    for own in group:
        reply = own.turns[0].reply
        if reply not in known:
            changes = [visit for place in places_of([own], by_symbol) for visit in place.visits if visit.hunks]
            value = judge.value(own.task_id, judge.base(own.task_id), own.turns[0], [c.hunks for c in changes])
            known[reply] = ([change.spans for change in changes], shapley.exact(len(changes), value))
        spans.append(known[reply][0])
        values.append(known[reply][1])
    return Case(group, spans, values)


def reward(groups: Sequence[Sequence[Trajectory]], kind: str) -> None:
    """Set the rewards: ``fractional``, the share of hidden tests that pass, or ``all-or-nothing``."""
    for group in groups:
        for own in group:
            own.turns[0].reward = own.score if kind == "fractional" else float(own.resolved)


def credit_of_changes(one: Case, advantages: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """What an algorithm gives each change of the case: the mean over the tokens that write it."""
    credits = []
    for own, spans, (tokens,) in zip(one.group, one.spans, advantages, strict=True):
        for change in spans:
            ranges = [tokens_of(span, own.turns[0].token_ends) for span in change]
            painted = [float(value) for first, last in ranges for value in tokens[first:last]]
            credits.append(math.fsum(painted) / max(1, len(painted)))
    return np.array(credits)
