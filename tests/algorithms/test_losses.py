"""The loss against a slow formula written independently, its gradient, its invariance, its validation."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from algorithms.core.cli import load_algorithm
from algorithms.core.config import LossConfig
from algorithms.core.logits import token_entropy, token_logprobs
from algorithms.core.losses import (
    AGG_MODES,
    RATIO_LEVELS,
    Denominators,
    add_up,
    correction_range,
    denominators,
    policy_loss,
    validate,
)


def batch(seed, rows=5, columns=7):
    random = torch.Generator().manual_seed(seed)
    draw = lambda scale: torch.randn(rows, columns, generator=random, dtype=torch.float64) * scale  # noqa: E731
    mask = torch.rand(rows, columns, generator=random) < 0.7
    mask[1] = False
    new = draw(1.0)
    old, advantages, ref, entropy = new + draw(0.5), draw(1.0), new + draw(0.7), draw(1.0).abs()
    return new.requires_grad_(), old, advantages, mask, ref, entropy, old + draw(1.0)


def slow(new, old, advantages, mask, config, ref, entropy, engine):
    """Value and gradient wrt ``new``, token by token in plain floats, from the papers' formulas."""
    rows, columns = mask.shape
    length = [int(mask[b].sum()) for b in range(rows)]
    used, tokens = sum(n > 0 for n in length), sum(length)
    value, grad = 0.0, torch.zeros_like(new)
    for b, t in itertools.product(range(rows), range(columns)):
        if not mask[b, t]:
            continue
        if config.ratio_level == "sequence":
            r = math.exp(sum(float(new[b, k] - old[b, k]) for k in range(columns) if mask[b, k]) / length[b])
        else:
            r = math.exp(float(new[b, t] - old[b, t]))
        a = float(advantages[b, t])
        low, high = 1 - config.clip_ratio_low, 1 + config.clip_ratio_high
        if config.surrogate == "cispo":
            objective = slope = min(max(r, low), high) * a
            objective *= float(new[b, t])
        elif a >= 0:
            objective, slope = (r * a, r * a) if r <= high else (high * a, 0.0)
        elif r > config.clip_ratio_c:
            objective, slope = config.clip_ratio_c * a, 0.0
        else:
            objective, slope = (r * a, r * a) if r >= low else (low * a, 0.0)
        d = float(new[b, t] - ref[b, t])
        kl = {"k1": d, "k2": d * d / 2, "k3": math.exp(-d) - 1 + d}[config.kl_type]
        drift = math.exp(float(old[b, t] - engine[b, t]))
        corrected = {"none": 1.0, "truncate": min(drift, 2.0), "mask": drift if 0.5 <= drift <= 5 else 0.0}
        objective, slope = (x * corrected[config.correction] for x in (objective, slope))
        weight = {
            "token-mean": 1 / tokens,
            "seq-mean-token-mean": 1 / used / length[b],
            "seq-mean-token-sum": 1 / used,
            "seq-mean-token-sum-norm": 1 / used / config.norm_constant if config.norm_constant else 0,
        }[config.agg_mode]
        value += weight * (-objective + config.kl_coef * kl - config.entropy_coef * float(entropy[b, t]))
        grad[b, t] = weight * (-slope + config.kl_coef * d)
    return value, grad


