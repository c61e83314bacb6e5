"""Every method: one update of a tiny model through the whole trainer, and its gradient against a slow formula."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from algorithms.core import rewards
from algorithms.core.batch import rows_of_groups, tokens_of, with_tokens
from algorithms.core.check import validate
from algorithms.core.cli import load_algorithm, resolve
from algorithms.core.groups import credits
from algorithms.core.losses import Denominators
from algorithms.core.trainer import Trainer
from algorithms.core.trajectory import Trajectory, Turn
from algorithms.didpo.judge import Judge
from algorithms.distributed.worker import PolicyWorker
from codegym.diff.model import Diff, FileDiff, Hunk
from codegym.spans import Span
from tests.algorithms import slow_formulas as slow
from tests.algorithms import slow_variants as variants
from tests.algorithms.groups_for_tests import block
from tests.algorithms.training_for_tests import make_config, make_model

NAMES = ["grpo", "dr_grpo", "dapo", "gspo", "cispo", "rloo", "reinforce_pp", "ppo", "gigpo", "hgpo", "rtmc", "didpo"]
LIMIT = 6


@dataclass(frozen=True)
class Form:
    """A form of a method: its options, and those of the loss that belong to them; the slow formula of its credit."""

    name: str
    slow: Callable[[list[slow.Group]], list]
    options: dict[str, Any] = field(default_factory=dict)
    loss: dict[str, Any] = field(default_factory=dict)
    losses: str = ""  # of the slow formulas, if not the name's


def estimated(estimator: str, worth: variants.Worth, **how: bool) -> Form:
    by_execution = {"executed": True} if worth is variants.executed else {}
    summed, center = how.get("summed", False), how.get("center", False)
    options = {"estimator": estimator, "content": "sum" if summed else "diff", "center": center}
    return Form("didpo", lambda groups: variants.painted(groups, worth, **by_execution, **how), options)


FORMS = {
    **{name: Form(name, functools.partial(slow.advantages, name)) for name in NAMES if name != "didpo"},
    "didpo": Form("didpo", lambda groups: variants.painted(groups, variants.regression, summed=True)),
    "didpo within": Form("didpo", functools.partial(slow.advantages, "didpo"), {"estimator": "within"}),
    "grpo, process": Form("grpo", variants.process, {"reward": "process"}),
    "reinforce_pp with baseline": Form(
        "reinforce_pp", variants.with_baseline, {"baseline": True}, {"kl_in": "loss", "kl_type": "k2"},
        "reinforce_pp with baseline",
    ),
    "ppo, lambda .9": Form("ppo", variants.gae, {"gamma": 0.97, "lam": 0.9}),
    "gigpo, similar": Form("gigpo", variants.similar_states, {"similarity": 0.8}),
    "didpo place": estimated("place", variants.place),
    "didpo marginal": estimated("marginal", variants.marginal),
    "didpo regression": estimated("regression", variants.regression),
    "didpo regression, centred": estimated("regression", variants.regression, center=True),
    "didpo counterfactual": estimated("counterfactual", variants.executed),
    "didpo shapley, centred": estimated("shapley", variants.executed, center=True),
}  # fmt: skip


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("every") / "model")


def configured(form, model, run_dir, **changes):
    """The configuration of the command line for this form, on the tiny model."""
    method = load_algorithm(form.name)
    config = make_config(model, run_dir)
    config.algorithm = method.Config(**form.options)
    for section, values in {**getattr(method, "defaults", {}), "loss": method.loss_defaults | form.loss}.items():
        for key, value in values.items():
            setattr(getattr(config, section), key, value)
    for key, value in changes.items():
        section, field = key.split("__")
        setattr(getattr(config, section), field, value)
    validate(config)
    return method(config.algorithm), config


@pytest.mark.parametrize("name", NAMES)
def test_one_update(name, model, tmp_path):
    algorithm, config = configured(FORMS[name], model, tmp_path / "run", trainer__steps=1, trainer__eval_tasks=2)
    Trainer(config, algorithm).run()
    (row,) = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert all(math.isfinite(value) for value in row.values())
    assert row["engine/gap"] < 1e-4
    assert row["engine/gap_max"] < 1e-3
    assert row["grad_norm"] > 0
    before, after = (
        AutoModelForCausalLM.from_pretrained(path) for path in (model, tmp_path / "run" / "checkpoints" / "step_000001")
    )
    assert not torch.equal(before.model.norm.weight, after.model.norm.weight)
    assert ("critic/loss" in row) == (name == "ppo")


def test_l16_groups_of_equal_returns_get_the_kl_s_gradient_where_they_are_not_dropped(model, tmp_path):
    """The first step moves the policy away from the reference, by its entropy; at the second the KL pulls it back."""
    norms = {}
    for beta in (0.0, 0.04):
        algorithm, config = configured(
            FORMS["grpo"], model, tmp_path / f"run{beta}", env__kwargs={"reward": 0.5}, trainer__steps=2,
            rollout__dynamic_sampling=False, loss__entropy_coef=0.1, loss__kl_coef=beta, optim__lr=0.05,
            trainer__eval_first=False, trainer__eval_tasks=1,
        )  # fmt: skip
        Trainer(config, algorithm).run()
        rows = [json.loads(line) for line in (tmp_path / f"run{beta}" / "metrics.jsonl").read_text().splitlines()]
        assert [(row["groups/kept"], row["credit/equal_returns"]) for row in rows] == [(2, 1), (2, 1)]
        norms[beta] = [row["grad_norm"] for row in rows]
    assert norms[0.0][0] == norms[0.04][0]
    assert abs(norms[0.0][1] - norms[0.04][1]) > 1e-4


SMALL = (
    "rollout.tasks=2", "rollout.n=4", "rollout.dynamic_sampling=false", "trainer.steps=1", "trainer.eval_tasks=1",
    "trainer.threads=1", "env.workers=1", "trainer.report=false", "trainer.logger=[]",
)  # fmt: skip


@pytest.mark.parametrize("command", [*NAMES, "didpo algorithm.estimator=within", "didpo algorithm.estimator=shapley"])
def test_one_update_of_the_built_in_model(command, tmp_path):
    """As ``python -m algorithms.NAME.train`` does it, on the built-in task, of fewer episodes."""
    name, *options = command.split()
    method = load_algorithm(name)
    config = resolve(method, [*SMALL, *options, f"trainer.run_dir={tmp_path / 'run'}"])
    Trainer(config, method(config.algorithm)).run()
    (row,) = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert all(math.isfinite(value) for value in row.values())
    assert row["grad_norm"] > 0
    assert row["groups/kept"] == 2
    assert row["infra_errors"] == 0
    assert row.get("credit/unknown", 0) == 0  # shapley: every reply's changes were run
    assert row.get("credit/diff_tokens", 1) > 0


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_knows_it(name):
    method = load_algorithm(name)
    config = resolve(method)
    assert config.trainer.run_dir == f"runs/{name}-seed0"
    for key, value in method.loss_defaults.items():
        assert getattr(config.loss, key) == value
    assert config.critic.enabled == (name == "ppo")
    __import__(f"algorithms.{name}.train")


BLOCKS = [b"\n".join(line.strip() for line in block(seed, 3)) for seed in range(2)]


def random_groups(seed: int, changes: bool = False) -> list[list[Trajectory]]:
    """Two tasks of four trajectories of one to three turns; states, actions and rewards that recur. With ``changes``
    most replies add one of two blocks to a file, in all of their tokens but the first and the last."""
    rng = np.random.default_rng(seed)
    groups = []
    for task in range(2):
        group = []
        for member in range(4):
            prompt, turns = rng.integers(4, 132, 3).tolist(), []
            for t in range(rng.integers(1, 4)):
                response = rng.integers(4, 132, rng.integers(2, LIMIT + 1)).tolist()
                kind = rng.choice(["a", "b"]) if t else ""
                turns.append(
                    Turn(
                        prompt_ids=np.array(prompt),
                        response_ids=np.array(response),
                        logprobs=np.zeros(len(response), dtype=np.float32),
                        token_ends=np.arange(1, len(response) + 1),
                        reply=rng.choice([b"x", b"y"]),
                        observation={"a": f"{t} tests pass, all of them", "b": f"{t} tests fail"}.get(kind, "the task"),
                        reward=float(rng.choice([0.0, 0.15, 1.0])),
                        state_before=f"{t}{kind}",
                        diff=Diff(),
                        truncated=len(response) == LIMIT and bool(rng.integers(2)),
                    )
                )
                if changes and len(response) > 2 and rng.random() < 0.8:
                    write(turns[-1], BLOCKS[rng.integers(2)])
                prompt = prompt + response + rng.integers(4, 132, 2).tolist()
            group.append(Trajectory(f"task{task}", member, turns))
        groups.append(group)
    return groups


def write(turn: Turn, text: bytes) -> None:
    """Make the reply add a text to a file: between its first and its last token, cut into the others."""
    source = Span(3, 3 + len(text))
    turn.reply = b"add" + text + b"end"
    turn.token_ends = np.array([*np.linspace(3, source.end, len(turn.response_ids) - 1).astype(int), len(turn.reply)])
    hunk = Hunk(Span(0, 0), Span(0, len(text)), text, (source,))
    turn.diff = Diff((FileDiff("a.py", "a.py", "modified", "python", True, (hunk,), ()),))


def distributions(net, turn: Turn) -> torch.Tensor:
    """Log-probabilities [T, V] before each of the turn's tokens, in double precision, by the simplest forward pass."""
    ids = torch.tensor([*turn.prompt_ids.tolist(), *turn.response_ids.tolist()])
    return net(input_ids=ids[None]).logits[0].double().log_softmax(-1)[len(turn.prompt_ids) - 1 : -1]


