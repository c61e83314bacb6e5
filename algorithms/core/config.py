"""The configuration of a run: typed dataclasses, one per concern, with the reason of each default beside it.

Each algorithm brings its own dataclass for ``algorithm.*`` and its own defaults for ``loss.*``. Files and
``a.b=value`` overrides are read by :mod:`algorithms.core.cli`; a key that does not exist is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class ModelConfig:
    """The policy."""

    path: str = "tiny"  # "tiny" (built in), a local folder, or a hub name: anything AutoModelForCausalLM reads
    dtype: str = "float32"  # of the weights; bfloat16 on GPUs
    autocast: bool = False  # bf16 autocast in the update: 1.5-1.9x faster on CPU, but 1 rank and 2 then differ by 1e-3
    lora_rank: int = 0  # 0 trains every weight


@dataclass
class EnvConfig:
    """The environment and the tasks. ``kwargs`` go to ``gymnasium.make`` unchanged."""

    id: str = "codegym/Repair-v0"
    kwargs: dict[str, Any] = field(default_factory=dict)
    train_split: str = "train"
    eval_split: str = "test"
    workers: int = 2  # environments stepped at the same time (threads, or Ray actors with trainer.ray=true)


@dataclass
class RolloutConfig:
    """How trajectories are sampled."""

    engine: str = "native"
    n: int = 16  # G, trajectories per task
    tasks: int = 8  # tasks per step
    temperature: float = 1.0
    top_p: float = 1.0  # below 1 the sampling distribution is not the policy's: refused with importance correction
    top_k: int = 0
    max_response_tokens: int = 192  # per turn
    max_prompt_tokens: int = 1024
    batch_size: int = 128  # sequences decoded together
    dynamic_sampling: bool = True  # drop groups whose returns are all equal and draw new tasks (DAPO, eq. 11)
    max_refills: int = 2  # rounds of new tasks before a step goes on with fewer groups


@dataclass
class OptimConfig:
    """AdamW."""

    lr: float = 5e-4
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.95
    grad_clip: float = 1.0
    warmup_steps: int = 0


@dataclass
class LossConfig:
    """The clipped policy loss; see :mod:`algorithms.core.losses`."""

    clip_ratio_low: float = 0.2
    clip_ratio_high: float = 0.2
    clip_ratio_c: float = 3.0  # dual clip for negative advantages; must be > 1
    agg_mode: str = "token-mean"
    norm_constant: float = 0.0  # the divisor of seq-mean-token-sum-norm
    ratio_level: str = "token"  # "sequence" is GSPO's
    kl_coef: float = 0.0  # against the model the run started from
    kl_type: str = "k3"
    entropy_coef: float = 0.0
    epochs: int = 1  # passes over a step's trajectories
    minibatches: int = 1  # optimiser steps per pass
    micro_batch_tokens: int = 16384  # padded tokens per forward; changes memory and speed, never the result


@dataclass
class DistributedConfig:
    """FSDP2 ranks. ``ranks`` > 1 needs ``trainer.ray=true``."""

    ranks: int = 1
    backend: str = "auto"  # gloo on CPU, nccl on GPU
    device: str = "auto"


@dataclass
class TrainerConfig:
    """The loop, and what it leaves behind."""

    steps: int = 40
    seed: int = 0
    ray: bool = False
    run_dir: str = ""  # default: runs/<algorithm>-<env>-seed<seed>
    save_every: int = 10
    keep: int = 2  # checkpoints kept; the newest good one is never removed before the next is complete
    eval_every: int = 0  # 0: before the first step and after the last
    eval_tasks: int = 256
    resume: str = "auto"  # auto | never | path of a checkpoint
    logger: list[str] = field(default_factory=lambda: ["console", "tensorboard"])
    report: bool = True


@dataclass
class Config:
    """The whole of it. ``algorithm`` is the dataclass the algorithm's module defines."""

    algorithm: Any
    model: ModelConfig = field(default_factory=ModelConfig)
    env: EnvConfig = field(default_factory=EnvConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    distributed: DistributedConfig = field(default_factory=DistributedConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
