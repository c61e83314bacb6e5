"""The repair environment as users get it: real tasks, real sandbox, real tests."""

from __future__ import annotations

import subprocess
import warnings

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env

from codegym.agents import GoldAgent


@pytest.fixture(params=["tiny", "program"])
def env(request):
    env = gym.make("codegym/Repair-v0", level=request.param, n_bugs=2, feedback="tests", split="test")
    yield env
    env.close()


def test_the_solution_solves(env):
    _, info = env.reset(seed=3)
    reply = GoldAgent(env.unwrapped.benchmark)("", info)
    observation, reward, terminated, _, info = env.step(reply)
    total = len(env.unwrapped.task.visible)
    assert observation == f"applied\ntests: {total} of {total} pass"
    assert (reward, terminated, info["resolved"], info["stop_reason"]) == (1.0, True, True, "solved")
    assert len(info["tests"]["hidden"]) == len(env.unwrapped.task.hidden)
    assert any(change.source for file in info["diff"].files for change in file.changes)


def test_the_patch_turns_the_base_into_the_workspace(env, tmp_path):
    _, info = env.reset(seed=4)
    base = env.unwrapped.files
    *_, info = env.step(GoldAgent(env.unwrapped.benchmark)("", info))
    for path, data in base.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    subprocess.run(["git", "apply", "-"], input=info["patch"].encode(), cwd=tmp_path, check=True)
    found = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert found == env.unwrapped.files


def test_unchanged_submission_fails(env):
    env.reset(seed=5)
    _, reward, terminated, _, info = env.step("<submit/>")
    assert (reward, terminated, info["resolved"]) == (0.0, True, False)
    assert 0 <= info["score"] < 1


def test_commands_run_in_the_sandbox(env):
    env.reset(seed=6)
    names = sorted(env.unwrapped.files)
    observation, *_, info = env.step(
        "<shell>ls *.py; echo x = 1 > new.py; python3 -c 'import new; print(new.x)'</shell>"
    )
    assert observation.splitlines()[0] == "exit code: 0"
    assert "1" in observation.splitlines()
    assert sorted(env.unwrapped.files) == sorted([*names, "new.py"])  # and no compiled module
    assert [(file.path, file.status) for file in info["diff"].files] == [("new.py", "added")]
    assert info["timing"]["sandbox"] > 0
    observation, *_ = env.step("<shell>cat new.py; rm new.py; exit 3</shell>")
    assert observation.splitlines()[:2] == ["exit code: 3", "x = 1"]
    assert sorted(env.unwrapped.files) == names


def test_check_env_is_clean(env):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_same_seed_same_episode():
    def episode():
        env = gym.make("codegym/Repair-v0", level="tiny", n_bugs=2)
        env.action_space.seed(1)
        steps = [env.reset(seed=1)]
        for _ in range(3):
            reply = env.action_space.sample()
            if "<shell>" not in reply:
                steps.append(env.step(reply))
            if len(steps[-1]) == 5 and (steps[-1][2] or steps[-1][3]):
                break
        env.close()
        return steps

    assert episode() == episode()
