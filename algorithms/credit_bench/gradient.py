"""Bias and noise of the gradient that credit gives, on a policy small enough to enumerate.

Three functions with a bug each. Per function the policy decides whether to edit it (a coin) and what to write (one
right and two wrong lines); the reply is an edit per edited function, in order. So the token that names an edit's place
decides for that place and against all places between the last edit and it, the closing token against all that are
left, and the tokens of the content decide what is written. The reward is the share of functions that are right, or 1
for all of them. The true gradient of its expectation with respect to the twelve logits is a sum over 64 replies.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.core.trajectory import Trajectory
from algorithms.credit_bench.policies import PATH, trajectory
from algorithms.didpo.judge import Judge
from algorithms.didpo.project import tokens_of
from benchmarks.base import Task
from codegym.actions.base import Action, Replace, Text
from codegym.actions.xml import Xml
from codegym.spans import Span

PLACES = 3
EDIT = np.array([0.8, 0.7, 0.9])  # chances to edit each function
WRITE = np.array(
    [[0.35, 0.50, 0.15], [0.50, 0.30, 0.20], [0.30, 0.10, 0.60]]
)  # chances of its lines; the first is right
_LINES = ("x + {k}", "x - {k}", "x * {k}")
_BROKEN = "x // {k}"
Choice = tuple[int, ...]  # per place: 0 leaves it alone, else 1 + the line written


@dataclass(frozen=True)
class Estimate:
    """Of a gradient estimate, against the true gradient.

    Attributes:
        cosine: between its expectation and the truth.
        length: of its expectation, over that of the truth. 1 says something where credit is in units of the reward; a
            method that divides by a deviation has other units.
        noise: its standard deviation (root of the trace of the covariance) over the length of its expectation.
        error: standard error of ``cosine``'s expectation, as a share of its length.
    """

    cosine: float
    length: float
    noise: float
    error: float


def true_gradient(reward: str) -> np.ndarray:
    """[PLACES, 4]: by the logit of editing, then by the logits of the lines."""
    result = np.zeros((PLACES, 4))
    for choice in _choices():
        result += _reward(choice, reward) * _chance(choice) * sum(_scores(choice)[0])
    return result


def judge() -> Judge:
    """What execution would say: the share of functions that are right."""

    def evaluate(task_id: str, files: Mapping[str, bytes]) -> float:
        return sum(f"return {_LINES[0].format(k=k + 2)}\n" in files[PATH].decode() for k in range(PLACES)) / PLACES

    return Judge(lambda task_id: _TASK.workspace, evaluate, budget=1 << 40)


def estimate(
    credit: Callable[[list[list[Trajectory]]], Sequence[Sequence[Sequence[np.ndarray]]]],
    size: int = 8,
    groups: int = 400,
    seed: int = 0,
    reward: str = "all-or-nothing",
) -> Estimate:
    """The gradient that credit(groups) -> advantages of each gives, over ``groups`` groups of ``size``."""
    rng = np.random.default_rng(seed)
    choices = list(_choices())
    chances = np.array([_chance(choice) for choice in choices])
    draws = rng.choice(len(choices), size=(groups, size), p=chances)
    made = [
        [Trajectory(_TASK.id, member, _template(choices[k], reward).turns) for member, k in enumerate(own)]
        for own in draws
    ]
    # As in training, groups whose returns are all equal teach nothing and are left out; their gradient is 0.
    alive = [g for g, own in enumerate(made) if len({one.turns[0].reward for one in own}) > 1]
    gradients = np.zeros((groups, PLACES * 4))
    for g, advantages in zip(alive, credit([made[g] for g in alive]), strict=True):
        total = np.zeros((PLACES, 4))
        for k, own, (tokens,) in zip(draws[g], made[g], advantages, strict=True):
            scores, spans = _scores(choices[k])
            for score, span in zip(scores, spans, strict=True):
                total += score * _credit(tokens, own, span)
        gradients[g] = total.ravel() / size
    mean, truth = gradients.mean(0), true_gradient(reward).ravel()
    spread = float(np.sqrt(gradients.var(0, ddof=1).sum()))
    length = float(np.linalg.norm(mean))
    if length == 0:
        return Estimate(*[float("nan")] * 4)
    right = float(np.linalg.norm(truth))
    return Estimate(
        float(mean @ truth / (length * right)), length / right, spread / length, spread / length / groups**0.5
    )


def _choices() -> itertools.product[Choice]:
    return itertools.product(range(4), repeat=PLACES)  # type: ignore[return-value]


def _chance(choice: Choice) -> float:
    return float(np.prod([1 - EDIT[k] if line == 0 else EDIT[k] * WRITE[k, line - 1] for k, line in enumerate(choice)]))


def _text(choice: Choice) -> str:
    lines = (_BROKEN, *_LINES)
    return "\n".join(f"def f{k}(x):\n    return {lines[line].format(k=k + 2)}\n" for k, line in enumerate(choice))


_TASK = Task("enumerable", "", "", "python", {PATH: _text((0,) * PLACES).encode()}, (), ())


def _reward(choice: Choice, kind: str) -> float:
    right = [line == 1 for line in choice]
    return sum(right) / PLACES if kind == "fractional" else float(all(right))


@functools.cache
def _template(choice: Choice, reward: str) -> Trajectory:
    edits = tuple(
        Replace(PATH, Text(_BROKEN.format(k=k + 2).encode()), Text(_LINES[line - 1].format(k=k + 2).encode()))
        for k, line in enumerate(choice)
        if line
    )
    made = trajectory(_TASK, Xml().render(Action("edit", edits) if edits else Action("submit")), 0)
    made.turns[0].reward = _reward(choice, reward)
    return made


@functools.cache
def _scores(choice: Choice) -> tuple[list[np.ndarray], list[Span | None]]:
    """The gradient of the log-chance of each decision, and the bytes that say it (None: the reply's last token)."""
    scores: list[np.ndarray] = []
    spans: list[Span | None] = []
    edits = iter(Xml().parse(_template(choice, "all-or-nothing").turns[0].reply.decode()).edits)
    passed: list[int] = []
    for k, line in enumerate(choice):
        if not line:
            passed.append(k)
            continue
        edit = next(edits)
        assert isinstance(edit, Replace)
        content = np.zeros((PLACES, 4))
        content[k, 1:] = (np.arange(3) == line - 1) - WRITE[k]
        scores += [_coins(passed, k), content]
        spans += [edit.search.span, edit.text.span]
        passed = []
    return [*scores, _coins(passed, None)], [*spans, None]


def _coins(passed: Sequence[int], taken: int | None) -> np.ndarray:
    score = np.zeros((PLACES, 4))
    score[list(passed), 0] = -EDIT[list(passed)]
    if taken is not None:
        score[taken, 0] = 1 - EDIT[taken]
    return score


def _credit(tokens: np.ndarray, own: Trajectory, span: Span | None) -> float:
    if span is None:
        return float(tokens[-1])
    first, last = tokens_of(span, own.turns[0].token_ends)
    return float(tokens[first:last].mean())
