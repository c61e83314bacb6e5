"""The supervised warm start of the built-in model: ``python -m algorithms.sft.train``.

A small decoder learns from nothing to imitate demonstrations (:mod:`algorithms.sft.demonstrations`), made as they
are needed and never shown twice. Files grow from one function to the full number (the curriculum); without that
the model does not learn to copy the line it must search for. The folder it writes is a usual ``transformers``
folder (``model.path=FOLDER`` trains it further) with ``sft.json``: the settings that give it again, and the losses.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from transformers import PreTrainedModel, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from algorithms.core.config import ModelConfig, option
from algorithms.core.model import load_model
from algorithms.core.tokens import load_tokenizer
from algorithms.sft.demonstrations import Habits, demonstrate
from algorithms.sft.tokenizer import train_tokenizer
from benchmarks.repair.tiny import make_task

SECOND_TURN_FROM = 0.4  # of the steps; then half of the conversations have it: feedback is long, first turns teach more
PART = 8  # conversations per forward pass; changes speed only


@dataclass(frozen=True)
class Settings:
    """Everything the result depends on. The defaults give the shipped model."""

    steps: int = option(4000, "optimiser steps; with 3000 a tenth of the replies search for lines that are not there")
    batch: int = option(16, "conversations per step, about 3,500 tokens with four functions")
    lr: float = option(0.02, "Muon's, of the matrices inside the layers; 0.04 learned slower")
    lr_adamw: float = option(3e-3, "AdamW's, of the embedding and the norms")
    seed: int = option(0, "of the weights and the demonstrations")
    functions: int = option(4, "in a file, at most")
    hidden: int = option(128, "width of the model")
    layers: int = option(3, "two are the least that can copy")
    heads: int = option(4, "of attention")
    prompt_weight: float = option(0.1, "of the loss on what the model reads: it learns the words of the rules sooner")
    start: str = option(
        "", 'model to go on from, made by this command: its folder, or "tiny"; files have the full number at once'
    )


def new_model(settings: Settings, vocabulary: int, end: int, pad: int) -> Qwen3ForCausalLM:
    """A Qwen3 decoder with random weights, 0.7 million parameters at the default size.

    Its queries and keys are normalised, so attention can be sharp early: it learns to copy in half the steps of Llama.
    """
    torch.manual_seed(settings.seed)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=settings.hidden,
        intermediate_size=3 * settings.hidden,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.heads,
        head_dim=settings.hidden // settings.heads,
        max_position_embeddings=2048,
        initializer_range=0.06,  # about 1 / sqrt(hidden): learns faster than the 0.02 meant for large models
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=pad,
    )
    model = Qwen3ForCausalLM(config)
    model.set_attn_implementation("eager")  # 1.3x faster than the fused kernel at these lengths on a CPU
    return model


def start_model(settings: Settings, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """The model of ``start``. Raises ValueError if it cannot be read or is not of the tokenizer and sizes asked for."""
    try:
        model = load_model(ModelConfig(path=settings.start), torch.device("cpu"))
        vocabulary = load_tokenizer(settings.start).get_vocab()
    except ValueError as error:
        raise ValueError(str(error).replace("model.path=", "--start ")) from None
    has = model.config.hidden_size, model.config.num_hidden_layers, model.config.num_attention_heads
    if has != (settings.hidden, settings.layers, settings.heads):
        sizes = "--hidden {} --layers {} --heads {}".format(*has)
        raise ValueError(f"--start {settings.start} is a model of other sizes: give {sizes}")
    if vocabulary != tokenizer.get_vocab():
        raise ValueError(f"--start {settings.start} has another tokenizer: give a model made by this command")
    model.set_attn_implementation("eager")
    return model


def encode(
    tokenizer: PreTrainedTokenizerFast, messages: list[dict[str, str]], prompt_weight: float
) -> tuple[list[int], list[float]]:
    """A conversation's ids, and the weight of each in the loss: 1 for what the agent writes and its end token."""
    vocabulary = tokenizer.get_vocab()
    user, agent, end = (vocabulary[token] for token in ("<|user|>", "<|agent|>", "<|end|>"))
    ids: list[int] = []
    weights: list[float] = []
    for message in messages:
        text = tokenizer(message["content"], add_special_tokens=False)["input_ids"]
        own = message["role"] == "assistant"
        ids += [agent, *text, end] if own else [user, *text]
        weights += [0.0] + [1.0] * (len(text) + 1) if own else [0.0] + [prompt_weight] * len(text)
    return ids, weights