def logprobs(net, turn: Turn) -> torch.Tensor:
    """Of the turn's tokens."""
    return distributions(net, turn)[torch.arange(len(turn.response_ids)), torch.tensor(turn.response_ids)]


def head(width: int) -> torch.Tensor:
    """Weights of a critic that has learned something: from 0, where it starts, no gradient would reach its body."""
    return torch.from_numpy(np.random.default_rng(7).normal(0, 0.3, (1, width)))


def critic_loss(net, groups: list[list[Trajectory]], plain: list[slow.Group], targets: list[float]) -> torch.Tensor:
    """Half the mean squared error, of the values as they are or held within .2 of the old ones, where that is worse."""
    found, weights = [], head(net.config.hidden_size)[0]
    for turn in (turn for group in groups for own in group for turn in own.turns):
        ids = torch.tensor([*turn.prompt_ids.tolist(), *turn.response_ids.tolist()])
        found.append((net.base_model(ids[None]).last_hidden_state[0] @ weights)[len(turn.prompt_ids) - 1 : -1])
    new, old = torch.cat(found), torch.tensor([v for turn in variants.turns(plain) for v in turn.values])
    held, right = old + (new - old).clamp(-0.2, 0.2), torch.tensor(targets)
    worse = (held - right).square() > (new - right).square()
    assert 0 < int(worse.sum()) < len(new)
    return torch.where(worse, held - right, new - right).square().mean() / 2


