"""Episodes: tasks by position, ids end to end, infra errors, dynamic sampling, evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from algorithms.core.tokens import Chat, load_tokenizer
from algorithms.distributed.handles import Local
from algorithms.rollout.environments import EnvWorker
from algorithms.rollout.native import NativeEngine
from algorithms.rollout.rollout import Rollout
from tests.algorithms.training_for_tests import make_config, make_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("rollout") / "model")


@pytest.fixture
def make(model, tmp_path):
    workers = []

    def build(environments: int = 1, **changes) -> Rollout:
        config = make_config(model, tmp_path / "run", **changes)
        chat = Chat(load_tokenizer(str(model)), str(model))
        workers.extend(EnvWorker(config.env, 2) for _ in range(environments))
        return Rollout(
            config, chat, NativeEngine(config).generate, [Local(worker) for worker in workers[-environments:]]
        )

    yield build
    for worker in workers:
        worker.close()


def said(groups) -> list:
    return [(t.task_id, t.member, [turn.response_ids.tolist() for turn in t.turns]) for t in groups.sampled]


def test_a_step_is_a_function_of_seed_and_position(make) -> None:
    first, again = make().train_step(6), make(environments=3).train_step(6)
    assert said(first) == said(again)
    assert first.position == 8
    assert said(make().train_step(8)) != said(first)
    assert said(make(trainer__seed=1).train_step(6)) != said(first)


def test_tasks_follow_each_other_whatever_the_number_per_step(make) -> None:
    few, many = make(rollout__tasks=1), make(rollout__tasks=3)
    one_by_one = [said(few.train_step(position)) for position in range(3)]
    assert sum(one_by_one, []) == said(many.train_step(0))  # noqa: RUF017 - three lists


def test_waves_change_nothing(make) -> None:
    assert said(make(rollout__batch_size=3).train_step(0)) == said(make().train_step(0))


def test_groups_hold_one_task_and_differ_in_what_is_said(make) -> None:
    for group in make(rollout__n=6).train_step(0).kept:
        assert len({trajectory.task_id for trajectory in group}) == 1
        assert [trajectory.member for trajectory in group] == list(range(6))
        assert len({tuple(trajectory.turns[0].response_ids) for trajectory in group}) > 1


def test_ids_and_bytes_from_end_to_end(make) -> None:
    """S6: the second prompt holds the ids sampled; token_ends cut the reply where its tokens end."""
    for trajectory in make().train_step(0).sampled:
        one, two = trajectory.turns
        known = len(one.prompt_ids) + len(one.response_ids)
        assert two.prompt_ids[:known].tolist() == [*one.prompt_ids.tolist(), *one.response_ids.tolist()]
        for turn in trajectory.turns:
            assert len(turn.response_ids) == len(turn.token_ends) == len(turn.logprobs)
            assert turn.token_ends[-1] == len(turn.reply)
            assert turn.reward == turn.reward_terms["small"]
        assert (one.observation[:5], two.observation) == ("task ", "turn 1")
        assert (one.state_before, two.state_before) == ("0", "1")


def test_infra_errors_are_taken_out_and_counted(make) -> None:
    """S5: never a reward of 0."""
    step = make(env__kwargs={"fail_at": 2}, rollout__tasks=8).train_step(0)
    assert step.infra_errors == 4 * step.lost > 0
    assert len(step.kept) + step.lost == 8
    assert all(trajectory.infra_error is None and len(trajectory.turns) == 2 for trajectory in step.sampled)
    assert len(step.sampled) == 32 - step.infra_errors


def test_a_step_of_nothing_but_infra_errors_stops_the_run(make) -> None:
    with pytest.raises(RuntimeError, match=r"every episode .* the disk is gone"):
        make(env__kwargs={"fail_at": 1}).train_step(0)


def test_dynamic_sampling_draws_again_for_equal_groups_and_gives_up_after_max_refills(make) -> None:
    """A10: a group whose returns are all equal is dropped as a whole, and others are kept as a whole."""
    equal = make(env__kwargs={"reward": 0.5}, rollout__dynamic_sampling=True, rollout__max_refills=2).train_step(0)
    assert (len(equal.kept), equal.dropped, equal.position) == (0, 6, 6)
    assert len(equal.sampled) == 24
    varied = make(rollout__dynamic_sampling=True).train_step(0)
    assert (len(varied.kept), varied.dropped, varied.position) == (2, 0, 2)
    assert all(len(group) == 4 for group in varied.kept)


def test_prompts_that_grow_too_long_end_the_episode(make) -> None:
    rollout = make(rollout__max_prompt_tokens=10)
    for trajectory in rollout.train_step(0).sampled:
        assert len(trajectory.turns) == 1
        assert (trajectory.stop_reason, trajectory.resolved) == ("max_prompt_tokens", False)
    with pytest.raises(ValueError, match=r"rollout\.max_prompt_tokens=4; raise it"):
        make(rollout__max_prompt_tokens=4).train_step(0)


def test_evaluation_is_the_same_for_every_seed_and_reads_held_out_tasks_in_order(make) -> None:
    one, other = (make(trainer__seed=seed).evaluate(greedy=False) for seed in (0, 1))
    assert [t.task_id for t in one] == [f"test-{k}" for k in range(8)]
    for a, b in zip(one, other, strict=True):
        assert [turn.reply for turn in a.turns] == [turn.reply for turn in b.turns]
    greedy = make().evaluate(greedy=True)
    by_task: dict[str, set[bytes]] = {}
    for trajectory in greedy:
        by_task.setdefault(trajectory.turns[0].observation, set()).add(trajectory.turns[0].reply)
    assert all(len(replies) == 1 for replies in by_task.values())
    with pytest.raises(ValueError, match=r"trainer\.eval_tasks .* there are 64; lower it"):
        make(trainer__eval_tasks=65).evaluate(greedy=True)


def test_seconds_are_summed(make) -> None:
    timing = make().train_step(0).timing
    assert timing["timing/diff"] == pytest.approx(0.001 * 8 * 3)  # 8 episodes, a reset and two steps each
    assert timing["timing/generate"] > 0
    assert np.isfinite(list(timing.values())).all()
