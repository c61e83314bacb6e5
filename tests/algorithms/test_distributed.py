"""One update, whatever the micro-batches and ranks; log-probabilities; the check of the weights sent to the engine."""

from __future__ import annotations

import copy
import dataclasses
import json

import numpy as np
import pytest
import torch

from algorithms.core.batch import Row
from algorithms.core.trainer import Trainer
from algorithms.distributed.handles import Local
from algorithms.distributed.launch import SyncError, Workers
from algorithms.distributed.policy import Policy
from algorithms.distributed.worker import PolicyWorker
from algorithms.ppo import ALGORITHM as PPO
from algorithms.rollout.native import NativeEngine
from tests.algorithms.training_for_tests import make_config, make_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("distributed") / "model")


@pytest.fixture
def policy(model, tmp_path):
    def make(**changes) -> Policy:
        config = make_config(model, tmp_path / "run", **changes)
        return Policy(config, [Local(PolicyWorker(config))])

    return make


def make_rows(count: int = 9, advantage: float | None = None) -> list[Row]:
    rng = np.random.default_rng(0)
    rows = []
    for k in range(count):
        length = 5 + 7 * (k % 5)
        mask = rng.random(length) < 0.6
        mask[0], mask[-1] = False, True
        values = rng.normal(size=length) if advantage is None else np.full(length, advantage)
        rows.append(
            Row(
                ids=rng.integers(4, 132, length),
                mask=mask,
                advantages=np.where(mask, values, 0.0).astype(np.float32),
                engine_logprobs=np.zeros(length, dtype=np.float32),
            )
        )
    return rows


def weights(policy: Policy) -> torch.Tensor:
    return torch.cat([tensor.flatten() for _, tensor in sorted(policy.state_dict().items())])


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum"])
def test_micro_batches_change_nothing(policy, mode: str) -> None:
    """L2: whatever the split, also where a micro-batch holds one row."""
    results = []
    for budget in (1, 100, 100_000):
        trained = policy(loss__agg_mode=mode, loss__micro_batch_tokens=budget)
        results.append([trained.update(make_rows(), step) for step in (1, 2, 3)])
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert a.keys() == b.keys()
            for key in a:
                assert a[key] == pytest.approx(b[key], abs=1e-5), key


def test_duplicated_padding_changes_nothing(policy) -> None:
    """A5, L17: rows of padding that even out ranks have mask 0, and count nowhere."""
    config = policy()._config
    worker, other = PolicyWorker(config), PolicyWorker(config)
    rows = make_rows()
    total = policy()._optimiser_step(rows, 1)
    from algorithms.core.losses import Denominators

    counts = Denominators(float(sum(row.mask[1:].sum() for row in rows)), float(len(rows)))
    plain = worker.update([rows], counts, 1.0)
    padded = other.update([[], rows, []], counts, 1.0)
    for key in plain:
        assert plain[key] == pytest.approx(padded[key], abs=1e-6), key
        assert plain[key] == pytest.approx(total[key], abs=1e-5), key


def test_the_first_update_of_a_step_has_ratio_one(policy) -> None:
    """L13, with log-probabilities of the policy itself and with those computed before the update."""
    metrics = policy().update(make_rows(), 1)
    assert metrics["loss/ratio"] == pytest.approx(1.0, abs=1e-6)
    assert metrics["loss/clip_fraction"] == metrics["clip/low"] == metrics["clip/high"] == 0
    trained = policy(loss__epochs=2)
    rows = trained._with_logprobs(make_rows(), "old_logprobs", reference=False)
    first = trained._optimiser_step(rows, 1)
    assert first["loss/ratio"] == pytest.approx(1.0, abs=1e-6)
    assert first["loss/old_kl"] == pytest.approx(0.0, abs=1e-9)
    second = trained._optimiser_step(rows, 1)
    assert second["loss/old_kl"] > 1e-6  # the policy has moved, the old log-probabilities have not


def test_minibatches_are_as_many_optimiser_steps(policy) -> None:
    rows = make_rows()
    whole, split = policy(optim__lr=1e-3), policy(optim__lr=1e-3, loss__minibatches=3, loss__epochs=2)
    start = weights(whole)
    whole.update(rows, 1)
    split.update(rows, 1)
    # Adam's first steps are of size lr each, so six of them move further than one.
    assert (weights(split) - start).abs().max() > 2 * (weights(whole) - start).abs().max()


def test_the_temperature_divides_the_logits_of_the_update(policy, model, tmp_path) -> None:
    """L12: old, new and reference alike; the engine's are tested with the engine."""
    rows = make_rows()
    hot = policy(rollout__temperature=2.0)
    (row, *_) = hot._with_logprobs(rows, "old_logprobs", reference=False)
    engine = NativeEngine(make_config(model, tmp_path / "run"))
    for temperature in (1.0, 2.0):
        right = engine.logprobs(row.ids.tolist(), temperature)
        same = np.allclose(row.old_logprobs[1:][row.mask[1:]], right[row.mask[1:]], atol=2e-5)
        assert same == (temperature == 2.0)
    np.testing.assert_allclose(hot.logprobs(row.ids), engine.logprobs(row.ids.tolist()), atol=2e-5)