def assert_gradients(model, right) -> None:
    wanted = {key: parameter.grad for key, parameter in right.named_parameters() if parameter.grad is not None}
    assert max(float(gradient.abs().max()) for gradient in wanted.values()) > 1e-4
    for key, parameter in model.named_parameters():
        assert float((parameter.grad.double() - wanted[key]).abs().max()) < 1e-6, key


@pytest.mark.parametrize(("seed", "form"), [*((0, name) for name in NAMES), *((1, form) for form in FORMS)])
def test_the_gradient_equals_the_slow_formula(seed, form, model, tmp_path):
    """Old, reference and value numbers are drawn, so that ratios differ from 1 and clips bite."""
    own, name = FORMS[form], FORMS[form].name
    algorithm, config = configured(
        own, model, tmp_path / "run", rollout__max_response_tokens=LIMIT, optim__grad_clip=math.inf
    )
    if name == "didpo":
        algorithm.judge = Judge(lambda task_id: {"a.py": b""}, lambda task_id, files: variants.score(files["a.py"]))
    groups = random_groups(seed, changes=name == "didpo")
    rng = np.random.default_rng(seed + 100)
    net = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float64)

    plain: list[slow.Group] = []
    with torch.no_grad():
        for group in groups:
            plain.append([])
            for trajectory in group:
                made = []
                for turn in trajectory.turns:
                    new = logprobs(net, turn).numpy()
                    # Numbers the worker reads are float32; the slow formula gets the same ones.
                    old, ref, values = (
                        (base + rng.normal(0, 0.3, len(new))).astype(np.float32) for base in (new, new, 0.5)
                    )
                    key = (turn.reward, turn.state_before, turn.reply.decode(), new.tolist())
                    made.append(slow.T(*key, old.tolist(), ref.tolist(), values.tolist(), turn.truncated))
                    made[-1].block = next((hunk.text for file in turn.diff.files for hunk in file.hunks), b"")
                    made[-1].observation = turn.observation
                plain[-1].append(made)
    flat = {
        key: np.array([x for turn in variants.turns(plain) for x in getattr(turn, of)], dtype=np.float32)
        for key, of in (("old_logprobs", "old"), ("ref_logprobs", "ref"), ("values", "values"))
    }

    if config.rollout.overlong_share:
        rewards.punish_overlong(groups, config.rollout)
    rows = rewards.uncredited_rows(groups)
    for key, numbers in flat.items():
        rows = with_tokens(rows, key, numbers)
    rewards.set_penalties_and_values(groups, rows, config)
    credited = list(zip(groups, credits(algorithm, groups), strict=True))
    rows = with_tokens(rows, "advantages", tokens_of(rows_of_groups(credited), "advantages"))
    if config.critic.enabled:
        targets = [turn for _, credit in credited for trajectory in credit.returns for turn in trajectory]
        rows = with_tokens(rows, "returns", np.concatenate(targets))
    config.model.dtype = "float64"  # not a setting; the formulas are compared, not the rounding
    worker = PolicyWorker(config)
    if config.critic.enabled:
        with torch.no_grad():
            worker._critic.head.weight.copy_(head(net.config.hidden_size))
    worker.update([rows[:3], rows[3:]], Denominators(float(len(flat["values"])), float(len(rows))), 0.0)

    slow.punish(own.losses or name, plain, LIMIT)
    credit = own.slow(plain)
    usual = {"didpo": "grpo"}.get(name, name)
    assert form == usual or credit != slow.advantages(usual, plain), "the form makes a difference"
    fast = tokens_of(rows, "advantages")
    assert fast == pytest.approx([a for g in credit for trajectory in g for turn in trajectory for a in turn], abs=1e-5)
    loss = torch.zeros((), dtype=torch.float64)
    for group, of_group in zip(groups, slow.coefficients(own.losses or name, plain, credit), strict=True):
        for trajectory, of_trajectory in zip(group, of_group, strict=True):
            for turn, of_turn in zip(trajectory.turns, of_trajectory, strict=True):
                loss = loss + (torch.tensor(of_turn, dtype=torch.float64) * logprobs(net, turn)).sum()
                every = distributions(net, turn)
                entropy = -(every.exp() * every).sum()
                loss = loss - slow.ENTROPY.get(name, 0.0) * entropy / len(flat["values"])
    loss.backward()
    assert_gradients(worker._model, net)
    if config.critic.enabled:
        net.zero_grad()
        keys = {"gamma": 1.0, "lam": 1.0} | own.options
        critic_loss(net, groups, plain, variants.critic_targets(plain, **keys)).backward()
        assert_gradients(worker._critic.body, net.base_model)
