"""From credited trajectories to padded tensors: rows, micro-batches, ranks.

A row is one sequence of ids with the policy's own tokens marked. Turns whose prompt starts with all that went
before share a row, so a conversation is read once; where a template rewrote history, a turn starts a row of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from algorithms.core.trajectory import Credit, Trajectory

#: Lengths are padded to a multiple of this: few distinct shapes, as kernels are prepared per shape on a CPU.
ROUND = 16


@dataclass
class Row:
    """One sequence. All arrays are [L]; ``mask`` is true on tokens the policy sampled, the others are 0 elsewhere."""

    ids: np.ndarray
    mask: np.ndarray
    advantages: np.ndarray
    engine_logprobs: np.ndarray
    old_logprobs: np.ndarray | None = None
    ref_logprobs: np.ndarray | None = None
    values: np.ndarray | None = None
    returns: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass
class Batch:
    """Rows padded on the right, where a causal model cannot see it. ``ids`` [B, L]; the others [B, L-1], of the
    token that each position predicts. ``old_logprobs`` None: those of the policy itself."""

    ids: Tensor
    mask: Tensor
    advantages: Tensor
    engine_logprobs: Tensor
    old_logprobs: Tensor | None
    ref_logprobs: Tensor | None
    values: Tensor | None
    returns: Tensor | None


#: Ids, whether the policy sampled them, their advantages, the engine's log-probabilities.
_Part = tuple[np.ndarray, bool, np.ndarray, np.ndarray]


def rows_of(trajectory: Trajectory, advantages: Sequence[np.ndarray]) -> list[Row]:
    """The rows of one trajectory: ``advantages`` has an array [T] per turn, each kept with its own turn's tokens."""
    rows: list[list[_Part]] = []
    seen = np.empty(0, dtype=np.int64)
    for turn, advantage in zip(trajectory.turns, advantages, strict=True):
        if len(advantage) != len(turn.response_ids):
            raise ValueError(
                f"task {trajectory.task_id!r}, trajectory {trajectory.member}: {len(advantage)} advantages for"
                f" {len(turn.response_ids)} tokens; credit() must give one per sampled token"
            )
        if not rows or len(turn.prompt_ids) < len(seen) or not np.array_equal(turn.prompt_ids[: len(seen)], seen):
            rows.append([])
            seen = np.empty(0, dtype=np.int64)
        added = turn.prompt_ids[len(seen) :]
        nothing = np.zeros(len(added), dtype=np.float32)
        rows[-1].append((added, False, nothing, nothing))
        rows[-1].append((turn.response_ids, True, advantage, turn.logprobs))
        seen = np.concatenate([turn.prompt_ids, turn.response_ids])
    return [_row(parts) for parts in rows]


def _row(parts: Sequence[_Part]) -> Row:
    return Row(
        ids=np.concatenate([ids for ids, *_ in parts]).astype(np.int64),
        mask=np.concatenate([np.full(len(ids), sampled) for ids, sampled, *_ in parts]),
        advantages=np.concatenate([values for *_, values, _ in parts]).astype(np.float32),
        engine_logprobs=np.concatenate([values for *_, values in parts]).astype(np.float32),
    )


def rows_of_groups(groups: Sequence[tuple[Sequence[Trajectory], Credit]]) -> list[Row]:
    """The rows of credited groups, in order, without those in which nothing was sampled."""
    return [
        row
        for group, credit in groups
        for trajectory, advantages in zip(group, credit.advantages, strict=True)
        for row in rows_of(trajectory, advantages)
        if row.mask.any()
    ]


def tokens_of(rows: Sequence[Row], field: str) -> np.ndarray:
    """A field of the rows at all sampled tokens, in the order of trajectories, turns and tokens: [N]."""
    return np.concatenate([getattr(row, field)[row.mask] for row in rows])


def with_tokens(rows: Sequence[Row], field: str, values: np.ndarray) -> list[Row]:
    """The rows with a field set from what :func:`tokens_of` gives; 0 where nothing was sampled."""
    result = []
    for row, own in zip(rows, np.split(values, np.cumsum([row.mask.sum() for row in rows])[:-1]), strict=True):
        full = np.zeros(len(row), dtype=np.float32)
        full[row.mask] = own
        result.append(dataclasses.replace(row, **{field: full}))
    return result


def padded(length: int) -> int:
    """The padded length of a row."""
    return -(-length // ROUND) * ROUND


def plan(lengths: Sequence[int], ranks: int, budget: int) -> list[list[list[int]]]:
    """Which rows each rank reads in which micro-batch: [rank][micro-batch] -> row numbers.

    Rows of like length share a micro-batch of at most ``budget`` padded tokens (a longer row is alone in its own).
    Every rank gets the same number of micro-batches, empty ones at the end included: with sharded weights each
    forward and backward is a conversation of all ranks.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    result: list[list[list[int]]] = []
    for rank in range(ranks):
        micro: list[list[int]] = []
        for i in order[rank::ranks]:
            if micro and padded(lengths[micro[-1][0]]) * (len(micro[-1]) + 1) <= budget:
                micro[-1].append(i)
            else:
                micro.append([i])
        result.append(micro)
    most = max(len(micro) for micro in result)
    return [micro + [[] for _ in range(most - len(micro))] for micro in result]


def collate(rows: Sequence[Row]) -> Batch:
    """Pad rows to a batch. No rows give one row of padding with mask 0, which costs a short pass and adds nothing."""
    longest = padded(max((len(row) for row in rows), default=2))
    shape = (max(len(rows), 1), longest)

    def pad(values: Sequence[np.ndarray | None], dtype: type) -> np.ndarray:
        result: np.ndarray = np.zeros(shape, dtype=dtype)
        for k, value in enumerate(values):
            if value is not None:
                result[k, : len(value)] = value
        return result

    def optional(values: Sequence[np.ndarray | None]) -> Tensor | None:
        if values and values[0] is None:
            return None
        return torch.from_numpy(pad(values, np.float32)[:, 1:])

    return Batch(
        ids=torch.from_numpy(pad([row.ids for row in rows], np.int64)),
        mask=torch.from_numpy(pad([row.mask for row in rows], np.bool_)[:, 1:]),
        advantages=torch.from_numpy(pad([row.advantages for row in rows], np.float32)[:, 1:]),
        engine_logprobs=torch.from_numpy(pad([row.engine_logprobs for row in rows], np.float32)[:, 1:]),
        old_logprobs=optional([row.old_logprobs for row in rows]),
        ref_logprobs=optional([row.ref_logprobs for row in rows]),
        values=optional([row.values for row in rows]),
        returns=optional([row.returns for row in rows]),
    )
