"""What an inference engine is, and how one token is drawn.

::

    engine = NativeEngine(config)
    generations = engine.generate(prompts, Sampling(max_tokens=192, stop_ids=(3,)), seeds)
    engine.update_weights(state_dict)

A row's draws are a function of its seed and the token's number alone (a counter-based generator, inverted CDF), so
what it says depends on the batch it is in by no more than the rounding of its logits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from algorithms.core.logits import token_logprobs


@dataclass(frozen=True)
class Sampling:
    """How replies are drawn. ``temperature`` 0 takes the likeliest token; ``top_k`` 0 keeps every token."""

    max_tokens: int
    stop_ids: tuple[int, ...]
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0


@dataclass(frozen=True)
class Generation:
    """One reply: int64 [T] ids (the stop id last), float32 [T] log-probabilities at the sampling temperature (at 1 for
    greedy), before ``top_p`` and ``top_k``. ``truncated``: no stop id within ``max_tokens``."""

    ids: np.ndarray
    logprobs: np.ndarray
    truncated: bool


class InferenceEngine(Protocol):
    """Anything that samples from the policy."""

    def generate(self, prompts: Sequence[Sequence[int]], sampling: Sampling, seeds: Sequence[int]) -> list[Generation]:
        """One reply per prompt; equal seeds and prompts give equal replies."""
        ...

    def update_weights(self, state_dict: Mapping[str, Tensor]) -> None:
        """Take over the policy's weights."""
        ...

    def logprobs(self, ids: Sequence[int], temperature: float = 1.0) -> np.ndarray:
        """float32 [L-1]: the log-probability of each id given those before it, by the engine's weights."""
        ...


def derive_seed(*parts: int | str) -> int:
    """A 64-bit seed from what it stands for, e.g. (seed, task, member, turn): equal parts, equal seed."""
    text = "\0".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def uniforms(seeds: Sequence[int], count: int) -> Tensor:
    """float64 [B, count] in [0, 1): row i from the Philox generator keyed by seeds[i]."""
    rows = [np.random.Generator(np.random.Philox(key=seed)).random(count) for seed in seeds]
    return torch.from_numpy(np.stack(rows))


def draw(logits: Tensor, uniform: Tensor, sampling: Sampling) -> tuple[Tensor, Tensor]:
    """One token per row: logits [B, V], uniform float64 [B] -> ids int64 [B], log-probabilities float32 [B]."""
    logits = logits.float()
    if sampling.temperature == 0:
        ids = logits.argmax(-1)
        return ids, token_logprobs(logits[:, None], ids[:, None])[:, 0]
    scaled = logits / sampling.temperature
    weights = torch.softmax(_cut(scaled, sampling), -1).double()  # in float32 the sum over 150,000 ids is off by 1e-3
    cdf = weights.cumsum(-1)
    # The first id whose cumulative weight exceeds the target; targets stay below the total, so it has weight > 0.
    target = (uniform.to(logits.device) * cdf[:, -1]).clamp(max=torch.nextafter(cdf[:, -1], cdf.new_zeros(1)))
    ids = torch.searchsorted(cdf, target[:, None], right=True)[:, 0]
    chosen = scaled.gather(1, ids[:, None])[:, 0]
    return ids, chosen - scaled.logsumexp(-1)


def _cut(scaled: Tensor, sampling: Sampling) -> Tensor:
    if sampling.top_k > 0:
        least = scaled.topk(min(sampling.top_k, scaled.shape[-1]), -1).values[:, -1:]
        scaled = scaled.masked_fill(scaled < least, -torch.inf)
    if sampling.top_p < 1:
        ordered, order = scaled.sort(dim=-1, descending=True, stable=True)
        share = ordered.softmax(-1)
        # The smallest set whose weight reaches top_p: an id goes if those before it reach it already.
        gone = share.cumsum(-1) - share >= sampling.top_p
        scaled = scaled.masked_fill(gone.scatter(-1, order, gone), -torch.inf)
    return scaled
