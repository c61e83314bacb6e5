"""The critic of PPO: a transformer that says, before each token, what return is still to come; and its loss.

::

    critic = load_critic(config, device)
    values = critic(ids)                              # [B, L] -> [B, L]; at p, before the token p + 1
    loss, metrics = value_loss(values[:, :-1], old, returns, mask, config.critic.clip, total)
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from algorithms.core.config import Config
from algorithms.core.losses import Denominators, Share
from algorithms.core.model import critic_start, load_model


class Critic(nn.Module):
    """The body of a causal language model with one number per position on top."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.body = model.base_model
        self.head = nn.Linear(model.config.get_text_config().hidden_size, 1, dtype=model.dtype, device=model.device)
        # The first values are 0: of the scale of most returns, and the same for every seed.
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor) -> Tensor:
        """int64 [B, L] -> float32 [B, L]."""
        hidden = self.body(input_ids=ids, use_cache=False).last_hidden_state
        return self.head(hidden).float().sum(-1)  # of one number: FSDP2 wants no view for its backward hook


def load_critic(config: Config, device: torch.device) -> Critic:
    """A critic that starts from ``critic.path``, by default from the policy's own weights."""
    path, key = critic_start(config)
    return Critic(load_model(dataclasses.replace(config.model, path=path), device, key))


def value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, clip: float, total: Denominators
) -> tuple[Tensor, dict[str, float]]:
    """This batch's share of the loss of the optimiser step, and of its metrics: half the squared error per token.

    A value that moved by more than ``clip`` from ``old_values`` counts as one that moved by ``clip`` where that is the
    larger error, as PPO's own code does (arXiv 2005.12729, section 3). All are [B, T], ``mask`` as in the policy's.
    """
    mask = mask.bool()
    values = torch.where(mask, values, 0.0)
    old_values, returns = (torch.where(mask, given, 0.0).detach() for given in (old_values, returns))
    error = (values - returns).square()
    held = old_values + (values - old_values).clamp(-clip, clip)
    bounded = torch.maximum(error, (held - returns).square())
    loss = 0.5 * bounded.sum() / max(total.tokens, 1.0)
    share = Share(mask, total)
    return loss, {
        "critic/loss": loss.item(),
        "critic/clip_fraction": share(bounded > error),
        "critic/value": share(values),
    }
