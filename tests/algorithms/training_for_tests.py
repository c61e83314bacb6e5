"""A tiny random model, a credit and a configuration: enough to run the whole training system in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from algorithms.core import config as settings
from algorithms.core.groups import episode_returns, spread
from algorithms.core.statistics import group_advantage
from algorithms.core.trajectory import Credit, Trajectory
from tests.algorithms.environment_for_tests import ENV

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
        advantages = group_advantage(episode_returns(group))
        return Credit(spread(group, lambda i, t: advantages[i]), {"credit/groups": 1.0})


def make_config(model: Path, run_dir: Path, **changes: Any) -> settings.Config:
    """A run of five steps of 2 tasks x 4 trajectories; ``changes`` as ``rollout__n=8``."""
    config = settings.Config(algorithm=Nothing())
    defaults: dict[str, Any] = {
        "model__path": str(model),
        "env__id": ENV,
        "env__workers": 1,
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


def run_in_process(model: Path, run_dir: Path, steps: int) -> None:
    """A run that saves every second step; what a process that will be killed is told to do."""
    from algorithms.core.trainer import Trainer

    Trainer(make_config(model, run_dir, trainer__steps=steps, trainer__save_every=2), Relative()).run()
