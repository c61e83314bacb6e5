"""Rows L1-L17 of the known answers, each told apart from the faulty value."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from algorithms.core import check, kl
from algorithms.core.batch import Row, plan, with_tokens
from algorithms.core.config import LossConfig
from algorithms.core.logits import token_logprobs
from algorithms.core.losses import Denominators, aggregate, denominators, policy_loss, validate
from algorithms.core.statistics import overlong_penalty
from algorithms.distributed.handles import Local
from algorithms.distributed.policy import Policy
from algorithms.distributed.worker import PolicyWorker
from tests.algorithms.training_for_tests import make_config, make_model

VALUES = torch.tensor([[1.0, 2, 0], [3, 4, 5], [7, 0, 0]], dtype=torch.float64)
MASK = torch.tensor([[1, 1, 0], [1, 1, 1], [1, 0, 0]])


def mean(mode, values=VALUES, mask=MASK, **more):
    return aggregate(values, mask, LossConfig(agg_mode=mode, **more), denominators([mask])).item()


def surrogate(advantages, ratios, **options):
    """Per-token losses: one row per token."""
    values = []
    for advantage, ratio in zip(advantages, ratios, strict=True):
        new = torch.tensor([[math.log(ratio)]], dtype=torch.float64, requires_grad=True)
        old, mask = torch.zeros_like(new), torch.ones(1, 1)
        loss, _ = policy_loss(
            new, old, torch.full_like(old, advantage), mask, LossConfig(**options), Denominators(1, 1)
        )
        values.append((loss.item(), torch.autograd.grad(loss, new)[0].item()))
    return values


def test_l01_aggregations():
    assert mean("token-mean") == pytest.approx(3.6667, abs=1e-4)
    assert mean("seq-mean-token-mean") == pytest.approx(4.1667, abs=1e-4)
    assert mean("seq-mean-token-sum") == pytest.approx(7.3333, abs=1e-4)
    assert mean("seq-mean-token-sum-norm", norm_constant=3.0) == pytest.approx(2.4444, abs=1e-4)


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"])
def test_l02_micro_batches_change_nothing(mode):
    config = LossConfig(agg_mode=mode, norm_constant=3.0)
    parts = [slice(0, 2), slice(2, 3)]
    total = denominators([MASK[part] for part in parts])
    split = sum(aggregate(VALUES[part], MASK[part], config, total).item() for part in parts)
    assert split == pytest.approx(mean(mode, norm_constant=3.0), abs=1e-12)
    if mode == "token-mean":
        assert split == pytest.approx(3.6667, abs=1e-4)


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum"])
def test_l03_a_fully_masked_row_is_not_counted(mode):
    values, mask = torch.cat([VALUES, VALUES[:1]]), torch.cat([MASK, torch.zeros(1, 3, dtype=MASK.dtype)])
    assert mean(mode, values, mask) == mean(mode)
    assert mean(mode, VALUES, torch.zeros_like(MASK)) == 0


def test_l04_nan_under_the_mask_is_not_read():
    bad = torch.full((1, 2), math.nan)
    mask = torch.tensor([[1, 0]])
    row = lambda value: torch.where(mask.bool(), value, bad)  # noqa: E731
    new = row(torch.tensor(0.5)).requires_grad_()
    config = LossConfig(kl_coef=0.1, entropy_coef=0.1)
    loss, metrics = policy_loss(
        new, row(torch.tensor(0.4)), row(torch.tensor(1.0)), mask, config, denominators([mask]),
        ref_logprobs=row(torch.tensor(0.3)), entropy=row(torch.tensor(0.7)),
    )  # fmt: skip
    loss.backward()
    assert math.isfinite(loss.item())
    assert all(math.isfinite(value) for value in metrics.values())
    assert torch.isfinite(new.grad).all()
    assert new.grad[0, 1] == 0


def test_l05_gspo_ratio_is_the_sequence_s():
    new = torch.tensor([[math.log(2), -math.log(2), 5.0]], dtype=torch.float64)
    ones, mask = torch.ones_like(new), torch.tensor([[1, 1, 0]])
    config = LossConfig(ratio_level="sequence", agg_mode="seq-mean-token-mean")
    loss, metrics = policy_loss(new, torch.zeros_like(new), ones, mask, config, denominators([mask]))
    assert loss.item() == pytest.approx(-1)
    assert metrics["loss/clip_fraction"] == 0
    assert metrics["loss/ratio"] == pytest.approx(1)


@pytest.mark.parametrize("mode", ["seq-mean-token-mean", "token-mean"])
def test_l06_gspo_gradient(mode):
    new = torch.tensor([[0.1, 0.0, 0.0, 0.0], [0.05, 0.0, -0.02, 0.03]], dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1, 0, 0, 0], [1, 1, 1, 1]])
    advantages = torch.tensor([[2.0], [-1.0]], dtype=torch.float64).expand(2, 4)
    config = LossConfig(ratio_level="sequence", agg_mode=mode)
    loss, _ = policy_loss(new, torch.zeros_like(new), advantages, mask, config, denominators([mask]))
    (grad,) = torch.autograd.grad(loss, new)
    s = [math.exp(0.1), math.exp(0.06 / 4)]
    by_row = [[s[0] * 2 / 1, 0, 0, 0], [s[1] * -1 / 4] * 4]
    if mode == "seq-mean-token-mean":
        assert (-grad * 2).flatten().tolist() == pytest.approx([*by_row[0], *by_row[1]])
    else:
        assert (-grad * 5).flatten().tolist() == pytest.approx([s[0] * 2, 0, 0, 0, *[s[1] * -1] * 4])


def test_l07_dual_clip():
    values = surrogate([1, -1, -4], [0.5, 1, 10], clip_ratio_c=3.0)
    assert [value for value, _ in values] == pytest.approx([-0.5, 1, 12])
    assert values[2][1] == 0
    ((single, slope),) = surrogate([-4], [10], clip_ratio_c=1e6)
    assert (single, slope) == pytest.approx((40, 40))
    assert surrogate([4], [10], clip_ratio_c=3.0)[0][0] == pytest.approx(-4.8)
    with pytest.raises(ValueError, match=r"loss\.clip_ratio_c=1\.0"):
        validate(LossConfig(clip_ratio_c=1.0))


def test_l08_clip_higher():
    assert surrogate([1], [1.25])[0] == pytest.approx((-1.2, 0))
    assert surrogate([1], [1.25], clip_ratio_high=0.28)[0] == pytest.approx((-1.25, -1.25))


P, REF = torch.tensor([0.5, 0.5], dtype=torch.float64), torch.tensor([0.9, 0.1], dtype=torch.float64)


def test_l09_kl_estimators():
    expected = {t: (P * kl.estimate(P.log(), REF.log(), t)).sum().item() for t in kl.KL_TYPES}
    assert expected["k1"] == pytest.approx(0.5108, abs=1e-4)
    assert expected["k3"] == pytest.approx(0.5108, abs=1e-4)
    assert expected["k2"] == pytest.approx(0.7339, abs=1e-4)


def expected_gradient(rule, kl_type):
    """Of rule(log p(a), log q(a)) wrt the logits, averaged over a ~ p (the sampling itself not differentiated)."""
    logits = P.log().clone().requires_grad_()
    value = (P * rule(logits.log_softmax(0), REF.log(), kl_type)).sum()
    return torch.autograd.grad(value, logits)[0].tolist()


@pytest.mark.parametrize("kl_type", kl.KL_TYPES)
def test_l10_the_kl_in_the_loss_has_the_true_gradient(kl_type):
    logits = P.log().clone().requires_grad_()
    p = logits.softmax(0)
    true = torch.autograd.grad((p * (p.log() - REF.log())).sum(), logits)[0].tolist()
    assert true == pytest.approx([-0.5493, 0.5493], abs=1e-4)
    assert expected_gradient(kl.loss_term, kl_type) == pytest.approx(true)
    naive = {"k1": [0, 0], "k2": true, "k3": [-0.4, 0.4]}
    assert expected_gradient(kl.estimate, kl_type) == pytest.approx(naive[kl_type], abs=1e-12)
    value = kl.loss_term(P.log(), REF.log(), kl_type)
    assert value.tolist() == pytest.approx(kl.estimate(P.log(), REF.log(), kl_type).tolist())


@pytest.mark.parametrize("rule", [kl.estimate, kl.loss_term])
def test_l11_k3_is_not_clamped(rule):
    new = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(rule(new, torch.tensor(3.0, dtype=torch.float64), "k3"), new)
    assert grad.item() == pytest.approx(1 - math.exp(3) if rule is kl.estimate else -3)


def test_l12_temperature_divides_the_logits():
    logits, ids = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0)), torch.tensor([[0, 1, 2], [3, 4, 0]])
    right = (logits / 0.7).log_softmax(-1).gather(-1, ids[..., None])[..., 0]
    torch.testing.assert_close(token_logprobs(logits, ids, 0.7), right)
    with pytest.raises(ValueError, match=r"rollout\.temperature"):
        token_logprobs(logits, ids, 0.0)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("losses") / "model")


def row_of(ids, mask):
    zeros = np.zeros(len(ids), dtype=np.float32)
    return Row(np.array(ids), np.array(mask, dtype=bool), zeros + np.array(mask, dtype=np.float32), zeros)


def test_l13_the_first_minibatch_has_ratio_one(model, tmp_path):
    config = make_config(model, tmp_path / "run", loss__epochs=2)
    policy = Policy(config, [Local(PolicyWorker(config))])
    rows = policy.prepare([row_of([5, 6, 7, 8], [0, 1, 0, 1]), row_of([9, 5, 6], [0, 1, 1])])
    assert rows[0].old_logprobs is not None
    metrics = policy._optimiser_step(rows, 1)
    assert metrics["loss/ratio"] == pytest.approx(1, abs=1e-6)
    assert metrics["loss/clip_fraction"] == metrics["clip/low"] == metrics["clip/high"] == 0


def test_l14_a_cut_distribution_is_refused_with_importance_ratios(model, tmp_path):
    cut = ({"rollout__top_p": 0.9}, {"rollout__top_k": 20})
    ratios = (
        {"loss__correction": "truncate"},
        {"loss__correction": "mask"},
        {"loss__minibatches": 2},
        {"loss__epochs": 2},
    )
    for one, other in itertools.product(cut, ratios):
        with pytest.raises(ValueError, match=r"top_p < 1 or rollout\.top_k > 0"):
            check.validate(make_config(model, tmp_path / "run", **one, **other))
        check.validate(make_config(model, tmp_path / "run", **one))
        check.validate(make_config(model, tmp_path / "run", **other))


def test_l15_overlong_penalty():
    assert overlong_penalty([16, 17, 18, 20, 21], max_length=20, cache=4).tolist() == [0, -0.25, -0.5, -1, -1]


def test_l16_a_group_without_variance_still_gets_the_kl_gradient():
    new = torch.tensor([[-0.5, -0.7]], requires_grad=True)
    zeros, mask = torch.zeros(1, 2), torch.ones(1, 2)
    config = LossConfig(kl_coef=0.1)
    total = denominators([mask])
    loss, _ = policy_loss(new, new.detach(), zeros, mask, config, total, ref_logprobs=torch.tensor([[-1.0, -0.7]]))
    (grad,) = torch.autograd.grad(loss, new)
    assert grad[0].tolist() == pytest.approx([0.1 * 0.5 / 2, 0])


def test_l17_a_rank_without_rows_still_goes_backward(model, tmp_path):
    """Every rank gets the same number of micro-batches, and an empty one runs like any other and adds nothing."""
    dealt = plan([16, 16, 16], ranks=2, budget=16)
    assert [len(rank) for rank in dealt] == [2, 2]
    assert dealt[1][1] == []
    config = make_config(model, tmp_path / "run", loss__kl_coef=0.1, critic__enabled=True)
    worker = PolicyWorker(config)
    metrics = worker.update([[]], Denominators(2, 1), 1e-3)
    assert metrics["grad_norm"] == metrics["loss/policy"] == metrics["critic/grad_norm"] == 0
    assert all(parameter.grad is not None for parameter in worker._model.parameters())
    rows = Policy(config, [Local(PolicyWorker(config))]).prepare([row_of([5, 6, 7, 8], [0, 1, 0, 1])])
    rows = with_tokens(rows, "returns", np.ones(2))
    alone = PolicyWorker(config).update([rows], Denominators(2, 1), 1e-3)
    assert PolicyWorker(config).update([rows, []], Denominators(2, 1), 1e-3) == pytest.approx(alone)
