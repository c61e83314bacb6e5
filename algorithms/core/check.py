"""What can be known to be wrong with a configuration before anything is loaded: one line, with the remedy."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

from algorithms.core import checkpoint, losses
from algorithms.core.config import Config, CriticConfig
from algorithms.core.model import DTYPES, critic_start, model_folder, pick_device
from algorithms.core.trajectory import Algorithm

ENGINES = ("native",)


def validate(config: Config) -> None:
    """Raise ValueError naming the setting and the remedy if a run cannot be made of this configuration."""
    rollout, trainer, distributed = config.rollout, config.trainer, config.distributed
    losses.validate(config.loss)
    _require(rollout.n >= 2, f"rollout.n={rollout.n}: a group of one has no one to be compared with; use at least 2")
    _require(
        rollout.engine in ENGINES, f"rollout.engine={rollout.engine!r} is unknown; there are: {', '.join(ENGINES)}"
    )
    _require(config.model.dtype in DTYPES, f"model.dtype={config.model.dtype!r}: use one of {', '.join(DTYPES)}")
    for key, value in (
        ("rollout.tasks", rollout.tasks),
        ("rollout.batch_size", rollout.batch_size),
        ("rollout.max_response_tokens", rollout.max_response_tokens),
        ("rollout.max_prompt_tokens", rollout.max_prompt_tokens),
        ("env.workers", config.env.workers),
        ("distributed.ranks", distributed.ranks),
        ("distributed.engines", distributed.engines),
        ("trainer.keep", trainer.keep),
        ("trainer.eval_tasks", trainer.eval_tasks),
    ):
        _require(value >= 1, f"{key}={value} must be at least 1")
    for key, value in (
        ("trainer.steps", trainer.steps),
        ("trainer.save_every", trainer.save_every),
        ("trainer.eval_every", trainer.eval_every),
        ("trainer.threads", trainer.threads),
        ("rollout.max_refills", rollout.max_refills),
        ("rollout.top_k", rollout.top_k),
        ("optim.warmup_steps", config.optim.warmup_steps),
    ):
        _require(value >= 0, f"{key}={value} must not be negative")
    _require(
        rollout.temperature > 0,
        f"rollout.temperature={rollout.temperature} must be > 0: greedy replies of a group are all the same",
    )
    _require(0 < rollout.top_p <= 1, f"rollout.top_p={rollout.top_p} must be in (0, 1]")
    for key in ("lr", "weight_decay"):
        value = getattr(config.optim, key)
        _require(0 <= value < math.inf, f"optim.{key}={value} must be a number >= 0")
    for key in ("beta1", "beta2"):
        value = getattr(config.optim, key)
        _require(0 <= value < 1, f"optim.{key}={value} must be at least 0 and below 1")
    _require(config.optim.grad_clip > 0, f"optim.grad_clip={config.optim.grad_clip} must be > 0; inf never clips")
    _require(0 <= rollout.overlong_share <= 1, f"rollout.overlong_share={rollout.overlong_share} must be in 0..1")
    _require(config.critic.lr >= 0, f"critic.lr={config.critic.lr} must not be negative")
    _require(config.critic.clip > 0, f"critic.clip={config.critic.clip} must be > 0; inf never clips")
    for field in dataclasses.fields(CriticConfig):
        _require(
            config.critic.enabled or getattr(config.critic, field.name) == field.default,
            f"critic.{field.name}={getattr(config.critic, field.name)} does nothing without critic.enabled=true",
        )
    if rollout.top_p < 1 or rollout.top_k > 0:
        # Sampling from a cut distribution, the ratio of the policy's probabilities is off by the mass that survived.
        _require(
            config.loss.epochs * config.loss.minibatches == 1
            and config.loss.kl_coef == 0
            and config.loss.correction == "none",
            "rollout.top_p < 1 or rollout.top_k > 0 samples from another distribution than the policy's, and importance"
            " ratios and KL would be wrong; set top_p=1 top_k=0, or loss.epochs=1 loss.minibatches=1 loss.kl_coef=0"
            " loss.correction=none",
        )
    if not trainer.ray:
        for key, value in (("ranks", distributed.ranks), ("engines", distributed.engines)):
            _require(value == 1, f"distributed.{key}={value} needs trainer.ray=true")
    _require(
        distributed.backend in ("auto", "gloo", "nccl"),
        f"distributed.backend={distributed.backend!r} is unknown; there are: auto, gloo, nccl",
    )
    _require(trainer.run_dir != "", "trainer.run_dir is empty; name a folder for the run")
    folder = Path(trainer.run_dir)
    _require(folder.is_dir() or not folder.exists(), f"trainer.run_dir={folder} is a file; name a folder for the run")
    pick_device(distributed.device)
    model_folder(config.model.path)
    model_folder(*critic_start(config))
    checkpoint.find(Path(trainer.run_dir), trainer.resume)


def validate_method(config: Config, algorithm: Algorithm) -> None:
    """Let a method look at the whole of a valid configuration. Raises ValueError if it cannot work with it."""
    needs = getattr(algorithm, "critic", False)
    _require(
        config.critic.enabled == needs,
        f"critic.enabled={str(config.critic.enabled).lower()}, but {algorithm.name}"
        f" {'needs one' if needs else 'learns nothing from a critic'}; change the setting",
    )
    if hasattr(algorithm, "prepare"):
        algorithm.prepare(config)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise ValueError(message)
