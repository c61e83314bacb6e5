"""A tiny random model, a trivial environment and a credit: enough to run the whole training system in seconds.

The environment wants small bytes: its reward is the share of a reply's bytes below 64 (half of what a random model
over 128 single bytes says). It runs for two turns.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from algorithms.core import config as settings
from algorithms.core.groups import episode_returns, sampled, spread
from algorithms.core.statistics import group_advantage
from algorithms.core.trajectory import Credit, Trajectory
from codegym.diff.model import Diff
from codegym.spaces import TextSpace
from codegym.spans import reply_bytes

ENV = "tests.algorithms.training_for_tests:Small-v0"
USER, AGENT, END, PAD = SPECIAL = ("<|user|>", "<|agent|>", "<|end|>", "<|pad|>")
TEMPLATE = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %}{{ '<|agent|>' + m['content'] + '<|end|>' }}"
    "{% else %}{{ '<|user|>' + m['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|agent|>' }}{% endif %}"
)


def make_tokenizer(template: str | None = TEMPLATE, byte_count: int = 128) -> PreTrainedTokenizerFast:
    """One token per byte below ``byte_count``, and the special ones."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    order = {c: i for i, c in enumerate(alphabet)}
    kept = [c for c in alphabet if decoders.ByteLevel().decode([c]).isascii()] if byte_count == 128 else alphabet
    vocab = {text: k for k, text in enumerate([*SPECIAL, *sorted(kept, key=order.__getitem__)])}
    bpe = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bpe.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[USER, AGENT],
        chat_template=template,
        clean_up_tokenization_spaces=False,
    )


def make_model(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """A random Llama of 30,000 parameters with its tokenizer, as a transformers folder."""
    tokenizer = make_tokenizer()
    torch.manual_seed(seed)
    shape: dict[str, Any] = {
        "vocab_size": len(tokenizer) + 4,  # padded, as real ones are
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "tie_word_embeddings": True,
        "initializer_range": 0.2,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    LlamaForCausalLM(LlamaConfig(**shape | changes)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


class SmallBytes(gym.Env[str, str]):
    """See the module. ``fail_at``: episodes whose seed is divisible by it lose their machine at the second turn."""

    observation_space = action_space = TextSpace()

    def __init__(self, split: str = "train", fail_at: int = 0, reward: float | None = None) -> None:
        self._split, self._fail_at, self._reward = split, fail_at, reward

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        if options and options["index"] >= 64:
            raise IndexError(f"index={options['index']}: there are 64")
        self._turn, self._seed = 0, seed or 0
        return f"task {self._seed % 8}", self._info(None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._turn += 1
        if self._fail_at and self._seed % self._fail_at == 0 and self._turn == 2:
            return "", 0.0, False, True, self._info("the disk is gone")
        data = reply_bytes(action)
        reward = sum(byte < 64 for byte in data) / max(len(data), 1) if self._reward is None else self._reward
        done = self._turn == 2
        return f"turn {self._turn}", reward, done, False, self._info(None, done, reward)

    def _info(self, trouble: str | None, done: bool = False, reward: float = 0.0) -> dict[str, Any]:
        return {
            "task_id": f"{self._split}-{self._seed}",
            "turn": self._turn,
            "action": {"kind": "text", "valid": True, "error": None},
            "diff": Diff(),
            "state": str(self._turn),
            "state_before": str(max(self._turn - 1, 0)),
            "reward_terms": {"small": reward},
            "resolved": done and reward > 0.9,
            "score": reward if done else 0.0,
            "stop_reason": "submitted" if done else None,
            "infra_error": trouble,
            "timing": {"diff": 0.001},
        }


gym.register("Small-v0", entry_point=lambda **options: SmallBytes(**options))


@dataclass
class Nothing:
    """No options."""


class Relative:
    """The return of a trajectory against its group's mean, for all its tokens."""

    name = "relative"
    Config: type = Nothing
    loss_defaults: dict[str, Any] = {}

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def credit(self, group: Sequence[Trajectory]) -> Credit:
        advantages = group_advantage(episode_returns(group), keep=sampled(group))
        return Credit(spread(group, lambda i, t: advantages[i]), {"credit/groups": 1.0})


def make_config(model: Path, run_dir: Path, **changes: Any) -> settings.Config:
    """A run of five steps of 2 tasks x 4 trajectories; ``changes`` as ``rollout__n=8``."""
    config = settings.Config(algorithm=Nothing())
    defaults: dict[str, Any] = {
        "model__path": str(model),
        "env__id": ENV,
        "rollout__n": 4,
        "rollout__tasks": 2,
        "rollout__max_response_tokens": 6,
        "rollout__dynamic_sampling": False,
        "rollout__batch_size": 64,
        "optim__lr": 3e-3,
        "trainer__steps": 5,
        "trainer__eval_tasks": 8,
        "trainer__threads": 1,
        "trainer__run_dir": str(run_dir),
        "trainer__logger": [],
        "trainer__report": False,
    }
    for key, value in (defaults | changes).items():
        section, name = key.split("__")
        assert hasattr(getattr(config, section), name), key
        setattr(getattr(config, section), name, value)
    return config


if __name__ == "__main__":  # one run in a process of its own, to be killed: MODEL RUN_DIR STEPS
    from algorithms.core.trainer import Trainer

    run = make_config(Path(sys.argv[1]), Path(sys.argv[2]), trainer__steps=int(sys.argv[3]), trainer__save_every=2)
    Trainer(run, Relative()).run()
