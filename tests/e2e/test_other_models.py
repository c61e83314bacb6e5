"""Any causal language model of transformers trains on any level: families that keep their caches differently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from algorithms.core.cli import main
from tests.algorithms.training_for_tests import make_tokenizer
from tests.e2e.commands import SMALL, rows

SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 16384,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 16384, "resid_pdrop": 0.1},
    "qwen2": SHAPE | {"tie_word_embeddings": True},
    "gemma3_text": SHAPE | {"sliding_window": 64, "layer_types": ["sliding_attention", "full_attention"]},
    "mistral": SHAPE | {"sliding_window": 64},
    "qwen3_moe": SHAPE | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_step_on_programs(family: str, tmp_path: Path) -> None:
    tokenizer = make_tokenizer(byte_count=256)
    torch.manual_seed(0)
    special = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    config = AutoConfig.for_model(family, vocab_size=len(tokenizer), **special, **FAMILIES[family])
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    settings = [
        f"model.path={tmp_path / 'model'}",
        "env.kwargs.level=program",
        "env.kwargs.max_turns=2",
        "rollout.max_response_tokens=8",
        "rollout.dynamic_sampling=false",
        "trainer.steps=1",
        "trainer.logger=[]",
        "trainer.report=false",
        f"trainer.run_dir={tmp_path / 'run'}",
    ]
    assert main("didpo", [*SMALL, *settings, "rollout.tasks=1", "rollout.n=2", "trainer.eval_tasks=1"]) == 0
    (row,) = rows(tmp_path / "run" / "metrics.jsonl")
    assert row["engine/gap"] < 1e-3, "engine and trainer disagree about the tokens that were sampled"
    assert row["response/tokens"] > 0