def test_equal_returns_still_get_the_gradient_of_the_kl(policy) -> None:
    """L16. At the reference the gradient of the KL is 0, away from it it is not."""
    trained = policy(loss__kl_coef=0.1)
    at_reference = trained.update(make_rows(advantage=0.0), 1)
    assert at_reference["loss/kl"] == pytest.approx(0.0, abs=1e-9)
    assert at_reference["grad_norm"] == pytest.approx(0.0, abs=1e-5)
    trained.update(make_rows(advantage=1.0), 2)
    away = trained.update(make_rows(advantage=0.0), 3)
    assert away["loss/kl"] > 0
    assert away["grad_norm"] > 1e-4
    without = policy().update(make_rows(advantage=0.0), 1)
    assert without["grad_norm"] == 0


def test_the_learning_rate_warms_up(policy) -> None:
    trained = policy(optim__warmup_steps=4, optim__lr=1e-3)
    rates = [trained.update(make_rows(3), step)["lr"] for step in (1, 2, 4, 5)]
    assert rates == pytest.approx([0.25e-3, 0.5e-3, 1e-3, 1e-3])


def test_gradients_that_are_no_numbers_stop_the_run(policy) -> None:
    with pytest.raises(RuntimeError, match=r"the gradient's norm is nan; lower optim\.lr"):
        policy().update(make_rows(advantage=float("nan")), 1)


class Deaf(NativeEngine):
    """An engine that loses the weights it is given."""

    def update_weights(self, state_dict) -> None:
        pass


class Other(NativeEngine):
    """An engine that changes a weight."""

    def update_weights(self, state_dict) -> None:
        changed = dict(state_dict)
        changed["model.norm.weight"] = changed["model.norm.weight"] * 1.01
        super().update_weights(changed)


@pytest.mark.parametrize("lr", [1e-2, 1e-6])
def test_weights_that_do_not_arrive_stop_the_run(model, tmp_path, lr: float) -> None:
    """S3: also where a step is so small that its log-probabilities differ by less than two ways of computing them."""
    config = make_config(model, tmp_path / "run", optim__lr=lr)
    workers = Workers(config, [Local(PolicyWorker(config))], [Local(Deaf(config))], [])
    workers.sync()
    workers.policy.update(make_rows(), 1)
    with pytest.raises(SyncError, match=r"engine 0 .*rollout\.engine=native"):
        workers.sync()


def test_other_weights_stop_the_run_and_right_ones_do_not(model, tmp_path) -> None:
    config = make_config(model, tmp_path / "run")
    right = Workers(config, [Local(PolicyWorker(config))], [Local(NativeEngine(config))], [])
    for step in (1, 2):
        right.sync()
        right.policy.update(make_rows(), step)
    right.sync()
    right.sync()  # nothing moved: no alarm
    wrong = Workers(config, [Local(PolicyWorker(config))], [Local(Other(config))], [])
    with pytest.raises(SyncError, match=r"differ from the policy's by"):
        wrong.sync()


def test_saved_state_continues_bit_for_bit(policy, tmp_path) -> None:
    straight, first, second = (policy(loss__epochs=2) for _ in range(3))
    for step in (1, 2, 3, 4):
        straight.update(make_rows(), step)
    for step in (1, 2):
        first.update(make_rows(), step)
    (tmp_path / "saved").mkdir()
    first.save(tmp_path / "saved")
    second.load(tmp_path / "saved")
    for step in (3, 4):
        second.update(make_rows(), step)
    assert torch.equal(weights(straight), weights(second))


def test_processes_and_ranks_give_the_same_losses(model, tmp_path, monkeypatch) -> None:
    """One process, Ray with one rank, Ray with two FSDP ranks: the same numbers to 1e-5 for five updates, a critic's
    and those of the KL and the importance correction among them."""
    monkeypatch.setenv("PYTHONPATH", ".")
    base = make_config(
        model, tmp_path / "local", loss__kl_coef=0.02, loss__epochs=2, loss__micro_batch_tokens=64,
        loss__correction="truncate", critic__enabled=True,
    )  # fmt: skip
    runs = {"local": base}
    for ranks in (1, 2):
        config = copy.deepcopy(base)
        config.trainer = dataclasses.replace(base.trainer, ray=True, run_dir=str(tmp_path / f"ray{ranks}"))
        config.distributed.ranks = ranks
        runs[f"ray{ranks}"] = config
    rows = {}
    for name, config in runs.items():
        Trainer(config, PPO(PPO.Config(whiten=False))).run()
        text = (tmp_path / name / "metrics.jsonl").read_text()
        rows[name] = [json.loads(line) for line in text.splitlines()]
    assert len(rows["local"]) == 5
    assert {"critic/loss", "loss/kl", "engine/weight"} <= rows["local"][0].keys()
    for name in ("ray1", "ray2"):
        for a, b in zip(rows["local"], rows[name], strict=True):
            assert a.keys() == b.keys()
            for key in a:
                assert a[key] == pytest.approx(b[key], abs=1e-5), (name, a["step"], key)