def configs() -> list[LossConfig]:
    return [
        LossConfig(
            agg_mode=mode,
            ratio_level=level,
            norm_constant=9.0 if mode.endswith("norm") else 0.0,
            clip_ratio_high=0.28,
            clip_ratio_c=1.8,
            kl_coef=0.1,
            kl_type=("k1", "k2", "k3")[k % 3],
            entropy_coef=0.01,
            surrogate=("clip", "cispo")[k // 3 % 2],
            correction=("none", "truncate", "mask")[k % 3],
        )
        for k, (mode, level) in enumerate(itertools.product(AGG_MODES, RATIO_LEVELS))
    ]


@pytest.mark.parametrize(
    "config", configs(), ids=lambda c: f"{c.agg_mode}-{c.ratio_level}-{c.surrogate}-{c.correction}"
)
@pytest.mark.parametrize("seed", [0, 1])
def test_value_and_gradient_equal_the_slow_formula(config, seed):
    validate(config)
    new, old, advantages, mask, ref, entropy, engine = batch(seed)
    loss, _ = policy_loss(
        new, old, advantages, mask, config, denominators([mask]),
        ref_logprobs=ref, entropy=entropy, engine_logprobs=engine,
    )  # fmt: skip
    (grad,) = torch.autograd.grad(loss, new)
    value, expected = slow(new.detach(), old, advantages, mask, config, ref, entropy, engine)
    assert loss.item() == pytest.approx(value, abs=1e-9)
    assert (grad - expected).abs().max() < 1e-9


@pytest.mark.parametrize("config", configs(), ids=lambda c: f"{c.agg_mode}-{c.ratio_level}")
def test_any_split_gives_the_same_gradient_and_metrics(config):
    new, old, advantages, mask, ref, entropy, engine = batch(3)
    parts = [slice(0, 1), slice(1, 2), slice(2, 5)]  # the second holds no token at all
    counts = [denominators([mask[part]]) for part in parts]
    total = Denominators(sum(c.tokens for c in counts), sum(c.sequences for c in counts))
    assert total == denominators([mask])

    def run(part):
        loss, metrics = policy_loss(
            new[part], old[part], advantages[part], mask[part], config, total,
            ref_logprobs=ref[part], entropy=entropy[part], engine_logprobs=engine[part],
        )  # fmt: skip
        return torch.autograd.grad(loss, new)[0], metrics

    whole, metrics = run(slice(None))
    pieces = [run(part) for part in parts]
    assert (sum(grad for grad, _ in pieces) - whole).abs().max() < 1e-12
    for key, value in add_up([m for _, m in pieces]).items():
        assert metrics[key] == pytest.approx(value, abs=1e-6), key
    assert {key for _, m in pieces for key in m} == metrics.keys()
    assert not pieces[1][0].any()


def test_extreme_ratios_stay_finite():
    new = torch.tensor([[500.0, 500.0, 500.0, -500.0]], requires_grad=True)
    advantages, mask = torch.tensor([[0.0, 1.0, -1.0, 1.0]]), torch.ones(1, 4)
    loss, _ = policy_loss(new, torch.zeros(1, 4), advantages, mask, LossConfig(), denominators([mask]))
    (grad,) = torch.autograd.grad(loss, new)
    assert loss.item() == pytest.approx((-1.2 + 3) / 4)
    assert grad.tolist() == [[0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("clip_ratio_c", 1.0), ("clip_ratio_c", math.nan), ("clip_ratio_low", 1.5), ("clip_ratio_high", -0.1),
        ("agg_mode", "mean"), ("ratio_level", "word"), ("kl_type", "k4"), ("kl_coef", -1.0), ("entropy_coef", math.inf),
        ("epochs", 0), ("minibatches", 0), ("micro_batch_tokens", 0), ("norm_constant", 3.0),
        ("surrogate", "ppo"), ("kl_in", "both"), ("correction", "tis"), ("correction_high", 2.0),
        ("correction_low", 0.5),
    ],
)  # fmt: skip
def test_validate_names_the_key(key, value):
    with pytest.raises(ValueError, match=rf"loss\.{key}"):
        validate(LossConfig(**{key: value}))


def test_norm_needs_its_constant():
    with pytest.raises(ValueError, match=r"loss\.norm_constant"):
        validate(LossConfig(agg_mode="seq-mean-token-sum-norm"))


def one(new, engine, advantage=1.0, old=0.0, **options):
    """Loss, slope and metrics of one token."""
    new = torch.tensor([[new]], dtype=torch.float64, requires_grad=True)
    at = lambda value: torch.full_like(new, value).detach()  # noqa: E731
    loss, metrics = policy_loss(
        new,
        at(old),
        at(advantage),
        torch.ones(1, 1),
        LossConfig(**options),
        Denominators(1, 1),
        engine_logprobs=at(engine),
    )
    return loss.item(), torch.autograd.grad(loss, new)[0].item(), metrics


def test_truncated_and_masked_correction():
    """policy/engine = 4 and .25: TIS gives 2 and .25, IcePop 4 and 0."""
    up, down = -math.log(4), math.log(4)
    for correction, engine, weight in (
        ("none", up, 1), ("truncate", up, 2), ("truncate", down, 0.25), ("mask", up, 4), ("mask", down, 0),
    ):  # fmt: skip
        loss, slope, metrics = one(0.0, engine, correction=correction)
        assert (loss, slope) == pytest.approx((-weight, -weight)), correction
        assert metrics["engine/gap"] == metrics["engine/gap_max"] == pytest.approx(math.log(4))
        assert metrics["engine/corrected"] == ((correction, engine) in (("truncate", up), ("mask", down)))
    assert one(0.0, up, correction="truncate", correction_high=3.0)[0] == pytest.approx(-3)
    assert one(0.0, up, correction="mask", correction_high=3.0, correction_low=0.1)[0] == 0
    assert correction_range(LossConfig(correction="mask")) == (0.5, 5.0)


def test_the_correction_is_of_the_policy_before_the_step():
    """The ratio is new/old, the weight old/engine: their product new/engine, while neither is clipped."""
    assert one(0.1, -0.3, old=0.0, correction="truncate")[1] == pytest.approx(-math.exp(0.4))
    assert one(0.5, -0.3, old=0.0, correction="truncate")[0] == pytest.approx(-1.2 * math.exp(0.3))


def test_the_gap_is_measured_in_the_engine_s_samples():
    metrics = one(0.0, -0.2)[2]
    assert metrics["engine/kl"] == pytest.approx(math.exp(0.2) - 1 - 0.2)
    assert "engine/weight" not in metrics


def test_cispo_keeps_the_gradient_of_clipped_tokens():
    """ln 10 above the old policy, weights up to 5: PPO drops the token, CISPO gives it 5."""
    bounds = {"clip_ratio_low": 1.0, "clip_ratio_high": 4.0}
    new = math.log(10)
    assert one(new, 0.0, surrogate="cispo", **bounds)[:2] == pytest.approx((-5 * new, -5))
    assert one(new, 0.0, **bounds)[1] == 0
    assert one(new, 0.0, advantage=-1.0, surrogate="cispo", **bounds)[1] == pytest.approx(5)
    assert one(-new, 0.0, surrogate="cispo", **bounds)[1] == pytest.approx(-0.1)


def test_no_dual_clip():
    assert one(math.log(50), 0.0, advantage=-4.0, clip_ratio_c=math.inf)[:2] == pytest.approx((200, 200))
    assert one(math.log(50), 0.0, advantage=0.0, clip_ratio_c=math.inf)[:2] == (0, 0)
    validate(LossConfig(clip_ratio_c=math.inf))


def test_metrics_add_up_but_the_largest_does_not():
    parts = [{"a": 1.0, "x/gap_max": 3.0, "grad_norm": 2.0}, {"a": 2.0, "x/gap_max": 1.0, "grad_norm": 2.0}]
    assert add_up(parts) == {"a": 3.0, "x/gap_max": 3.0, "grad_norm": 2.0}


def test_kl_in_the_reward_is_no_term_of_the_loss():
    new = torch.tensor([[0.3]], requires_grad=True)
    config = LossConfig(kl_coef=0.5, kl_in="reward")
    loss, metrics = policy_loss(new, new.detach(), torch.zeros(1, 1), torch.ones(1, 1), config, Denominators(1, 1))
    assert torch.autograd.grad(loss, new)[0].item() == 0
    assert "loss/kl" not in metrics


@pytest.mark.parametrize("name", ["didpo", "gigpo", "grpo"])
def test_every_method_s_defaults_are_valid(name):
    validate(LossConfig(**load_algorithm(name).loss_defaults))


def test_a_correction_without_the_engine_s_numbers_is_an_error():
    zeros, mask = torch.zeros(1, 2), torch.ones(1, 2)
    with pytest.raises(ValueError, match=r"loss\.correction=mask"):
        policy_loss(zeros, zeros, zeros, mask, LossConfig(correction="mask"), denominators([mask]))


@pytest.mark.parametrize(("key", "value"), [("kl_coef", 0.1), ("entropy_coef", 0.1)])
def test_a_weight_without_its_input_is_an_error(key, value):
    zeros, mask = torch.zeros(1, 2), torch.ones(1, 2)
    with pytest.raises(ValueError, match=rf"loss\.{key}"):
        policy_loss(zeros, zeros, zeros, mask, LossConfig(**{key: value}), denominators([mask]))


@pytest.mark.parametrize("chunk", [1, 13, 1 << 22])
def test_logprobs_and_entropy_equal_autograd(monkeypatch, chunk):
    monkeypatch.setattr("algorithms.core.logits.CHUNK", chunk)
    random = torch.Generator().manual_seed(0)
    wide = torch.randn(2, 4, 14, generator=random, dtype=torch.float64)
    wide[0, 0, 3] = -math.inf
    logits = wide[:, 1:, ::2].requires_grad_()  # no contiguous view
    ids = torch.randint(0, 7, (2, 3), generator=random)
    weights = torch.randn(2, 3, generator=random, dtype=torch.float64)
    log_p = (logits / 0.7).log_softmax(-1)
    for ours, right in [
        (token_logprobs(logits, ids, 0.7), log_p.gather(-1, ids[..., None])[..., 0]),
        (token_entropy(logits, 0.7), -(log_p.exp() * log_p).sum(-1)),
    ]:
        torch.testing.assert_close(ours, right)
        got, want = (torch.autograd.grad((x * weights).sum(), logits, retain_graph=True)[0] for x in (ours, right))
        torch.testing.assert_close(got, want)


def test_a_forbidden_token_has_entropy_without_nan():
    logits = torch.tensor([[[0.0, -math.inf, 0.0]]], requires_grad=True)
    entropy = token_entropy(logits)
    entropy.sum().backward()
    assert entropy.item() == pytest.approx(math.log(2))
    assert torch.isfinite(logits.grad).all()


def test_half_precision_logits_are_summed_in_float32():
    logits = torch.randn(1, 2, 500, generator=torch.Generator().manual_seed(0)).bfloat16().requires_grad_()
    ids = torch.tensor([[3, 499]])
    result = token_logprobs(logits, ids)
    torch.testing.assert_close(result, logits.float().log_softmax(-1).gather(-1, ids[..., None])[..., 0])
    result.sum().backward()
    assert logits.grad.dtype == torch.bfloat16
