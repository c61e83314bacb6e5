"""The engine for CPUs and small models: ``transformers`` with a key-value cache that is allocated once.

Rows of like length are decoded together. Equal prompts are read once and their cache is copied. Rows that have ended
leave the batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import DynamicCache, DynamicLayer

from algorithms.core.config import Config
from algorithms.core.logits import token_logprobs
from algorithms.core.model import load_model, pick_device
from algorithms.rollout.engine import Generation, Sampling, draw, uniforms

#: Ended rows are taken out when this share of the batch has ended: taking out copies the cache, staying costs a row.
COMPACT = 0.125


class RoomyLayer(DynamicLayer):
    """A layer's cache with room for the whole reply: a step writes one column instead of copying all of it."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room, self._length = room, 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.device = key_states.device
        shape = (*key_states.shape[:2], self._room, key_states.shape[3])
        self._keys = key_states.new_empty(shape)
        self._values = value_states.new_empty((*shape[:3], value_states.shape[3]))
        self.is_initialized = True

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        start, self._length = self._length, self._length + key_states.shape[2]
        self._keys[:, :, start : self._length] = key_states
        self._values[:, :, start : self._length] = value_states
        self.keys, self.values = self._keys[:, :, : self._length], self._values[:, :, : self._length]
        return self.keys, self.values

    def get_seq_length(self) -> int:
        return self._length

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these rows, in this order; a row may be named several times."""
        self._keys, self._values = (self._take(buffer, indices) for buffer in (self._keys, self._values))
        self.keys, self.values = self._keys[:, :, : self._length], self._values[:, :, : self._length]

    def _take(self, buffer: Tensor, indices: Tensor) -> Tensor:
        result = buffer.new_empty((len(indices), *buffer.shape[1:]))
        torch.index_select(buffer[:, :, : self._length], 0, indices, out=result[:, :, : self._length])
        return result


class NativeEngine:
    """An :class:`algorithms.rollout.engine.InferenceEngine` in this process."""

    def __init__(self, config: Config, model: PreTrainedModel | None = None) -> None:
        self._device = pick_device(config.distributed.device)
        self._model = load_model(config.model, self._device) if model is None else model
        # Newer transformers renamed the argument.
        renamed = "cache" in inspect.signature(self._model.forward).parameters
        self._cache_argument = "cache" if renamed else "past_key_values"
        self._batch_size = config.rollout.batch_size
        if config.trainer.threads:
            torch.set_num_threads(config.trainer.threads)

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling, seeds: Sequence[int]) -> list[Generation]:
        """See the protocol. Prompts may have any lengths; none may be empty."""
        order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), tuple(prompts[i]), i))
        results: dict[int, Generation] = {}
        for start in range(0, len(order), self._batch_size):
            part = order[start : start + self._batch_size]
            replies = self._decode([prompts[i] for i in part], sampling, [seeds[i] for i in part])
            results.update(zip(part, replies, strict=True))
        return [results[i] for i in range(len(prompts))]

    @torch.inference_mode()
    def _decode(self, prompts: Sequence[Sequence[int]], sampling: Sampling, seeds: Sequence[int]) -> list[Generation]:
        count, room = len(prompts), sampling.max_tokens
        cache, mask, logits = self._read(prompts, room)
        length = mask.shape[1] - room
        draws = uniforms(seeds, room)
        position = mask[:, :length].sum(1)  # of the next token
        stops = torch.tensor(sampling.stop_ids, device=self._device)

        ids = torch.zeros(room, count, dtype=torch.int64, device=self._device)
        logprobs = torch.zeros(room, count, device=self._device)
        ends = torch.full((count,), room, device=self._device)
        stopped = torch.zeros(count, dtype=torch.bool, device=self._device)
        rows = torch.arange(count, device=self._device)
        for t in range(room):
            token, logprob = draw(logits, draws[rows.cpu(), t], sampling)
            ids[t, rows], logprobs[t, rows] = token, logprob
            ended = torch.isin(token, stops) & ~stopped[rows]
            ends[rows[ended]] = t + 1
            stopped[rows[ended]] = True
            alive = ~stopped[rows]
            left = int(alive.sum())
            if left == 0 or t + 1 == room:
                break
            if left <= (1 - COMPACT) * len(rows):
                keep = alive.nonzero()[:, 0]
                cache.batch_select_indices(keep)
                rows, token, position, mask = rows[keep], token[keep], position[keep], mask[keep]
            output = self._model(
                input_ids=token[:, None],
                attention_mask=mask[:, : length + t + 1],
                position_ids=position[:, None],
                **{self._cache_argument: cache},
                use_cache=True,
            )
            logits, position = output.logits[:, -1], position + 1
        return _generations(ids.cpu(), logprobs.cpu(), ends.cpu(), stopped.cpu())

    def _read(self, prompts: Sequence[Sequence[int]], room: int) -> tuple[DynamicCache, Tensor, Tensor]:
        """Read the prompts, equal ones once: the cache, the mask int64 [B, length + room], the next logits [B, V]."""
        first: dict[tuple[int, ...], int] = {}
        index = [first.setdefault(tuple(prompt), len(first)) for prompt in prompts]
        length = max(map(len, first))
        ids = np.zeros((len(first), length), dtype=np.int64)
        valid = np.zeros((len(first), length + room), dtype=np.int64)
        for k, prompt in enumerate(first):
            ids[k, length - len(prompt) :] = prompt
            valid[k, length - len(prompt) :] = 1
        mask = torch.from_numpy(valid).to(self._device)
        cache = DynamicCache(config=self._model.config)
        # Layers that attend within a window or keep a state stay as transformers makes them.
        cache.layers = [RoomyLayer(length + room) if type(layer) is DynamicLayer else layer for layer in cache.layers]
        output = self._model(
            input_ids=torch.from_numpy(ids).to(self._device),
            attention_mask=mask[:, :length],
            position_ids=(mask[:, :length].cumsum(1) - 1).clamp(min=0),
            **{self._cache_argument: cache},
            use_cache=True,
            logits_to_keep=1,
        )
        logits = output.logits[:, -1]
        if len(first) < len(prompts):
            expand = torch.tensor(index, device=self._device)
            cache.batch_select_indices(expand)
            mask, logits = mask[expand], logits[expand]
        return cache, mask, logits

    def update_weights(self, state_dict: Mapping[str, Tensor]) -> None:
        """Copy the policy's weights; every name must be there."""
        self._model.load_state_dict(state_dict)

    @torch.inference_mode()
    def logprobs(self, ids: Sequence[int], temperature: float = 1.0) -> np.ndarray:
        """See the protocol; reads the sequence in two halves, the second through the cache, as in sampling."""
        tensor = torch.tensor([list(ids)], device=self._device)
        half = max(1, len(ids) // 2)
        cache, _, first = self._read([list(ids[:half])], len(ids) - half)
        begin = self._model(input_ids=tensor[:, :half]).logits[:, :-1]
        rest = self._model(input_ids=tensor[:, half:], **{self._cache_argument: cache}, use_cache=True).logits[:, :-1]
        logits = torch.cat([begin, first[:, None], rest], 1)
        return token_logprobs(logits, tensor[:, 1:], temperature)[0].float().cpu().numpy()


def _generations(ids: Tensor, logprobs: Tensor, ends: Tensor, stopped: Tensor) -> list[Generation]:
    tokens, values = ids.numpy().T, logprobs.numpy().T
    return [
        Generation(tokens[k, :end].copy(), values[k, :end].copy(), truncated=not done)
        for k, (end, done) in enumerate(zip(ends.tolist(), stopped.tolist(), strict=True))
    ]
