"""KL divergence of the policy from a reference, estimated on sampled tokens: Schulman's k1, k2 and k3.

With d = log p(a) - log q(a), p the policy that sampled a and q the reference, per token::

    k1 = d                    E k1 = KL(p|q)       gradient of its mean: 0 in expectation
    k2 = d^2 / 2              E k2 is not the KL   gradient: exactly that of KL(p|q)
    k3 = exp(-d) - 1 + d      E k3 = KL(p|q)       gradient: that of KL(q|p), another direction

Differentiating an estimate of the KL does not estimate the derivative of the KL, since the distribution that is
sampled from moves too. So :func:`loss_term` keeps each type's *value* and gives all of them the gradient of k2,
d * grad log p(a), whose expectation over a ~ p is the gradient of KL(p|q) of that token's distribution. (What the
token does to the divergence of later tokens is not in it: that belongs into the reward.) It is exact while p is the
policy that sampled; in later minibatches of a step it is off by the importance ratio, like the estimates themselves.
Nothing is clamped: a clamp on k3 would hold tokens with the largest divergence at gradient 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

KL_TYPES = ("k1", "k2", "k3")


def estimate(logprobs: Tensor, ref_logprobs: Tensor, kl_type: str) -> Tensor:
    """The estimator itself, elementwise, differentiable as written above (http://joschu.net/blog/kl-approx.html)."""
    difference = logprobs - ref_logprobs
    if kl_type == "k1":
        return difference
    if kl_type == "k2":
        return difference.square() / 2
    if kl_type == "k3":
        return torch.expm1(-difference) + difference
    raise ValueError(f"loss.kl_type={kl_type!r} is unknown; there are: {', '.join(KL_TYPES)}")


def loss_term(logprobs: Tensor, ref_logprobs: Tensor, kl_type: str) -> Tensor:
    """Elementwise: the value of :func:`estimate`, the gradient of KL(p|q) in expectation (that of k2)."""
    k2 = estimate(logprobs, ref_logprobs.detach(), "k2")
    value = estimate(logprobs.detach(), ref_logprobs.detach(), kl_type)
    return value + (k2 - k2.detach())