def shapes(step: int, settings: Settings, index: int) -> tuple[int, int]:
    """Functions and bugs of demonstration ``index``: one function at first, then two, then all sizes, then the full.

    A model to go on from has learned to copy, so it gets the full number at once.
    """
    done = 1.0 if settings.start else step / settings.steps
    full = settings.functions
    if done < 0.08:
        functions = 1
    elif done < 0.16:
        functions = min(2, full)
    elif done < 0.3:
        functions = 1 + index % full
    else:
        functions = full if index % 4 else 1 + (index // 4) % full
    n_bugs = min(functions, 3) if index % 2 else 1 + (index // 2) % functions
    return functions, n_bugs


def batch(step: int, settings: Settings, tokenizer: PreTrainedTokenizerFast) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The conversations of a step in parts of like length: ids [B, T], padded on the right, loss weights [B, T]."""
    rows = []
    for row in range(settings.batch):
        index = step * settings.batch + row
        functions, n_bugs = shapes(step, settings, index)
        task = make_task("train", index, n_bugs=n_bugs, functions=functions)
        messages = demonstrate(task, settings.seed, Habits())
        if step < SECOND_TURN_FROM * settings.steps or index % 2:
            messages = messages[:2]
        rows.append(encode(tokenizer, messages, settings.prompt_weight))
    rows.sort(key=lambda row: len(row[0]))
    parts = []
    for start in range(0, len(rows), PART):
        part = rows[start : start + PART]
        longest = -(-len(part[-1][0]) // 16) * 16  # few distinct lengths: oneDNN prepares a kernel for each
        ids = torch.full((len(part), longest), int(tokenizer.pad_token_id))
        weights = torch.zeros(len(part), longest)
        for row, (row_ids, row_weights) in enumerate(part):
            ids[row, : len(row_ids)] = torch.tensor(row_ids)
            weights[row, : len(row_weights)] = torch.tensor(row_weights)
        parts.append((ids, weights))
    return parts


def loss_of(model: PreTrainedModel, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Weighted sum of the cross-entropy of each token given those before it."""
    # Padding stands on the right, where a causal model cannot see it, so no mask is needed. bf16 halves the time.
    with torch.autocast(ids.device.type, torch.bfloat16):
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    losses = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    return (losses * weights[:, 1:].flatten()).sum()


def rate(step: int, steps: int) -> float:
    """The share of the learning rate: 5 % of the steps linear warm-up, then a cosine down to a fiftieth."""
    warm = max(1, steps // 20)
    if step < warm:
        return (step + 1) / warm
    done = (step - warm) / max(1, steps - warm)
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * done))


def optimizers(model: PreTrainedModel, settings: Settings) -> list[tuple[torch.optim.Optimizer, float]]:
    """Each with its learning rate: Muon (orthogonalised momentum) for the layers' matrices, AdamW for the rest.

    With AdamW alone the model finds the words of the rules first and copies from the file three times as late.
    """
    matrices = [weight for weight in model.model.layers.parameters() if weight.ndim == 2]
    inside = {id(weight) for weight in matrices}
    others = [weight for weight in model.parameters() if id(weight) not in inside]
    return [
        (torch.optim.Muon(matrices, lr=settings.lr, weight_decay=0.01), settings.lr),
        (torch.optim.AdamW(others, lr=settings.lr_adamw, betas=(0.9, 0.95), weight_decay=0.01), settings.lr_adamw),
    ]


def begin(settings: Settings) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """The model to train, new or that of ``start``, and its tokenizer. Raises ValueError for an unfit ``start``."""
    tokenizer = train_tokenizer()
    if settings.start:
        return start_model(settings, tokenizer), tokenizer
    return new_model(settings, len(tokenizer), int(tokenizer.eos_token_id), int(tokenizer.pad_token_id)), tokenizer


def train(
    settings: Settings,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    report: Callable[[int, float], None],
) -> list[float]:
    """Train ``model`` in place; ``report(step, loss)`` after each step. Returns the losses."""
    both = optimizers(model, settings)
    losses = []
    for step in range(settings.steps):
        parts = batch(step, settings, tokenizer)
        total = sum(float(weights[:, 1:].sum()) for _, weights in parts)
        model.zero_grad()
        losses.append(0.0)
        for ids, weights in parts:
            loss = loss_of(model, ids, weights) / total
            loss.backward()
            losses[-1] += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, lr in both:
            optimizer.param_groups[0]["lr"] = lr * rate(step, settings.steps)
            optimizer.step()
        report(step, losses[-1])
    return losses


def save(
    folder: Path, settings: Settings, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, record: dict
) -> None:
    """Write the model (weights in bfloat16, half the size; load them as float32), the tokenizer and ``sft.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    model.to(dtype=torch.bfloat16)  # type: ignore[call-arg]  # the decorator hides the signature
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder, save_jinja_files=False)
    about = {"settings": dataclasses.asdict(settings), "habits": dataclasses.asdict(Habits()), **record}
    (folder / "sft.json").write_text(json.dumps(about, indent=1) + "\n")


def main(argv: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m algorithms.sft.train",
        description="Warm-start the built-in model on demonstrations of tiny repair tasks.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=Path("runs/tiny"), help="folder to write, in transformers' format")
    parser.add_argument("--threads", type=int, default=1, help="of torch; the result depends on it in the last bits")
    for field in dataclasses.fields(Settings):
        name, kind = "--" + field.name.replace("_", "-"), type(field.default)
        parser.add_argument(name, type=kind, default=field.default, help=field.metadata["help"])
    args = vars(parser.parse_args(argv))
    out, threads = args.pop("out"), args.pop("threads")
    settings = Settings(**args)
    torch.set_num_threads(threads)
    try:
        model, tokenizer = begin(settings)
    except ValueError as error:
        parser.error(str(error))
    started = time.monotonic()
    columns = (BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TimeRemainingColumn())
    live = sys.stderr.isatty()
    with Progress(*columns, disable=not live) as progress:
        bar = progress.add_task("starting", total=settings.steps)

        def report(step: int, loss: float) -> None:
            said = f"step {step + 1}/{settings.steps} loss {loss:.3f}"
            progress.update(bar, advance=1, description=said)
            if not live and (step + 1) % 100 == 0:
                print(f"{said}  {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

        losses = train(settings, model, tokenizer, report)
    seconds = round(time.monotonic() - started)
    tail = losses[-50:]
    record = {"threads": threads, "seconds": seconds, "loss": round(sum(tail) / len(tail), 4)}
    save(out, settings, model, tokenizer, record)
    print(f"{out}: loss {record['loss']}, {seconds} s; train it further with model.path={out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
