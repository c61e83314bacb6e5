"""The policy loss, from log-probabilities to one number, the same whatever the split of the batch.

A row of a batch is one sequence. A loss is a sum divided by a count over the **whole optimiser step**, so the caller
counts first and then adds up; micro-batches and ranks change nothing::

    total = denominators(all_masks)                       # of all ranks
    for batch in micro_batches:
        loss, metrics = policy_loss(new, batch.old, batch.advantages, batch.mask, config, total)
        loss.backward()                                   # gradients add up to the step's
    # Where a wrapper averages gradients over ranks (FSDP, DDP), multiply the loss by the number of ranks.

Whatever stands under mask 0, NaN included, is not read. Metrics are shares of the step's: :func:`add_up` adds them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from algorithms.core import kl
from algorithms.core.config import LossConfig

AGG_MODES = ("token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm")
RATIO_LEVELS = ("token", "sequence")
SURROGATES = ("clip", "cispo")

#: The range of weights that ``loss.correction`` leaves (low, high): truncated importance sampling holds them below 2
#: (Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL training"), IcePop drops tokens
#: outside [.5, 5] (Ring-1T, arXiv 2510.18855).
CORRECTIONS = {"none": (0.0, math.inf), "truncate": (0.0, 2.0), "mask": (0.5, 5.0)}

#: Log-ratios are held within this, so that no infinity makes 0 * inf = NaN. Below it the ratio is under 2e-9. Above it
#: the surrogate is flat anyway where it is clipped or dual-clipped; where it is neither (A < 0 with clip_ratio_c=inf) a
#: ratio beyond 5e8 has no gradient any more.
MAX_LOG_RATIO = 20.0


@dataclass(frozen=True)
class Denominators:
    """Tokens with mask 1 and rows with at least one, over the whole optimiser step."""

    tokens: float
    sequences: float


def denominators(masks: Iterable[Tensor]) -> Denominators:
    """Count the masks [B, T] of all micro-batches of a step, those of all ranks among them."""
    counts = [(mask.bool().sum().item(), mask.bool().any(-1).sum().item()) for mask in masks]
    return Denominators(float(sum(tokens for tokens, _ in counts)), float(sum(rows for _, rows in counts)))


def validate(config: LossConfig) -> None:
    """Raise ValueError naming the key if a setting cannot be used, or would not be."""
    _choice("agg_mode", config.agg_mode, AGG_MODES)
    _choice("ratio_level", config.ratio_level, RATIO_LEVELS)
    _choice("surrogate", config.surrogate, SURROGATES)
    _choice("kl_type", config.kl_type, kl.KL_TYPES)
    _choice("kl_in", config.kl_in, ("loss", "reward"))
    _choice("correction", config.correction, tuple(CORRECTIONS))
    _require(config, "clip_ratio_low", 0 <= config.clip_ratio_low <= 1, "must be in 0..1")
    _require(config, "clip_ratio_high", config.clip_ratio_high >= 0, "must be >= 0")
    _require(config, "clip_ratio_c", config.clip_ratio_c > 1, "must be > 1, or every negative advantage is clipped")
    for key in ("kl_coef", "entropy_coef"):
        _require(config, key, 0 <= getattr(config, key) < math.inf, "must be a number >= 0")
    for key, used_by in (("correction_high", ("truncate", "mask")), ("correction_low", ("mask",))):
        _require(config, key, getattr(config, key) >= 0, "must be >= 0")
        remedy = f"is only used with loss.correction={' or '.join(used_by)}; leave it 0"
        _require(config, key, config.correction in used_by or getattr(config, key) == 0, remedy)
    low, high = correction_range(config)
    _require(config, "correction_high", low < high, f"must be above the smallest weight, {low}")
    for key in ("epochs", "minibatches", "micro_batch_tokens"):
        _require(config, key, getattr(config, key) >= 1, "must be >= 1")
    if config.agg_mode == "seq-mean-token-sum-norm":
        remedy = "must be > 0 with loss.agg_mode=seq-mean-token-sum-norm, e.g. rollout.max_response_tokens"
        _require(config, "norm_constant", 0 < config.norm_constant < math.inf, remedy)
    else:
        remedy = "is only used with loss.agg_mode=seq-mean-token-sum-norm; leave it 0"
        _require(config, "norm_constant", config.norm_constant == 0, remedy)


def correction_range(config: LossConfig) -> tuple[float, float]:
    """The smallest and the largest weight of ``loss.correction``."""
    low, high = CORRECTIONS[config.correction]
    return config.correction_low or low, config.correction_high or high


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
    engine_logprobs: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """This batch's share of the loss of the optimiser step, and of its metrics.

    ``surrogate="clip"``: the clipped surrogate (PPO, arXiv 1707.06347, eq. 7) with separate bounds (DAPO, 2503.14476,
    eq. 10) and a dual clip for negative advantages (1912.09729, eq. 5). ``"cispo"``: the ratio, clipped and held
    constant, weighs the policy gradient, so that no token loses its gradient (MiniMax-M1, 2506.13585, eqs. 4-5).
    ``ratio_level="sequence"`` takes the geometric mean of a row's ratios instead (GSPO, 2507.18071, eq. 7, in the
    token form of eq. 14). ``correction`` multiplies all this by policy/engine before the step, truncated or masked.
    Plus ``kl_coef`` times the KL to the reference (:mod:`algorithms.core.kl`; not with ``kl_in="reward"``, where the
    advantages hold it), minus ``entropy_coef`` times the entropy, both aggregated alike.

    Args:
        logprobs: [B, T], of the policy being trained; the only input (with ``entropy``) a gradient flows to.
        old_logprobs: [B, T], of the policy before the step, by the same code and at the same temperature.
        advantages: [B, T].
        mask: [B, T], 1 on the tokens the policy sampled.
        total: counts of the whole optimiser step. Tokens that a correction masks are among them.
        ref_logprobs: [B, T], of the reference; needed if ``kl_coef`` > 0.
        entropy: [B, T], see :func:`algorithms.core.logits.token_entropy`; needed if ``entropy_coef`` > 0.
        engine_logprobs: [B, T], of the engine that sampled; needed for a ``correction``, else measured only.
    """
    mask = mask.bool()
    share = Share(mask, total)
    logprobs = torch.where(mask, logprobs, 0.0)
    old_logprobs = torch.where(mask, old_logprobs, 0.0).detach()
    advantages = torch.where(mask, advantages, 0.0).detach()

    log_ratio = logprobs - old_logprobs
    ratio = _ratio(log_ratio, mask, config.ratio_level)
    surrogate, metrics = _SURROGATE[config.surrogate](logprobs, ratio, advantages, config, share)
    if engine_logprobs is not None:
        weight, measured = _correction(old_logprobs - torch.where(mask, engine_logprobs, 0.0), config, share)
        surrogate = surrogate * weight
        metrics |= measured
    elif config.correction != "none":
        raise ValueError(f"loss.correction={config.correction} needs the engine's log-probabilities")
    loss = aggregate(surrogate, mask, config, total)
    metrics |= {
        "loss/policy": loss.item(),
        "loss/ratio": share(ratio),
        "loss/old_kl": share(torch.expm1(log_ratio) - log_ratio),
    }
    if config.kl_coef and config.kl_in == "loss":
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


def _clip(
    logprobs: Tensor, ratio: Tensor, advantages: Tensor, config: LossConfig, share: Share
) -> tuple[Tensor, dict[str, float]]:
    low, high = 1 - config.clip_ratio_low, 1 + config.clip_ratio_high
    plain = -advantages * ratio
    pessimistic = torch.maximum(plain, -advantages * ratio.clamp(low, high))
    negative = advantages < 0
    bounded = pessimistic
    if config.clip_ratio_c < math.inf:
        bounded = torch.where(negative, torch.minimum(pessimistic, -advantages * config.clip_ratio_c), pessimistic)
    return bounded, {
        "loss/clip_fraction": share(pessimistic > plain),
        "loss/dual_clip_fraction": share(bounded < pessimistic),
        "clip/low": share((ratio < low) & negative),
        "clip/high": share((ratio > high) & (advantages > 0)),
    }


def _cispo(
    logprobs: Tensor, ratio: Tensor, advantages: Tensor, config: LossConfig, share: Share
) -> tuple[Tensor, dict[str, float]]:
    low, high = 1 - config.clip_ratio_low, 1 + config.clip_ratio_high
    ratio = ratio.detach()
    return -ratio.clamp(low, high) * advantages * logprobs, {
        "loss/clip_fraction": share((ratio < low) | (ratio > high)),
        "clip/low": share(ratio < low),
        "clip/high": share(ratio > high),
    }


_SURROGATE = {"clip": _clip, "cispo": _cispo}


def _correction(gap: Tensor, config: LossConfig, share: Share) -> tuple[Tensor, dict[str, float]]:
    """The weight of each token for gap = log policy - log engine, and how far the two are apart.

    ``engine/kl`` is the k3 estimate of KL(engine|policy); the engine sampled the tokens.
    """
    gap = gap.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    weight = gap.exp()
    low, high = correction_range(config)
    outside = (weight < low) | (weight > high)
    metrics = {
        "engine/gap": share(gap.abs()),
        "engine/gap_max": share.largest(gap.abs()),
        "engine/kl": share(torch.expm1(gap) - gap),
        "engine/corrected": share(outside),
    }
    if config.correction == "none":
        return torch.ones_like(weight), metrics
    weight = torch.where(outside, 0.0, weight) if config.correction == "mask" else weight.clamp(max=high)
    return weight, metrics | {"engine/weight": share(weight)}


def engine_metrics(gap: Tensor, config: LossConfig) -> dict[str, float]:
    """The ``engine/*`` of :func:`policy_loss` for the gaps [N] of a step's tokens, where there is no loss."""
    mask = torch.ones(1, len(gap), dtype=torch.bool)
    return _correction(gap[None], config, Share(mask, denominators([mask])))[1]


def _ratio(log_ratio: Tensor, mask: Tensor, level: str) -> Tensor:
    if level == "sequence":
        mean = log_ratio.sum(-1, keepdim=True) / mask.sum(-1, keepdim=True).clamp(min=1)
        # The value is the sequence's, the gradient the token's own: s * grad log p(token).
        log_ratio = mean.detach() + log_ratio - log_ratio.detach()
    return log_ratio.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()


@dataclass(frozen=True)
class Share:
    """A batch's share of the mean of something over the step's tokens."""

    mask: Tensor
    total: Denominators

    def __call__(self, values: Tensor) -> float:
        return torch.where(self.mask, values.detach().float(), 0.0).sum().item() / max(self.total.tokens, 1.0)

    def largest(self, values: Tensor) -> float:
        """The largest of values >= 0; see :func:`add_up`."""
        return torch.where(self.mask, values.detach().float(), 0.0).max().item()


def add_up(shares: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The metrics of a step from those of its micro-batches or ranks, which all have the same names.

    Shares add up; of names that end in ``_max``, and of norms, which every rank knows whole, the largest counts.
    """
    total: dict[str, float] = {}
    for part in shares:
        for name, value in part.items():
            if name in total:
                value = max(total[name], value) if name.endswith(("_max", "grad_norm")) else total[name] + value
            total[name] = value
    return total
