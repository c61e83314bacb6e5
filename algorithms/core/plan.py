"""What a run would allocate and do, worked out without doing it (``--dry-run``)."""

from __future__ import annotations

import torch
from transformers import AutoModelForCausalLM, PretrainedConfig

from algorithms.core.check import validate
from algorithms.core.config import Config
from algorithms.core.model import critic_start, model_config, pick_device


def plan(config: Config) -> list[str]:
    """Lines of text. Raises ValueError where the run itself would, before anything is loaded."""
    validate(config)
    model = model_config(config.model.path)
    parameters = _parameters(model)
    width = torch.finfo(getattr(torch, config.model.dtype)).bits // 8
    ranks, rollout = config.distributed.ranks, config.rollout
    # weights and gradients in the model's type; AdamW's two moments in the same
    update = parameters * width * 4 / ranks
    reference = parameters * width / ranks if config.loss.kl_coef else 0
    critic = _parameters(model_config(*critic_start(config))) * width * 4 / ranks if config.critic.enabled else 0
    heads = getattr(model, "num_key_value_heads", None) or model.num_attention_heads
    head = getattr(model, "head_dim", None) or model.hidden_size // model.num_attention_heads
    length = rollout.max_prompt_tokens + rollout.max_response_tokens
    cache = 2 * model.num_hidden_layers * heads * head * length * width * rollout.batch_size
    episodes = rollout.tasks * rollout.n
    return [
        f"# {parameters:,} parameters on {pick_device(config.distributed.device)}, {ranks} rank(s)",
        f"# update: {_size(update)} a rank for weights, gradients and AdamW"
        + (f", {_size(reference)} for the reference (loss.kl_coef > 0)" if reference else "")
        + (f", {_size(critic)} for the critic" if critic else ""),
        f"# engine: {_size(parameters * width)} for weights, at most {_size(cache)} for the KV cache"
        f" ({rollout.batch_size} sequences of {length} tokens)",
        f"# a step: {rollout.tasks} tasks x {rollout.n} trajectories = {episodes} episodes"
        + (f", up to {rollout.max_refills} refills" if rollout.dynamic_sampling and rollout.max_refills else ""),
        f"# a run: {config.trainer.steps} steps, {episodes * config.trainer.steps:,} episodes before refills;"
        f" an evaluation is {2 * config.trainer.eval_tasks} more (sampled and greedy)",
        f"# writes to {config.trainer.run_dir}",
    ]


def _parameters(config: PretrainedConfig) -> int:
    with torch.device("meta"):  # shapes only: no memory, whatever the size
        model = AutoModelForCausalLM.from_config(config)
    return sum(p.numel() for p in model.parameters())


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"
