"""Vector environments give what single ones give, however they are made."""

from __future__ import annotations

import copy
import multiprocessing
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv

from codegym.spaces import TextSpace
from codegym.vector import SharedTexts

# Env 0 solves its task in turn 2 and is reset in turn 3; env 1 never does.
SCRIPT = {
    "toy/add": ["rubbish \udcff", "FIX", "ignored by the reset", "again rubbish"],
    "toy/twice": ['<write path="é.py">\nx = "\u2028"\n</write>', "x" * 70_000, "<submit>", "y"],
}


def replies(fixes, task_id, turn):
    reply = SCRIPT[task_id][turn]
    return fixes[task_id] if reply == "FIX" else reply


def same(batched, single, i):
    """Compare a batched info with a single one, key by key, masks included."""
    for key, value in single.items():
        assert batched[f"_{key}"][i], key
        if isinstance(value, dict):
            same(batched[key], value, i)
        else:
            found = batched[key][i]
            assert type(found) is type(value) or isinstance(found, np.generic), key
            assert found == value, key


def single_steps(env, fixes, seed):
    """What one environment gives under next-step autoreset."""
    observation, info = env.reset(seed=seed)
    first = info["task_id"]
    yield observation, 0.0, False, False, info
    over = False
    for turn in range(len(SCRIPT[first])):
        if over:
            observation, info = env.reset()
            step = (observation, 0.0, False, False, info)
        else:
            step = env.step(replies(fixes, first, turn))
        over = step[2] or step[3]
        yield step


@pytest.fixture(scope="module")
def seed():
    """A seed such that env 0 (seed) gets toy/add and env 1 (seed + 1) toy/twice."""
    env = gym.make("toy/Toy-v0")
    firsts = [env.reset(seed=number)[1]["task_id"] for number in range(60)]
    return next(i for i in range(59) if firsts[i : i + 2] == ["toy/add", "toy/twice"])


VARIANTS = [
    ("sync", {}),
    ("async", {}),
    ("async", {"shared_memory": False}),
    ("async", {"copy": False}),
    (None, {}),
]


@pytest.mark.parametrize(("mode", "options"), VARIANTS, ids=str)
def test_equal_to_single_environments(mode, options, fixes, seed):
    singles = [list(single_steps(gym.make("toy/Toy-v0", step_reward=0.5), fixes, seed + i)) for i in range(2)]
    firsts = [steps[0][4]["task_id"] for steps in singles]
    envs = gym.make_vec("toy/Toy-v0", num_envs=2, vectorization_mode=mode, vector_kwargs=options, step_reward=0.5)
    observations, infos = envs.reset(seed=seed)
    assert list(observations) == [steps[0][0] for steps in singles]
    kept = [copy.deepcopy(observations)]
    for i in range(2):
        same(infos, singles[i][0][4], i)
    for turn in range(4):
        actions = tuple(replies(fixes, firsts[i], turn) for i in range(2))
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        kept.append(copy.deepcopy(observations))
        for i in range(2):
            observation, reward, end, cut, info = singles[i][turn + 1]
            assert observations[i] == observation
            assert (rewards[i], terminated[i], truncated[i]) == (reward, end, cut)
            same(infos, info, i)
        assert terminated[0] == (turn == 1)
    assert [list(one) for one in kept] == [[steps[t][0] for steps in singles] for t in range(5)]
    if not options:
        assert observations in envs.observation_space
    envs.close()


@pytest.mark.parametrize("context", ["spawn", "forkserver"])
def test_other_start_methods(context):
    envs = gym.make_vec(
        "codegym/Repair-v0", num_envs=2, vectorization_mode="async", vector_kwargs={"context": context}, level="tiny"
    )
    observations, _ = envs.reset(seed=5)
    expected = [gym.make("codegym/Repair-v0", level="tiny").reset(seed=5 + i)[0] for i in range(2)]
    envs.close()
    assert list(observations) == expected


def _write(texts, index, text):
    texts.write(index, text)


def test_shared_texts():
    texts = SharedTexts(2)
    assert list(texts) == ["", ""]
    for text in ("long " * 50_000, "é\ud800\udcff\x00", ""):
        process = multiprocessing.get_context("fork").Process(target=_write, args=(texts, 1, text))
        process.start()
        process.join()
        assert copy.deepcopy(texts) == ("", text)
    assert texts[:1] == ("",)


def test_no_other_space_is_touched():
    assert AsyncVectorEnv  # imported: CartPole must work with codegym loaded
    envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="async")
    observations, _ = envs.reset(seed=0)
    envs.close()
    assert observations.shape == (2, 4)
    assert TextSpace() != envs.single_observation_space


@pytest.mark.parametrize("feedback", ["blind", "exec", "tests"])
def test_check_env(feedback, local_box):
    env = gym.make("toy/Toy-v0", feedback=feedback)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
