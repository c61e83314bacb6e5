"""Starts the workers of a run: in this process, or as Ray actors (``trainer.ray=true``). The same classes either way.

::

    with launch(config) as workers:
        workers.policy.update(rows, step)
        workers.sync()
        workers.generate(prompts, sampling, seeds)
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence

import numpy as np

from algorithms.core.config import Config
from algorithms.core.model import pick_device, vocabulary_size
from algorithms.distributed.handles import Actor, Handle, Local
from algorithms.distributed.policy import Policy
from algorithms.distributed.worker import PolicyWorker
from algorithms.rollout.engine import Generation, Sampling
from algorithms.rollout.environments import EnvWorker
from algorithms.rollout.native import NativeEngine

#: Largest difference of a log-probability between engine and policy after a sync. Two ways of computing the same
#: number differ by 1e-5 in float32 and by some 1e-2 in 16 bits; the weights of another model differ by more. Those of
#: the step before may not: that the engine's values move when the policy's do is looked at beside.
TOLERANCE_32, TOLERANCE_16 = 1e-3, 0.25
PROBE = 32  # ids read to compare


class SyncError(RuntimeError):
    """The engine does not compute what the policy computes."""


class Workers:
    """Everything a run talks to."""

    def __init__(
        self, config: Config, ranks: Sequence[Handle], engines: Sequence[Handle], environments: Sequence[Handle]
    ) -> None:
        self.policy, self.environments = Policy(config, ranks), environments
        self._engines, self._config = engines, config
        # A fixed sequence that visits the vocabulary evenly: what is compared does not depend on what was sampled.
        self._probe = [int(i) for i in np.arange(1, PROBE + 1) * 7919 % vocabulary_size(config.model.path)]
        exact = config.model.dtype == "float32" and not config.model.autocast
        self._tolerance = TOLERANCE_32 if exact else TOLERANCE_16
        self._seen: list[np.ndarray] | None = None
        self._expected: np.ndarray | None = None

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling, seeds: Sequence[int]) -> list[Generation]:
        """Deal the prompts to the engines in equal runs, so that equal prompts stay together."""
        parts = np.array_split(np.arange(len(prompts)), len(self._engines))
        answers = [
            engine.start("generate", [prompts[i] for i in part], sampling, [seeds[i] for i in part])
            for engine, part in zip(self._engines, parts, strict=True)
        ]
        return [generation for answer in answers for generation in answer()]

    def sync(self) -> None:
        """Give the engines the policy's weights, and see that they compute with them.

        Raises SyncError if the log-probabilities of a fixed sequence differ, or did not change where the policy's did.
        """
        state = self.policy.state_dict()
        for answer in [engine.start("update_weights", state) for engine in self._engines]:
            answer()
        expected = self.policy.logprobs(self._probe)
        seen = [engine.start("logprobs", self._probe)() for engine in self._engines]
        moved = self._expected is not None and not np.array_equal(expected, self._expected)
        for number, values in enumerate(seen):
            gap = float(np.abs(values - expected).max())
            stale = moved and self._seen is not None and np.array_equal(values, self._seen[number])
            if stale or not gap <= self._tolerance:
                reason = "did not change with the policy's" if stale else f"differ from the policy's by {gap:.2g}"
                raise SyncError(
                    f"after the weights were sent, the log-probabilities of engine {number} {reason}:"
                    f" rollout.engine={self._config.rollout.engine} samples from other weights; the run is stopped"
                )
        self._expected, self._seen = expected, seen


@contextlib.contextmanager
def launch(config: Config) -> Iterator[Workers]:
    """The workers of a run, ended on the way out."""
    environments: list[Handle]
    if not config.trainer.ray:
        environments = [Local(EnvWorker(config.env, config.env.workers))]
        workers = Workers(config, [Local(PolicyWorker(config))], [Local(NativeEngine(config))], environments)
        try:
            yield workers
        finally:
            environments[0].start("close")
        return
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(
        address="local",
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    try:
        gpus = 1 if pick_device(config.distributed.device).type == "cuda" else 0
        count = config.distributed.ranks
        ranks = [Actor(PolicyWorker, config, rank, count, gpus=gpus) for rank in range(count)]
        if count > 1:
            address = ranks[0].start("host")()
            for answer in [rank.start("join", *address) for rank in ranks]:
                answer()
        engines = [Actor(NativeEngine, config, gpus=gpus) for _ in range(config.distributed.engines)]
        environments = [Actor(EnvWorker, config.env, 1) for _ in range(config.env.workers)]
        yield Workers(config, ranks, engines, environments)
        for answer in [environment.start("close") for environment in environments]:
            answer()
    finally:
        ray.shutdown()
