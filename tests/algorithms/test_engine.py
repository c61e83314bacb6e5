"""The native engine: right log-probabilities, draws that do not depend on the batch, stops, weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.core.logits import token_logprobs
from algorithms.core.model import load_model
from algorithms.rollout.engine import Sampling, derive_seed, draw, uniforms
from algorithms.rollout.native import NativeEngine
from tests.algorithms.training_for_tests import make_config, make_model


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    return make_config(make_model(folder / "model"), folder / "run", rollout__batch_size=16)


@pytest.fixture(scope="module")
def engine(config):
    return NativeEngine(config)


def prompts(count: int) -> list[list[int]]:
    """Of several lengths; the first three are equal."""
    rng = np.random.default_rng(1)
    first = rng.integers(4, 132, 9).tolist()
    return [first, first, first, *(rng.integers(4, 132, 3 + 5 * (k % 4)).tolist() for k in range(count - 3))]


SAMPLING = Sampling(max_tokens=12, stop_ids=(2, 30, 31, 32, 33, 34, 35))


def test_logprobs_are_those_of_the_model_at_the_sampling_temperature(config, engine) -> None:
    model = load_model(config.model, torch.device("cpu"))
    for temperature in (1.0, 0.7, 1.6):  # L12
        sampling = Sampling(12, SAMPLING.stop_ids, temperature)
        asked = prompts(20)
        for prompt, reply in zip(asked, engine.generate(asked, sampling, range(20)), strict=True):
            ids = torch.tensor([prompt + reply.ids.tolist()])
            with torch.no_grad():
                logits = model(input_ids=ids).logits[:, :-1]
            right = token_logprobs(logits, ids[:, 1:], temperature)[0, len(prompt) - 1 :]
            np.testing.assert_allclose(reply.logprobs, right, atol=2e-5)


def test_a_reply_does_not_depend_on_its_batch(engine) -> None:
    asked = prompts(40)  # three batches, some with left padding, some rows leaving early
    together = engine.generate(asked, SAMPLING, range(40))
    assert len({len(reply.ids) for reply in together}) > 3
    for k in (0, 1, 2, 7, 19, 39):
        (alone,) = engine.generate([asked[k]], SAMPLING, [k])
        assert alone.ids.tolist() == together[k].ids.tolist()
        assert alone.truncated == together[k].truncated
        np.testing.assert_allclose(alone.logprobs, together[k].logprobs, atol=2e-5)


def test_equal_prompts_differ_by_their_seed_only(engine) -> None:
    replies = engine.generate([prompts(3)[0]] * 8, SAMPLING, [5, 5, 6, 7, 8, 9, 10, 11])
    assert replies[0].ids.tolist() == replies[1].ids.tolist()
    assert len({tuple(reply.ids) for reply in replies}) > 4


def test_stop_ids_end_a_reply_and_are_part_of_it(engine) -> None:
    replies = engine.generate(prompts(40), SAMPLING, range(40))
    stopped = [reply for reply in replies if not reply.truncated]
    assert 0 < len(stopped) < 40
    for reply in replies:
        assert not set(reply.ids[:-1].tolist()) & set(SAMPLING.stop_ids)
        assert (reply.ids[-1] in SAMPLING.stop_ids) == (not reply.truncated)
        assert len(reply.ids) == 12 if reply.truncated else len(reply.ids) <= 12


def test_greedy_takes_the_likeliest_whatever_the_seed(config, engine) -> None:
    sampling = Sampling(6, (2,), temperature=0.0)
    one, other = (engine.generate(prompts(6), sampling, [seed] * 6) for seed in (1, 2))
    model = load_model(config.model, torch.device("cpu"))
    for prompt, a, b in zip(prompts(6), one, other, strict=True):
        assert a.ids.tolist() == b.ids.tolist()
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([prompt])).logits[0, -1]
        assert a.ids[0] == logits.argmax()
        assert a.logprobs[0] == pytest.approx(float(logits.log_softmax(-1).max()), abs=2e-5)


def test_new_weights_are_seen(config) -> None:
    engine, ids = NativeEngine(config), list(range(10, 40))
    before = engine.logprobs(ids)
    state = {
        name: tensor.clone() for name, tensor in load_model(config.model, torch.device("cpu")).state_dict().items()
    }
    engine.update_weights(state)
    np.testing.assert_array_equal(engine.logprobs(ids), before)
    state["model.layers.1.mlp.up_proj.weight"] *= 1.5
    engine.update_weights(state)
    assert np.abs(engine.logprobs(ids) - before).max() > 1e-3
    with pytest.raises(RuntimeError, match=r"embed_tokens|norm"):
        engine.update_weights({"model.layers.1.mlp.up_proj.weight": state["model.layers.1.mlp.up_proj.weight"]})


def test_draws_have_the_distribution_of_the_logits() -> None:
    logits = torch.tensor([2.0, 0.0, 1.0, -30.0, 0.5]).repeat(20000, 1)
    ids, logprobs = draw(logits, uniforms(range(20000), 1)[:, 0], Sampling(1, (0,), temperature=0.8))
    right = (logits[0] / 0.8).softmax(-1)
    share = torch.bincount(ids, minlength=5) / 20000
    assert (share - right).abs().max() < 0.012  # 3.4 standard errors
    np.testing.assert_allclose(logprobs, right.log()[ids], atol=1e-5)


@given(
    st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=9),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 4),
    st.floats(0.05, 1.0),
)
@settings(max_examples=200, deadline=None)
def test_what_is_cut_is_never_drawn(values: list[float], uniform: float, top_k: int, top_p: float) -> None:
    logits = torch.tensor([values])
    ids, _ = draw(logits, torch.tensor([uniform], dtype=torch.float64), Sampling(1, (0,), 1.0, top_p, top_k))
    drawn = values[int(ids)]
    if top_k:
        assert sum(value > drawn for value in values) < top_k
    likelier = sorted((value for value in values if value > drawn), reverse=True)
    probabilities = logits.softmax(-1)[0]
    cut = sorted(values, reverse=True)[top_k - 1] if 0 < top_k < len(values) else -np.inf
    mass = float(sum(p for p, value in zip(probabilities, values, strict=True) if value >= cut))
    before = float(sum(p for p, value in zip(probabilities, values, strict=True) if value in likelier)) / mass
    assert before < top_p + 1e-5


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
def test_the_edges_of_the_unit_interval_draw_ids_that_exist(uniform: float) -> None:
    logits = torch.full((1, 7), -torch.inf)
    logits[0, 3] = 0.0
    ids, logprobs = draw(logits, torch.tensor([uniform], dtype=torch.float64), Sampling(1, (0,)))
    assert (int(ids), float(logprobs)) == (3, 0.0)


def test_seeds_tell_their_parts_apart() -> None:
    assert derive_seed(1, 23) != derive_seed(12, 3) != derive_seed("12", 3)
    assert derive_seed(0, "a", 1) == derive_seed(0, "a", 1)
    assert torch.equal(uniforms([7, 8], 5)[1], uniforms([8], 9)[0, :5])  # longer replies begin with the same draws
