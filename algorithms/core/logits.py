"""From logits to log-probabilities of the sampled tokens, and to entropies, without a second copy of the logits.

The temperature divides the logits here exactly as in sampling: rollout, old, new and reference log-probabilities
all go through this one function.

Both work in float32 (float64 for float64 logits) on slices of ``CHUNK`` logits at a time; between forward and
backward they keep the logits themselves and one number per token. Differentiable once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

#: Logits converted at a time: 16 MiB of float32, far below a model's activations, large enough to fill the cores.
CHUNK = 1 << 22


def token_logprobs(logits: Tensor, ids: Tensor, temperature: float = 1.0) -> Tensor:
    """log softmax(logits / temperature) at the given ids: logits [B, T, V], int64 ids [B, T] -> float [B, T]."""
    _check(temperature)
    return _TokenLogprobs.apply(logits, ids, temperature)


def token_entropy(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Entropy in nats of softmax(logits / temperature): [B, T, V] -> [B, T]."""
    _check(temperature)
    return _TokenEntropy.apply(logits, temperature)


def _check(temperature: float) -> None:
    if not temperature > 0:
        raise ValueError(f"rollout.temperature={temperature} must be > 0 to train; greedy decoding is for evaluation")


class _TokenLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, ids: Tensor, temperature: float) -> Tensor:
        result = _like(logits, ids.shape).view(-1)
        flat, targets = logits.reshape(-1, logits.shape[-1]), ids.reshape(-1, 1)
        for part in _parts(flat):
            scaled = _scaled(flat[part], temperature)
            result[part] = scaled.gather(1, targets[part]).squeeze(1) - scaled.logsumexp(1)
        ctx.save_for_backward(logits, ids)
        ctx.temperature = temperature
        return result.view(ids.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        logits, ids = ctx.saved_tensors
        result = torch.empty_like(logits, memory_format=torch.contiguous_format)
        flat, out = logits.reshape(-1, logits.shape[-1]), result.view(-1, logits.shape[-1])
        targets, weights = ids.reshape(-1, 1), grad.reshape(-1, 1) / ctx.temperature
        for part in _parts(flat):
            slope = _scaled(flat[part], ctx.temperature).softmax(1).mul_(-weights[part])
            out[part] = slope.scatter_add_(1, targets[part], weights[part].to(slope.dtype))
        return result, None, None


class _TokenEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, temperature: float) -> Tensor:
        result = _like(logits, logits.shape[:-1]).view(-1)
        flat = logits.reshape(-1, logits.shape[-1])
        for part in _parts(flat):
            result[part] = torch.special.entr(_scaled(flat[part], temperature).softmax(1)).sum(1)
        result = result.view(logits.shape[:-1])
        ctx.save_for_backward(logits, result)
        ctx.temperature = temperature
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        logits, entropy = ctx.saved_tensors
        result = torch.empty_like(logits, memory_format=torch.contiguous_format)
        flat, out = logits.reshape(-1, logits.shape[-1]), result.view(-1, logits.shape[-1])
        weights, entropies = grad.reshape(-1, 1) / ctx.temperature, entropy.reshape(-1, 1)
        for part in _parts(flat):
            # dH / dz = -p (log p + H), which is -(p log p) - p H: entr() is finite where p = 0.
            p = _scaled(flat[part], ctx.temperature).softmax(1)
            out[part] = (torch.special.entr(p) - p * entropies[part]) * weights[part]
        return result, None


def _like(logits: Tensor, shape: torch.Size) -> Tensor:
    return torch.empty(shape, dtype=_dtype(logits), device=logits.device)


def _dtype(logits: Tensor) -> torch.dtype:
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _scaled(logits: Tensor, temperature: float) -> Tensor:
    return logits.to(_dtype(logits)) / temperature


def _parts(flat: Tensor) -> Iterator[slice]:
    rows = max(1, CHUNK // flat.shape[1])
    return (slice(start, start + rows) for start in range(0, len(flat), rows))
