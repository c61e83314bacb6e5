"""One rank of the policy: model, optimiser, update. Sharded by FSDP2 where there are several ranks.

Ranks must be called alike: each forward, backward and gather is a conversation between them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import PreTrainedModel

from algorithms.core.batch import Batch, Row, collate
from algorithms.core.config import Config
from algorithms.core.critic import Critic, load_critic, value_loss
from algorithms.core.logits import token_entropy, token_logprobs
from algorithms.core.losses import Denominators, add_up, policy_loss
from algorithms.core.model import load_model, pick_device

FULL = StateDictOptions(full_state_dict=True, cpu_offload=True)


class PolicyWorker:
    """Rank ``rank`` of ``ranks``; call :meth:`join` first where there are several."""

    def __init__(self, config: Config, rank: int = 0, ranks: int = 1) -> None:
        self._config, self._rank, self._ranks = config, rank, ranks
        self._device = pick_device(config.distributed.device)
        if config.trainer.threads:
            torch.set_num_threads(config.trainer.threads)
        if self._device.type == "cpu":
            torch.use_deterministic_algorithms(True)
        if ranks == 1:
            self._build()

    def host(self) -> tuple[str, int]:
        """On rank 0: open the store where ranks meet, on a free port; its address."""
        import ray

        address = ray.util.get_node_ip_address()
        self._store = dist.TCPStore(address, 0, self._ranks, is_master=True, wait_for_workers=False)
        return address, self._store.port

    def join(self, address: str, port: int) -> None:
        """Meet the other ranks and build the sharded model."""
        backend = self._config.distributed.backend
        if backend == "auto":
            backend = "nccl" if self._device.type == "cuda" else "gloo"
        store = self._store if self._rank == 0 else dist.TCPStore(address, port, self._ranks, is_master=False)
        dist.init_process_group(backend, store=store, rank=self._rank, world_size=self._ranks)
        self._build()

    def _build(self) -> None:
        config = self._config
        self._model = self._shard(load_model(config.model, self._device))
        self._reference: PreTrainedModel | None = None
        if config.loss.kl_coef > 0:
            self._reference = self._shard(load_model(config.model, self._device)).requires_grad_(False)
        self._optimizer = self._adamw(self._model, config.optim.lr)
        self._critic: Critic | None = None
        if config.critic.enabled:
            self._critic = self._shard(load_critic(config, self._device))
            self._critic_optimizer = self._adamw(self._critic, config.critic.lr)
        self._keeps = "logits_to_keep" in inspect.signature(self._model.forward).parameters

    def _adamw(self, model: torch.nn.Module, rate: float) -> torch.optim.AdamW:
        optim = self._config.optim
        return torch.optim.AdamW(
            model.parameters(), lr=rate, betas=(optim.beta1, optim.beta2), weight_decay=optim.weight_decay
        )

    def _shard(self, model: Any) -> Any:
        if self._ranks == 1:
            return model
        mesh = init_device_mesh(self._device.type, (self._ranks,))
        for layer in _layers(model):
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model

    def update(self, micro_batches: Sequence[Sequence[Row]], total: Denominators, warm: float) -> dict[str, float]:
        """One optimiser step, at ``warm`` times the learning rates.

        Every metric is this rank's share (they add up), but ``grad_norm`` is the global one.
        """
        for group in self._optimizer.param_groups:
            group["lr"] = self._config.optim.lr * warm
        metrics = self._step(self._model, self._optimizer, self._loss, micro_batches, total)
        if self._critic is not None:
            for group in self._critic_optimizer.param_groups:
                group["lr"] = self._config.critic.lr * warm
            learned = self._step(self._critic, self._critic_optimizer, self._critic_loss, micro_batches, total)
            metrics |= {"critic/grad_norm": learned.pop("grad_norm")} | learned
        return metrics

    def _step(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        loss_of: Callable[[Batch, Denominators], tuple[Tensor, dict[str, float]]],
        micro_batches: Sequence[Sequence[Row]],
        total: Denominators,
    ) -> dict[str, float]:
        optimizer.zero_grad()
        shares = []
        for rows in micro_batches:
            loss, share = loss_of(self._on_device(collate(rows)), total)
            (loss * self._ranks).backward()  # FSDP averages gradients over ranks; the loss is a share of one sum
            shares.append(share)
        norm: Any = torch.nn.utils.clip_grad_norm_(model.parameters(), self._config.optim.grad_clip)
        size = float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
        if not np.isfinite(size):
            section = "critic" if model is self._critic else "optim"
            raise RuntimeError(f"the gradient's norm is {size}; lower {section}.lr or use model.dtype=float32")
        optimizer.step()
        return add_up(shares) | {"grad_norm": size}

    def _critic_loss(self, batch: Batch, total: Denominators) -> tuple[Tensor, dict[str, float]]:
        assert batch.values is not None
        assert batch.returns is not None
        values = self._values(batch)
        return value_loss(values, batch.values, batch.returns, batch.mask, self._config.critic.clip, total)

    def _values(self, batch: Batch) -> Tensor:
        """float32 [B, L-1]: the critic's value before each id but the first."""
        assert self._critic is not None
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._config.model.autocast):
            return self._critic(batch.ids)[:, :-1]

    @torch.no_grad()
    def values(self, micro_batches: Sequence[Sequence[Row]]) -> list[np.ndarray]:
        """float32 [L] per row, in order: the critic's value before each sampled token, 0 elsewhere."""
        result = []
        for rows in micro_batches:
            batch = self._on_device(collate(rows))
            full = torch.zeros(batch.ids.shape, device=self._device)
            full[:, 1:] = torch.where(batch.mask, self._values(batch), 0.0)
            result += [full[k, : len(row)].cpu().numpy() for k, row in enumerate(rows)]
        return result

    def _loss(self, batch: Batch, total: Denominators) -> tuple[Tensor, dict[str, float]]:
        config, temperature = self._config.loss, self._config.rollout.temperature
        logits, keep = self._logits(self._model, batch)
        ids, mask = batch.ids[:, 1:][:, keep], batch.mask[:, keep]
        new = token_logprobs(logits, ids, temperature)
        old = new.detach() if batch.old_logprobs is None else batch.old_logprobs[:, keep]
        with contextlib.nullcontext() if config.entropy_coef else torch.no_grad():
            entropy = token_entropy(logits, temperature)
        reference = None if batch.ref_logprobs is None else batch.ref_logprobs[:, keep]
        return policy_loss(
            new,
            old,
            batch.advantages[:, keep],
            mask,
            config,
            total,
            ref_logprobs=reference,
            entropy=entropy,
            engine_logprobs=batch.engine_logprobs[:, keep],
        )

    def _logits(self, model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits [B, K, V] at the K positions that predict a sampled token in some row, and those positions [K]."""
        keep = batch.mask.any(0).nonzero()[:, 0]
        if len(keep) == 0:
            keep = torch.zeros(1, dtype=torch.int64, device=self._device)
        autocast = torch.autocast(self._device.type, torch.bfloat16, enabled=self._config.model.autocast)
        with autocast:
            if self._keeps:
                return model(input_ids=batch.ids, use_cache=False, logits_to_keep=keep).logits, keep
            return model(input_ids=batch.ids, use_cache=False).logits[:, keep], keep

    @torch.no_grad()
    def logprobs(
        self, micro_batches: Sequence[Sequence[Row]], reference: bool, temperature: float | None = None
    ) -> list[np.ndarray]:
        """float32 [L] per row, in order: the log-probability of each sampled token, 0 elsewhere; by the policy or the
        reference, at ``rollout.temperature`` unless another is given."""
        model = self._reference if reference else self._model
        assert model is not None
        result = []
        for rows in micro_batches:
            batch = self._on_device(collate(rows))
            logits, keep = self._logits(model, batch)
            values = token_logprobs(logits, batch.ids[:, 1:][:, keep], temperature or self._config.rollout.temperature)
            full = torch.zeros(batch.ids.shape, device=self._device)
            full[:, 1:][:, keep] = torch.where(batch.mask[:, keep], values.float(), 0.0)
            result += [full[k, : len(row)].cpu().numpy() for k, row in enumerate(rows)]
        return result

    def _on_device(self, batch: Batch) -> Batch:
        moved = {name: value.to(self._device) for name, value in vars(batch).items() if value is not None}
        return dataclasses.replace(batch, **moved)

    def state_dict(self) -> dict[str, Tensor]:
        """The whole weights on the CPU (on rank 0; other ranks give nothing)."""
        state: dict[str, Any] = get_model_state_dict(self._model, options=FULL)
        return state if self._rank == 0 else {}

    def save(self, folder: str) -> None:
        """Write ``model.safetensors``, its configuration, ``optimizer.pt`` and perhaps ``critic.pt``; rank 0 writes."""
        weights = get_model_state_dict(self._model, options=FULL)
        states: dict[str, Any] = {"optimizer.pt": get_optimizer_state_dict(self._model, self._optimizer, options=FULL)}
        if self._critic is not None:
            states["critic.pt"] = {
                "model": get_model_state_dict(self._critic, options=FULL),
                "optimizer": get_optimizer_state_dict(self._critic, self._critic_optimizer, options=FULL),
            }
        if self._rank == 0:
            self._model.save_pretrained(folder, state_dict=weights)
            for name, state in states.items():
                with open(Path(folder) / name, "wb") as file:
                    torch.save(state, file)

    def load(self, folder: str) -> None:
        """Take over what :meth:`save` wrote. Weights that are tied are written once and loaded once."""
        weights: dict[str, Any] = {}
        for part in sorted(Path(folder).glob("*.safetensors")):  # several for large models
            with _readable(part):
                weights |= load_file(part)
        options = StateDictOptions(full_state_dict=True, strict=False)
        missing = set(set_model_state_dict(self._model, weights, options=options).missing_keys)
        tied = set(self._model._tied_weights_keys or ())
        if missing - tied:
            raise ValueError(f"trainer.resume: {folder} lacks the weights {sorted(missing - tied)}")
        with _readable(Path(folder) / "optimizer.pt") as file:
            state = torch.load(file, weights_only=True)
        whole = StateDictOptions(full_state_dict=True)
        set_optimizer_state_dict(self._model, self._optimizer, state, options=whole)
        if self._critic is not None:
            with _readable(Path(folder) / "critic.pt") as file:
                saved = torch.load(file, weights_only=True)
            set_model_state_dict(self._critic, saved["model"], options=whole)
            set_optimizer_state_dict(self._critic, self._critic_optimizer, saved["optimizer"], options=whole)


@contextlib.contextmanager
def _readable(file: Path) -> Iterator[Path]:
    """Raise ValueError that names ``file`` if reading it fails because it is damaged."""
    try:
        yield file
    except (SafetensorError, UnpicklingError, RuntimeError, EOFError):
        raise ValueError(f"trainer.resume: {file} is damaged; remove its folder to go on from an earlier one") from None


def _layers(model: torch.nn.Module) -> list[Any]:
    """The decoder's blocks: the longest list of modules in the model."""
    lists = [list(module) for module in model.modules() if isinstance(module, torch.nn.ModuleList)]
    return max(lists, key=len, default=[])
