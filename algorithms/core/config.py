"""The configuration of a run: typed dataclasses, one per concern, with the reason of each default beside it.

Each algorithm brings its own dataclass for ``algorithm.*`` and its own defaults for ``loss.*``. Files and
``a.b=value`` overrides are read by :mod:`algorithms.core.cli`; a key that does not exist is an error.
``option`` keeps the explanation with the value, so that ``--help`` prints what stands here.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any


def option(default: Any, help: str) -> Any:
    """A dataclass field with its default and the sentence ``--help`` shows for it."""
    if isinstance(default, list | dict):
        return field(default_factory=lambda: copy.copy(default), metadata={"help": help})
    return field(default=default, metadata={"help": help})


@dataclass
class ModelConfig:
    """The policy."""

    path: str = option(
        "tiny", "tiny or tiny10 (built in), a local folder, or a hub name: anything AutoModelForCausalLM reads"
    )
    dtype: str = option("float32", "of the weights; bfloat16 on GPUs")
    autocast: bool = option(
        False, "bf16 autocast in the update: 1.5-1.9x faster on CPU, but 1 rank and 2 then differ by 1e-3"
    )


@dataclass
class EnvConfig:
    """The environment and the tasks. ``kwargs`` go to ``gymnasium.make`` unchanged."""

    id: str = option("codegym/Repair-v0", "a Gymnasium id; importing codegym registers its own")
    kwargs: dict[str, Any] = option({}, "options of the environment, e.g. env.kwargs.n_bugs=3 (docs/environment.md)")
    train_split: str = option("train", "tasks to train on")
    eval_split: str = option("test", "tasks to evaluate on; never trained on")
    workers: int = option(2, "environments stepped at the same time (threads, or Ray actors with trainer.ray=true)")


@dataclass
class RolloutConfig:
    """How trajectories are sampled."""

    engine: str = option("native", "native (transformers with a KV cache; CPU and small models)")
    n: int = option(16, "G, trajectories per task")
    tasks: int = option(8, "tasks per step")
    temperature: float = option(1.0, "divides the logits in sampling and in the update alike")
    top_p: float = option(
        1.0, "below 1 the sampling distribution is not the policy's: refused with importance correction"
    )
    top_k: int = option(0, "0 keeps every token; above 0 as top_p below 1")
    max_response_tokens: int = option(1024, "per turn; 128 for the built-in task")
    max_prompt_tokens: int = option(
        8192, "an episode whose prompt grows past this is truncated; 1024 for the built-in task"
    )
    batch_size: int = option(128, "sequences decoded together")
    dynamic_sampling: bool = option(True, "drop groups whose returns are all equal and draw new tasks (DAPO, eq. 11)")
    max_refills: int = option(2, "rounds of new tasks before a step goes on with fewer groups")
    overlong_share: float = option(
        0.0, "DAPO's soft punishment (eq. 13) over this last share of max_response_tokens; its own .2; 0: none"
    )
    overlong_filter: bool = option(
        False, "leave out trajectories that a length limit ended: their reward says nothing of the reply"
    )


@dataclass
class OptimConfig:
    """AdamW."""

    lr: float = option(5e-4, "chosen on the built-in task; 1e-6 is usual for 7B models")
    weight_decay: float = option(0.0, "AdamW's; 0 as in most RL fine-tuning")
    beta1: float = option(0.9, "AdamW's first moment")
    beta2: float = option(
        0.95, "AdamW's second moment; .95 forgets faster than .999, as gradients change with the policy"
    )
    grad_clip: float = option(1.0, "largest global norm of the gradient")
    warmup_steps: int = option(0, "steps of linear warm-up of the learning rate")


@dataclass
class LossConfig:
    """The policy loss; see :mod:`algorithms.core.losses`."""

    surrogate: str = option("clip", "clip: PPO's; cispo: REINFORCE with the clipped ratio as a constant weight")
    clip_ratio_low: float = option(0.2, "the ratio is clipped below at 1 - this (PPO)")
    clip_ratio_high: float = option(0.2, "and above at 1 + this; larger than low is DAPO's clip-higher")
    clip_ratio_c: float = option(3.0, "dual clip for negative advantages; must be > 1; inf: none")
    agg_mode: str = option(
        "token-mean", "token-mean, seq-mean-token-mean, seq-mean-token-sum or seq-mean-token-sum-norm"
    )
    norm_constant: float = option(0.0, "the divisor of seq-mean-token-sum-norm")
    ratio_level: str = option("token", '"sequence" is GSPO\'s')
    kl_coef: float = option(0.0, "against the model the run started from")
    kl_type: str = option("k3", "k1, k2 or k3 (Schulman's estimators)")
    kl_in: str = option("loss", "loss: a term of the loss; reward: taken off the reward of each token")
    correction: str = option(
        "none", "weight of a token for policy/engine: truncate (TIS) or mask (IcePop); needs top_p=1 top_k=0"
    )
    correction_high: float = option(0.0, "largest weight; 0: the method's own, 2 to truncate (TIS), 5 to mask (IcePop)")
    correction_low: float = option(0.0, "mask only: smallest weight; 0: IcePop's .5")
    entropy_coef: float = option(0.0, "weight of the entropy bonus")
    epochs: int = option(1, "passes over a step's trajectories")
    minibatches: int = option(1, "optimiser steps per pass")
    micro_batch_tokens: int = option(16384, "padded tokens per forward; changes memory and speed, never the result")


@dataclass
class CriticConfig:
    """The value model of methods that have one (PPO): a transformer with a linear head, sharded like the policy."""

    enabled: bool = option(False, "set by the method")
    path: str = option(
        "", "where it starts from, a smaller model if you like; default: model.path. The head starts at 0"
    )
    lr: float = option(5e-4, "of its own AdamW, else as optim.*; the policy's, as it is of the same size by default")
    clip: float = option(0.2, "a value may move by this from where the step found it (PPO's epsilon); inf: no clip")


@dataclass
class DistributedConfig:
    """FSDP2 ranks. ``ranks`` > 1 needs ``trainer.ray=true``."""

    ranks: int = option(1, "processes that share the update")
    engines: int = option(1, "inference engines that share the sampling; more than 1 needs trainer.ray=true")
    backend: str = option("auto", "gloo on CPU, nccl on GPU")
    device: str = option("auto", "cpu, cuda, or auto: cuda where there is one")


@dataclass
class TrainerConfig:
    """The loop, and what it leaves behind."""

    steps: int = option(40, "updates of the policy")
    seed: int = option(0, "every random draw of the run is a function of it")
    ray: bool = option(
        False, "true: Ray actors for environments, inference and ranks; false: the same classes in this process"
    )
    threads: int = option(0, "torch's threads per process; 0: its own choice. A resumed run uses what it began with")
    run_dir: str = option("", "default: runs/<algorithm>-<env>-seed<seed>")
    save_every: int = option(10, "steps between checkpoints; 0 saves only at the end")
    keep: int = option(2, "checkpoints kept; the newest good one is never removed before the next is complete")
    eval_every: int = option(0, "steps between evaluations; 0: only before the first and after the last")
    eval_first: bool = option(True, "evaluate before the first step; a study does that once for all its runs")
    eval_tasks: int = option(256, "held-out tasks, the same at every evaluation")
    resume: str = option("auto", "auto | never | path of a checkpoint")
    logger: list[str] = option(["console", "tensorboard"], "any of console, tensorboard")
    report: bool = option(True, "write report.html at the end")


@dataclass
class Config:
    """The whole of it. ``algorithm`` is the dataclass the algorithm's module defines."""

    algorithm: Any
    model: ModelConfig = field(default_factory=ModelConfig)
    env: EnvConfig = field(default_factory=EnvConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    critic: CriticConfig = field(default_factory=CriticConfig)
    distributed: DistributedConfig = field(default_factory=DistributedConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
