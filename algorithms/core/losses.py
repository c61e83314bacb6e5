"""The clipped policy loss, from log-probabilities to one number, the same whatever the split of the batch.

A row of a batch is one sequence. A loss is a sum divided by a count over the **whole optimiser step**, so the caller
counts first and then adds up; micro-batches and ranks change nothing::

    total = denominators(all_masks)                       # add `total`s of ranks with all_reduce(SUM)
    for batch in micro_batches:
        loss, metrics = policy_loss(new, batch.old, batch.advantages, batch.mask, config, total)
        loss.backward()                                   # gradients add up to the step's
    # Where a wrapper averages gradients over ranks (FSDP, DDP), multiply the loss by the number of ranks.

Whatever stands under mask 0, NaN included, is not read. Metrics are shares of the step's: add them up as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from algorithms.core import kl
from algorithms.core.config import LossConfig

AGG_MODES = ("token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm")
RATIO_LEVELS = ("token", "sequence")

#: Log-ratios are held within this. Beyond it the surrogate is flat (above: clipped or dual-clipped; below: the ratio
#: is under 2e-9), so only the infinity that would make 0 * inf = NaN is avoided.
MAX_LOG_RATIO = 20.0


@dataclass(frozen=True)
class Denominators:
    """Tokens with mask 1 and rows with at least one, over the whole optimiser step."""

    tokens: float
    sequences: float


def denominators(masks: Iterable[Tensor]) -> Denominators:
    """Count the masks [B, T] of all micro-batches of a step (of this rank; sum both fields over the ranks)."""
    counts = [(mask.bool().sum().item(), mask.bool().any(-1).sum().item()) for mask in masks]
    return Denominators(float(sum(tokens for tokens, _ in counts)), float(sum(rows for _, rows in counts)))


def validate(config: LossConfig) -> None:
    """Raise ValueError naming the key if a setting cannot be used, or would not be."""
    _choice("agg_mode", config.agg_mode, AGG_MODES)
    _choice("ratio_level", config.ratio_level, RATIO_LEVELS)
    _choice("kl_type", config.kl_type, kl.KL_TYPES)
    _require(config, "clip_ratio_low", 0 <= config.clip_ratio_low <= 1, "must be in 0..1")
    _require(config, "clip_ratio_high", config.clip_ratio_high >= 0, "must be >= 0")
    _require(config, "clip_ratio_c", config.clip_ratio_c > 1, "must be > 1, or every negative advantage is clipped")
    for key in ("kl_coef", "entropy_coef"):
        _require(config, key, 0 <= getattr(config, key) < math.inf, "must be a number >= 0")
    for key in ("epochs", "minibatches", "micro_batch_tokens"):
        _require(config, key, getattr(config, key) >= 1, "must be >= 1")
    if config.agg_mode == "seq-mean-token-sum-norm":
        remedy = "must be > 0 with loss.agg_mode=seq-mean-token-sum-norm, e.g. rollout.max_response_tokens"
        _require(config, "norm_constant", 0 < config.norm_constant < math.inf, remedy)
    else:
        remedy = "is only used with loss.agg_mode=seq-mean-token-sum-norm; leave it 0"
        _require(config, "norm_constant", config.norm_constant == 0, remedy)


def _choice(key: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"loss.{key}={value!r} is unknown; there are: {', '.join(known)}")


def _require(config: LossConfig, key: str, holds: bool, remedy: str) -> None:
    if not holds:
        raise ValueError(f"loss.{key}={getattr(config, key)} {remedy}")


def aggregate(values: Tensor, mask: Tensor, config: LossConfig, total: Denominators) -> Tensor:
    """This batch's share of the step's mean of values [B, T], by ``config.agg_mode``. A row without a token counts not.

    token-mean: sum / tokens. seq-mean-token-mean: mean over rows of the row's mean. seq-mean-token-sum: mean over rows
    of the row's sum; -norm: that divided by ``norm_constant`` (Dr. GRPO, arXiv 2503.20783).
    """
    mask = mask.bool()
    values = torch.where(mask, values, 0.0)
    if config.agg_mode == "token-mean":
        return values.sum() / max(total.tokens, 1.0)
    rows = values.sum(-1)
    if config.agg_mode == "seq-mean-token-mean":
        rows = rows / mask.sum(-1).clamp(min=1)
    elif config.agg_mode == "seq-mean-token-sum-norm":
        rows = rows / config.norm_constant
    return rows.sum() / max(total.sequences, 1.0)


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    config: LossConfig,
    total: Denominators,
    *,
    ref_logprobs: Tensor | None = None,
    entropy: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """This batch's share of the loss of the optimiser step, and of its metrics.

    Clipped surrogate (PPO, arXiv 1707.06347, eq. 7) with separate bounds (DAPO, 2503.14476, eq. 10) and a dual clip
    for negative advantages (1912.09729, eq. 5); ``ratio_level="sequence"`` takes the geometric mean of a row's ratios
    instead (GSPO, 2507.18071, eq. 7, in the token form of eq. 14). Plus ``kl_coef`` times the KL to the reference
    (:mod:`algorithms.core.kl`), minus ``entropy_coef`` times the entropy, both aggregated alike.

    Args:
        logprobs: [B, T], of the policy being trained; the only input (with ``entropy``) a gradient flows to.
        old_logprobs: [B, T], of the policy before the step, by the same code and at the same temperature.
        advantages: [B, T].
        mask: [B, T], 1 on the tokens the policy sampled.
        total: counts of the whole optimiser step.
        ref_logprobs: [B, T], of the reference; needed if ``kl_coef`` > 0.
        entropy: [B, T], see :func:`algorithms.core.logits.token_entropy`; needed if ``entropy_coef`` > 0.
    """
    mask = mask.bool()
    logprobs = torch.where(mask, logprobs, 0.0)
    old_logprobs = torch.where(mask, old_logprobs, 0.0).detach()
    advantages = torch.where(mask, advantages, 0.0).detach()

    log_ratio = logprobs - old_logprobs
    ratio = _ratio(log_ratio, mask, config.ratio_level)
    clipped = ratio.clamp(1 - config.clip_ratio_low, 1 + config.clip_ratio_high)
    pessimistic = torch.maximum(-advantages * ratio, -advantages * clipped)
    bounded = torch.minimum(pessimistic, -advantages * config.clip_ratio_c)
    surrogate = torch.where(advantages < 0, bounded, pessimistic)
    loss = aggregate(surrogate, mask, config, total)

    share = _Share(mask, total)
    metrics = {
        "loss/policy": loss.item(),
        "loss/ratio": share(ratio),
        "loss/old_kl": share(torch.expm1(log_ratio) - log_ratio),
        "loss/clip_fraction": share(pessimistic > -advantages * ratio),
        "loss/dual_clip_fraction": share((advantages < 0) & (bounded < pessimistic)),
    }
    if config.kl_coef:
        if ref_logprobs is None:
            raise ValueError("loss.kl_coef > 0 needs the reference's log-probabilities; set loss.kl_coef=0 without one")
        term = aggregate(
            kl.loss_term(logprobs, torch.where(mask, ref_logprobs, 0.0), config.kl_type), mask, config, total
        )
        loss = loss + config.kl_coef * term
        metrics["loss/kl"] = term.item()
    if entropy is not None:
        bonus = aggregate(entropy, mask, config, total)
        loss = loss - config.entropy_coef * bonus
        metrics["loss/entropy"] = bonus.item()
    elif config.entropy_coef:
        raise ValueError("loss.entropy_coef > 0 needs the entropy of each token; see algorithms.core.logits")
    return loss, metrics


def _ratio(log_ratio: Tensor, mask: Tensor, level: str) -> Tensor:
    if level == "sequence":
        mean = log_ratio.sum(-1, keepdim=True) / mask.sum(-1, keepdim=True).clamp(min=1)
        # The value is the sequence's, the gradient the token's own: s * grad log p(token).
        log_ratio = mean.detach() + log_ratio - log_ratio.detach()
    return log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()


@dataclass(frozen=True)
class _Share:
    """A batch's share of the mean of something over the step's tokens."""

    mask: Tensor
    total: Denominators

    def __call__(self, values: Tensor) -> float:
        return torch.where(self.mask, values.detach().float(), 0.0).sum().item() / max(self.total.tokens, 1.0)
