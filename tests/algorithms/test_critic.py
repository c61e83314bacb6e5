"""The critic: its loss, its share of a step, its place in a checkpoint; and that it learns."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from algorithms.core.batch import tokens_of
from algorithms.core.critic import load_critic, value_loss
from algorithms.core.losses import denominators
from algorithms.core.trainer import Trainer
from algorithms.distributed.handles import Local
from algorithms.distributed.policy import Policy
from algorithms.distributed.worker import PolicyWorker
from tests.algorithms.test_distributed import make_rows, weights
from tests.algorithms.training_for_tests import Relative, make_config, make_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("critic") / "model")


@pytest.fixture
def policy(model, tmp_path):
    def make(**changes) -> Policy:
        config = make_config(model, tmp_path / "run", critic__enabled=True, critic__lr=3e-3, **changes)
        return Policy(config, [Local(PolicyWorker(config))])

    return make


def rows_with_returns(value=None):
    rng = np.random.default_rng(5)
    return [
        dataclasses.replace(
            row, returns=np.where(row.mask, rng.random(len(row)) if value is None else value, 0).astype(np.float32)
        )
        for row in make_rows()
    ]


def test_value_loss_equals_the_slow_formula():
    random = torch.Generator().manual_seed(0)
    new, old, returns = (torch.randn(4, 6, generator=random, dtype=torch.float64) for _ in range(3))
    mask = torch.rand(4, 6, generator=random) < 0.7
    old[~mask], returns[~mask] = torch.nan, torch.nan
    new.requires_grad_()
    loss, metrics = value_loss(new, old, returns, mask, 0.2, denominators([mask]))
    (grad,) = torch.autograd.grad(loss, new)
    value, clipped, slopes, count = 0.0, 0, torch.zeros_like(new), int(mask.sum())
    for b, t in mask.nonzero().tolist():
        v, o, r = new[b, t].item(), float(old[b, t]), float(returns[b, t])
        held = min(max(v, o - 0.2), o + 0.2)
        worse = (held - r) ** 2 > (v - r) ** 2
        value += 0.5 * ((held if worse else v) - r) ** 2 / count
        slopes[b, t] = 0 if worse else (v - r) / count
        clipped += worse
    assert loss.item() == pytest.approx(value)
    assert (grad - slopes).abs().max() < 1e-12
    assert clipped
    assert metrics["critic/clip_fraction"] == pytest.approx(clipped / count)


def test_first_values_are_zero_and_a_smaller_model_will_do(model, tmp_path):
    small = make_model(tmp_path / "small", hidden_size=16, num_hidden_layers=1)
    for path in ("", str(small)):
        critic = load_critic(make_config(model, tmp_path / "run", critic__path=path), torch.device("cpu"))
        values = critic(torch.arange(8)[None])
        assert values.shape == (1, 8)
        assert not values.any()
        assert critic.head.in_features == (16 if path else 32)


def test_micro_batches_change_nothing(policy):
    results = []
    for budget in (1, 100_000):
        trained = policy(loss__micro_batch_tokens=budget)
        results.append([trained.update(rows_with_returns(), step) for step in (1, 2, 3)])
    for one, other in zip(*results, strict=True):
        assert one.keys() == other.keys()
        for key in one:
            assert one[key] == pytest.approx(other[key], abs=1e-5), key
    assert results[0][0]["critic/value"] == 0


def test_it_learns_and_leaves_the_policy_alone(policy, model, tmp_path):
    trained = policy(critic__clip=float("inf"))
    losses = [trained.update(rows_with_returns(0.7), step)["critic/loss"] for step in range(1, 30)]
    assert losses[-1] < losses[0] / 10
    foreseen = tokens_of(trained.prepare(rows_with_returns()), "values")
    assert np.abs(foreseen - 0.7).mean() < 0.2
    plain = make_config(model, tmp_path / "run")
    alone = Policy(plain, [Local(PolicyWorker(plain))])
    for step in range(1, 30):
        alone.update(make_rows(), step)
    assert torch.equal(weights(alone), weights(trained))


def test_saved_state_continues_bit_for_bit(policy, tmp_path):
    straight, before, after = policy(), policy(), policy()
    (tmp_path / "saved").mkdir()
    expected = [straight.update(rows_with_returns(), step) for step in (1, 2, 3, 4)][2:]
    for step in (1, 2):
        before.update(rows_with_returns(), step)
    before.save(tmp_path / "saved")
    after.load(tmp_path / "saved")
    assert [after.update(rows_with_returns(), step) for step in (3, 4)] == expected


def test_a_critic_without_a_use_for_it_is_refused_and_so_is_the_lack_of_one(model, tmp_path):
    with pytest.raises(ValueError, match=r"critic\.enabled=true, but relative learns nothing from a critic"):
        Trainer(make_config(model, tmp_path / "run", critic__enabled=True), Relative())

    class Wanting(Relative):
        critic = True

    with pytest.raises(ValueError, match=r"critic\.enabled=false, but relative needs one"):
        Trainer(make_config(model, tmp_path / "run"), Wanting())


def test_a_critic_that_diverges_names_its_rate(policy):
    with pytest.raises(RuntimeError, match=r"lower critic\.lr"):
        policy().update(rows_with_returns(float("nan")), 1)


def test_the_critic_is_warmed_up_as_the_policy_is(model, tmp_path):
    config = make_config(model, tmp_path / "run", critic__enabled=True, critic__lr=3e-3, optim__warmup_steps=4)
    worker = PolicyWorker(config)
    trained = Policy(config, [Local(worker)])
    rates = []
    for step in (1, 2, 3, 4, 5):
        trained.update(trained.prepare(rows_with_returns()), step)
        rates.append(worker._critic_optimizer.param_groups[0]["lr"] / config.critic.lr)
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1, 1])
