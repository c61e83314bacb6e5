"""The policy being trained: a worker per rank, and the group that makes several ranks look like one.

::

    policy = Policy(config, [Local(PolicyWorker(config))])
    metrics = policy.update(rows, step, progress=...)
    state = policy.state_dict()

Rows are dealt to ranks and micro-batches by :func:`algorithms.core.batch.plan`, and every loss is divided by counts
over the whole optimiser step, so the result is the same for any number of ranks and any micro-batch size.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from algorithms.core.batch import Row, plan, tokens_of
from algorithms.core.config import Config
from algorithms.core.losses import add_up, denominators, engine_metrics
from algorithms.distributed.handles import Handle


class Policy:
    """All ranks of the policy."""

    def __init__(self, config: Config, ranks: Sequence[Handle]) -> None:
        self._config, self._ranks = config, ranks

    def update(self, rows: Sequence[Row], step: int) -> dict[str, float]:
        """Train on the rows of one step: ``loss.epochs`` passes of ``loss.minibatches`` optimiser steps. Metrics are
        means over the optimiser steps; ``engine/*`` of the first, whose policy is the engine's."""
        loss = self._config.loss
        rows = self.prepare(rows)
        results = []
        for epoch in range(loss.epochs):
            # Minibatches are a function of (seed, step, epoch); a single one keeps the order.
            order = np.random.default_rng([self._config.trainer.seed, step, epoch]).permutation(len(rows))
            for part in np.array_split(order, min(loss.minibatches, len(rows))):
                results.append(self._optimiser_step([rows[i] for i in sorted(part.tolist())], step))
        mean = {key: float(np.mean([result[key] for result in results])) for key in results[0]}
        return mean | {key: value for key, value in results[0].items() if key.startswith("engine/")}

    def prepare(self, rows: Sequence[Row]) -> list[Row]:
        """The rows with what the step needs of the models as they are now, where it is not there yet: ``old_logprobs``,
        ``ref_logprobs`` and the critic's ``values``."""
        config, loss, rows = self._config, self._config.loss, list(rows)
        in_reward = loss.kl_coef > 0 and loss.kl_in == "reward"
        if rows[0].old_logprobs is None and (loss.epochs * loss.minibatches > 1 or in_reward):
            rows = self._with_logprobs(rows, "old_logprobs", reference=False)
        if rows[0].ref_logprobs is None and loss.kl_coef > 0:
            rows = self._with_logprobs(rows, "ref_logprobs", reference=True)
        if rows[0].values is None and config.critic.enabled:
            rows = self._with(rows, "values", "values")
        return rows

    def engine_metrics(self, rows: Sequence[Row]) -> dict[str, float]:
        """How far engine and policy are apart, for rows that are not trained on: ``engine/*`` as :meth:`update`'s."""
        rows = self._with_logprobs(rows, "old_logprobs", reference=False)
        gap = tokens_of(rows, "old_logprobs") - tokens_of(rows, "engine_logprobs")
        return engine_metrics(torch.from_numpy(gap), self._config.loss)

    def _optimiser_step(self, rows: Sequence[Row], step: int) -> dict[str, float]:
        total = denominators(torch.from_numpy(row.mask[None, 1:]) for row in rows)
        optim = self._config.optim
        warm = min(1.0, step / optim.warmup_steps) if optim.warmup_steps else 1.0
        answers = [
            handle.start("update", micro_batches, total, warm)
            for handle, micro_batches in zip(self._ranks, self._deal(rows), strict=True)
        ]
        return add_up([answer() for answer in answers]) | {"lr": optim.lr * warm}

    def _deal(self, rows: Sequence[Row]) -> list[list[list[Row]]]:
        dealt = plan([len(row) for row in rows], len(self._ranks), self._config.loss.micro_batch_tokens)
        return [[[rows[i] for i in micro] for micro in rank] for rank in dealt]

    def _with_logprobs(self, rows: Sequence[Row], field: str, *, reference: bool) -> list[Row]:
        """The rows with the log-probabilities of the policy as it is now, or of the reference."""
        return self._with(rows, field, "logprobs", reference)

    def _with(self, rows: Sequence[Row], field: str, method: str, *args: Any) -> list[Row]:
        dealt = plan([len(row) for row in rows], len(self._ranks), self._config.loss.micro_batch_tokens)
        answers = [
            handle.start(method, [[rows[i] for i in micro] for micro in rank], *args)
            for handle, rank in zip(self._ranks, dealt, strict=True)
        ]
        found: dict[int, np.ndarray] = {}
        for rank, answer in zip(dealt, answers, strict=True):
            found.update(zip([i for micro in rank for i in micro], answer(), strict=True))
        return [dataclasses.replace(row, **{field: found[i]}) for i, row in enumerate(rows)]

    def logprobs(self, ids: Sequence[int]) -> np.ndarray:
        """float32 [L-1]: the log-probability of each id given those before it, at temperature 1 for any setting."""
        zeros = np.zeros(len(ids), dtype=np.float32)
        row = Row(np.array(ids), np.ones(len(ids), dtype=bool), advantages=zeros, engine_logprobs=zeros)
        micro = [[[row]]] + [[[]] for _ in self._ranks[1:]]
        answers = [handle.start("logprobs", part, False, 1.0) for handle, part in zip(self._ranks, micro, strict=True)]
        values = [answer() for answer in answers]
        return values[0][0][1:]

    def state_dict(self) -> Mapping[str, Tensor]:
        """The whole weights, on the CPU."""
        return self._all("state_dict")[0]

    def save(self, folder: Path) -> None:
        """Write weights (a ``transformers`` folder) and optimiser state."""
        self._all("save", str(folder))

    def load(self, folder: Path) -> None:
        """Take over what :meth:`save` wrote, with any number of ranks."""
        self._all("load", str(folder))

    def _all(self, method: str, *args: Any) -> list[Any]:
        answers = [handle.start(method, *args) for handle in self._ranks]
        return [answer() for answer in answers]
