"""What a study runs: methods, settings, and the configuration of each run.

A method is ``NAME`` or ``NAME:key=value[:key=value]``, a setting likewise; a method's key without a section is one of
``algorithm.*``::

    config, method = configure("bugs", "didpo:estimator=marginal", seed=0, run_dir="runs/x")
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from algorithms.core.cli import ConfigError, load_algorithm, resolve
from algorithms.core.config import Config
from algorithms.core.trajectory import Algorithm


@dataclass(frozen=True)
class Setting:
    """A difficulty: overrides of the built-in run. ``measure`` is what its reward pays for, the curve that counts."""

    says: str
    measure: str
    overrides: tuple[str, ...]


#: Short enough for a run to take about half a minute of one core.
_SHORT = ("trainer.steps=40", "trainer.eval_tasks=64", "rollout.tasks=1", "rollout.n=8")
_ONE_TURN = (*_SHORT, "env.kwargs.max_turns=1", "env.kwargs.feedback=blind", "env.kwargs.step_reward=0")
_BUGS = (*_ONE_TURN, "env.kwargs.n_bugs=4", "env.kwargs.verdict=score")

SETTINGS = {
    "flaky": Setting(
        "four bugs in a file of four functions, one turn, paid by the share of hidden tests, each result the wrong way"
        " round with chance .2; one group of 8 a step",
        "score",
        (*_BUGS, "env.kwargs.verdict_noise=0.2"),
    ),
    "rare": Setting(
        "as flaky, but right results, paid all or nothing: at first one file in sixteen is all right",
        "success",
        (*_BUGS, "env.kwargs.verdict=resolved"),
    ),
    "bugs": Setting("as flaky, but right results", "score", _BUGS),
    "turns": Setting(
        "two turns: visible tests are told after the first and pay .15 of their share, hidden ones all or nothing",
        "success",
        (*_SHORT, "env.kwargs.n_bugs=4"),
    ),
    "small": Setting("as bugs, two groups of 4 a step", "score", (*_BUGS, "rollout.tasks=2", "rollout.n=4")),
    "large": Setting("as bugs, 10 steps of one group of 32", "score", (*_BUGS, "rollout.n=32", "trainer.steps=10")),
    "two": Setting("as bugs, two bugs", "score", (*_BUGS, "env.kwargs.n_bugs=2")),
    "dependent": Setting(
        "as bugs, in files whose functions call each other", "score", (*_BUGS, "env.kwargs.dependent=true")
    ),
    "many": Setting(
        "as bugs, ten bugs in ten functions, from tiny10, a shipped model that has seen as many",
        "score",
        (
            *_BUGS,
            "model.path=tiny10",
            "env.kwargs.functions=10",
            "env.kwargs.n_bugs=10",
            "rollout.max_response_tokens=256",  # ten right edits have at most 211 (40 tasks)
        ),
    ),
    "built-in": Setting("the built-in run: three bugs, two turns, 40 steps of 8 groups of 16", "success", ()),
}

ALIASES = {
    # The true worth of each change against the place's mean: exact up to ten changes a reply, with a budget that no
    # setting reaches. Groups of equal returns are kept: there is credit in them too.
    "oracle": "didpo:estimator=shapley:center=true:judge_budget=1000000:rollout.dynamic_sampling=false",
    # The model before training.
    "start": "grpo:trainer.steps=0:trainer.eval_first=true",
}

#: Groups are never refilled: equal rollouts. One evaluation before training serves all runs of a setting.
_FIXED = (
    "rollout.max_refills=0",
    "trainer.eval_first=false",
    "trainer.logger=[]",
    "trainer.report=false",
    "trainer.keep=1",
)
#: What may differ between machines: where and how watched a run is.
_ELSEWHERE = ("distributed.", "env.workers", "env.kwargs.workers", "trainer.")
_COUNTS = ("trainer.steps", "trainer.eval_tasks", "trainer.eval_every")


def label(setting: str, overrides: Sequence[str]) -> str:
    """The name of a setting with overrides that change results."""
    return ":".join([setting, *(own for own in overrides if _matters(own.partition("=")[0]))])


def configure(
    setting: str, method: str, seed: int, run_dir: str, overrides: Sequence[str] = ()
) -> tuple[Config, type[Algorithm]]:
    """The configuration of one run, and the method's class. Raises ConfigError for an unknown name or setting."""
    name, *changes = _parts(setting)
    if name not in SETTINGS:
        raise ConfigError(f"--settings: there is no {name!r}; there are: {', '.join(SETTINGS)}")
    algorithm, *own = _parts(ALIASES.get(method, method))
    cls = load_algorithm(algorithm)
    own = [one if "." in one.partition("=")[0] else f"algorithm.{one}" for one in own]
    fixed = [f"trainer.seed={seed}", f"trainer.run_dir={run_dir}"]
    return resolve(cls, [*_FIXED, *SETTINGS[name].overrides, *changes, *overrides, *own, *fixed]), cls


def file_name(text: str) -> str:
    """A name for a file that tells what it is of, of a length that every file system takes."""
    plain = text.replace(":", "-").replace("/", "_")
    return plain if len(plain) <= 120 else f"{plain[:107]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _parts(name: str) -> list[str]:
    return re.split(r":(?=[\w.]+=)", name)  # a value may hold a colon: env.id=module:Name-v0


def digest(config: Config) -> str:
    """Twelve hex digits of all that decides what a run comes to, its seed aside."""
    flat = {
        f"{section}.{key}": value
        for section, part in dataclasses.asdict(config).items()
        for key, value in part.items()
        if _matters(f"{section}.{key}") and key != "kwargs"
    }
    flat["env.kwargs"] = {key: value for key, value in config.env.kwargs.items() if key != "workers"}
    return hashlib.sha256(json.dumps(flat, sort_keys=True).encode()).hexdigest()[:12]


def _matters(key: str) -> bool:
    return key in _COUNTS or not key.startswith(_ELSEWHERE)
