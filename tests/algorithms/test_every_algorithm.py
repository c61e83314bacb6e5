"""Every method: one update of a tiny model through the whole trainer, and its gradient against a slow formula."""

from __future__ import annotations

import json
import math

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
from algorithms.distributed.worker import PolicyWorker
from codegym.diff.model import Diff, FileDiff, Hunk
from codegym.spans import Span
from tests.algorithms import slow_formulas as slow
from tests.algorithms.groups_for_tests import block
from tests.algorithms.training_for_tests import make_config, make_model

NAMES = ["grpo", "dr_grpo", "dapo", "gspo", "cispo", "rloo", "reinforce_pp", "ppo", "gigpo", "hgpo", "rtmc", "didpo"]
LIMIT = 6


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("every") / "model")


def configured(name, model, run_dir, **changes):
    """The configuration of the command line for this method, on the tiny model."""
    method = load_algorithm(name)
    config = make_config(model, run_dir)
    config.algorithm = method.Config()
    for section, values in {**getattr(method, "defaults", {}), "loss": method.loss_defaults}.items():
        for key, value in values.items():
            setattr(getattr(config, section), key, value)
    for key, value in changes.items():
        section, field = key.split("__")
        setattr(getattr(config, section), field, value)
    validate(config)
    return method(config.algorithm), config


@pytest.mark.parametrize("name", NAMES)
def test_one_update(name, model, tmp_path):
    algorithm, config = configured(name, model, tmp_path / "run", trainer__steps=1, trainer__eval_tasks=2)
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


SMALL = (
    "rollout.tasks=2", "rollout.n=4", "rollout.dynamic_sampling=false", "trainer.steps=1", "trainer.eval_tasks=1",
    "trainer.threads=1", "env.workers=1", "trainer.report=false", "trainer.logger=[]",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_one_update_of_the_built_in_model(name, tmp_path):
    """As ``python -m algorithms.NAME.train`` does it, on the built-in task, of fewer episodes."""
    method = load_algorithm(name)
    config = resolve(method, [*SMALL, f"trainer.run_dir={tmp_path / 'run'}"])
    Trainer(config, method(config.algorithm)).run()
    (row,) = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert all(math.isfinite(value) for value in row.values())
    assert row["grad_norm"] > 0
    assert row["groups/kept"] == 2
    assert row["infra_errors"] == 0


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
                turns.append(
                    Turn(
                        prompt_ids=np.array(prompt),
                        response_ids=np.array(response),
                        logprobs=np.zeros(len(response), dtype=np.float32),
                        token_ends=np.arange(1, len(response) + 1),
                        reply=rng.choice([b"x", b"y"]),
                        observation="",
                        reward=float(rng.choice([0.0, 0.15, 1.0])),
                        state_before=f"{t}{rng.choice(['a', 'b']) if t else ''}",
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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", [0, 1])
def test_the_gradient_equals_the_slow_formula(name, seed, model, tmp_path):
    """Old, reference and value numbers are drawn, so that ratios differ from 1 and clips bite."""
    algorithm, config = configured(
        name, model, tmp_path / "run", rollout__max_response_tokens=LIMIT, optim__grad_clip=math.inf
    )
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
                plain[-1].append(made)
    flat = {
        field: np.array([x for g in plain for own in g for turn in own for x in getattr(turn, of)], dtype=np.float32)
        for field, of in (("old_logprobs", "old"), ("ref_logprobs", "ref"), ("values", "values"))
    }

    if config.rollout.overlong_share:
        rewards.punish_overlong(groups, config.rollout)
    rows = rewards.uncredited_rows(groups)
    for field, numbers in flat.items():
        rows = with_tokens(rows, field, numbers)
    rewards.set_penalties_and_values(groups, rows, config)
    credited = list(zip(groups, credits(algorithm, groups), strict=True))
    rows = with_tokens(rows, "advantages", tokens_of(rows_of_groups(credited), "advantages"))
    if config.critic.enabled:
        targets = [own for _, credit in credited for trajectory in credit.returns for own in trajectory]
        rows = with_tokens(rows, "returns", np.concatenate(targets))
    config.model.dtype = "float64"  # not a setting; the formulas are compared, not the rounding
    worker = PolicyWorker(config)
    worker.update([rows[:3], rows[3:]], Denominators(float(len(flat["values"])), float(len(rows))), 0.0)

    slow.punish(name, plain, LIMIT)
    credit = slow.advantages(name, plain)
    assert name != "didpo" or credit != slow.advantages("grpo", plain), "blocks are shared, and count"
    fast = tokens_of(rows, "advantages")
    assert fast == pytest.approx([a for g in credit for own in g for turn in own for a in turn], abs=1e-5)
    loss = torch.zeros((), dtype=torch.float64)
    for group, of_group in zip(groups, slow.coefficients(name, plain, credit), strict=True):
        for trajectory, of_trajectory in zip(group, of_group, strict=True):
            for turn, of_turn in zip(trajectory.turns, of_trajectory, strict=True):
                loss = loss + (torch.tensor(of_turn, dtype=torch.float64) * logprobs(net, turn)).sum()
                every = distributions(net, turn)
                entropy = -(every.exp() * every).sum()
                loss = loss - slow.ENTROPY.get(name, 0.0) * entropy / len(flat["values"])
    loss.backward()
    right = dict(net.named_parameters())
    assert max(float(p.grad.abs().max()) for p in right.values()) > 1e-4
    for key, parameter in worker._model.named_parameters():
        assert float((parameter.grad.double() - right[key].grad).abs().max()) < 1e-6, key
