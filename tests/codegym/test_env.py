"""Episodes of the environment, by known answers."""

from __future__ import annotations

import sys
from typing import get_type_hints

import gymnasium as gym
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sandbox
from codegym.env import CodeEnv
from codegym.info import Info
from codegym.spans import reply_bytes
from sandbox.base import SandboxError, WorkspaceError

ADD, TWICE = {"task_id": "toy/add"}, {"task_id": "toy/twice"}
WRONG = '<write path="a.py">\ndef add(a, b):\n    return 0\n</write>'


def make(toy, **options):
    return CodeEnv(benchmark=toy, **options)


def test_first_observation(toy):
    env = make(toy, instructions=False)
    observation, info = env.reset(options=ADD)
    assert observation == (
        "Make add right.\n"
        '<file path="a.py">\ndef add(a, b):\n    return a - b\n</file>\n'
        '<file path="keep.py">\nLOCKED = 1\n</file>'
    )
    assert set(info) == set(get_type_hints(Info))
    assert info["task_id"] == "toy/add"
    assert info["stop_reason"] is None
    assert info["diff"].files == ()
    assert info["tests"] == {"visible_passed": -1, "visible_total": 2, "hidden": {}}
    assert toy.calls == []  # a reset tests nothing


def test_instructions_teach_the_format(toy):
    with_them, _ = make(toy).reset(options=ADD)
    without, _ = make(toy, instructions=False).reset(options=ADD)
    assert with_them.endswith(without)
    assert "<submit/>" in with_them


def test_solved(toy, fixes):
    env = make(toy, feedback="tests")
    _, first = env.reset(options=ADD)
    observation, reward, terminated, truncated, info = env.step(fixes["toy/add"])
    assert observation == "applied\ntests: 2 of 2 pass"
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["stop_reason"] == "solved"
    assert info["resolved"] is True
    assert info["score"] == 1.0
    assert info["tests"] == {"visible_passed": 2, "visible_total": 2, "hidden": {"h0": "passed", "h1": "passed"}}
    assert info["reward_terms"] == {"verdict": 1.0, "step": 0.0, "invalid": 0.0}
    assert info["state_before"] == first["state"] != info["state"]
    assert env.files["a.py"] == b"def add(a, b):\n    return a + b\n"
    assert toy.calls == ["check", "grade"]


def test_wrong_change_is_explained_and_max_turns_truncates(toy):
    env = make(toy, feedback="tests", max_turns=2)
    env.reset(options=ADD)
    observation, reward, terminated, truncated, _ = env.step(WRONG)
    assert observation == "applied\ntests: 1 of 2 pass\nadd(2, 3) == 5 is false"
    assert (reward, terminated, truncated) == (0.0, False, False)
    _, reward, terminated, truncated, info = env.step(WRONG.replace("0", "9"))
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert (info["stop_reason"], info["resolved"], info["score"]) == ("max_turns", False, 0.0)
    with pytest.raises(ResetNeeded, match="max_turns"):
        env.step(WRONG)


@pytest.mark.parametrize("feedback", ["blind", "exec"])
def test_without_test_feedback_only_submission_ends(toy, fixes, feedback):
    env = make(toy, feedback=feedback)
    env.reset(options=ADD)
    observation, _, terminated, _, info = env.step(fixes["toy/add"])
    assert (observation, terminated) == ("applied", False)
    assert info["tests"]["visible_passed"] == -1
    observation, reward, terminated, truncated, info = env.step("<submit/>")
    assert (observation, reward, terminated, truncated) == ("submitted", 1.0, True, False)
    assert info["stop_reason"] == "submitted"
    assert toy.calls == ["grade"]


def test_step_reward_is_paid_every_turn_in_any_mode(toy, fixes):
    env = make(toy, feedback="blind", step_reward=0.4, invalid_penalty=0.05)
    env.reset(options=ADD)
    _, reward, *_, info = env.step("hello")
    assert reward == pytest.approx(0.4 / 2 - 0.05)  # one of two passes in the broken file
    assert info["reward_terms"] == {"verdict": 0.0, "step": 0.2, "invalid": -0.05}
    observation, reward, *_ = env.step(fixes["toy/add"])
    assert (observation, reward) == ("applied", 0.4)
    _, reward, *_ = env.step("<submit/>")
    assert reward == pytest.approx(1.4)
    assert toy.calls == ["check", "check", "grade"]  # once per state


def test_the_verdict_pays_the_share_of_hidden_tests_and_may_be_noisy(toy, fixes):
    def play(reply, seed=0, **options):
        env = make(toy, feedback="blind", max_turns=1, **options)
        env.reset(seed=seed, options=ADD)
        _, reward, _, _, info = env.step(reply)
        return reward, info["resolved"], info["score"]

    assert play(fixes["toy/add"], verdict="score") == (1.0, True, 1.0)
    for reply in (WRONG, WRONG.replace("0", "9")):
        score = play(reply)[2]
        assert play(reply, verdict="score") == (score, False, score)
    flipped = play(fixes["toy/add"], verdict="score", verdict_noise=1.0)
    assert flipped == (0.0, True, 1.0), "every result is turned round, but info says the truth"
    paid = [play(fixes["toy/add"], seed, verdict="score", verdict_noise=0.3)[0] for seed in range(100)]
    assert set(paid) == {0.0, 0.5, 1.0}
    assert 0.6 < sum(paid) / 100 < 0.8
    again = [play(fixes["toy/add"], seed, verdict="score", verdict_noise=0.3)[0] for seed in range(10)]
    assert again == paid[:10], "drawn from the seed and the replies"
    with pytest.raises(ValueError, match="verdict='x' is unknown; there are: resolved, score"):
        make(toy, verdict="x")
    with pytest.raises(ValueError, match="verdict_noise=2: needs 0 to 1"):
        make(toy, verdict_noise=2)


def test_invalid_action_changes_nothing(toy):
    env = make(toy)
    _, first = env.reset(options=ADD)
    observation, reward, terminated, truncated, info = env.step('<edit path="a.py"><search>zzz</search>')
    assert observation.startswith("error: ")
    assert "\n" not in observation
    assert (reward, terminated, truncated) == (-0.01, False, False)
    assert info["action"]["kind"] == "invalid"
    assert info["action"]["valid"] is False
    assert observation == f"error: {info['action']['error']}"
    assert info["state"] == info["state_before"] == first["state"]
    assert info["patch"] == ""


def test_refused_edit_is_atomic_and_costs(toy):
    env = make(toy)
    env.reset(options=ADD)
    reply = '<write path="b.py">\n1\n</write><edit path="a.py"><search>zzz</search><replace>y</replace></edit>'
    observation, reward, *_, info = env.step(reply)
    assert observation.startswith("error: ")
    assert (reward, info["action"]["kind"], info["action"]["valid"]) == (-0.01, "edit", False)
    assert set(env.files) == {"a.py", "keep.py"}


@pytest.mark.parametrize("path", ["keep.py", "./keep.py"])
def test_protected_path_is_refused(toy, path):
    env = make(toy)
    env.reset(options=ADD)
    observation, *_, info = env.step(f'<write path="b.py">\n1\n</write><write path="{path}">\nLOCKED = 0\n</write>')
    assert not info["action"]["valid"]
    assert set(env.files) == {"a.py", "keep.py"}
    if path == "keep.py":
        assert observation.startswith("error: keep.py is protected")


def test_diff_points_into_the_reply(toy, fixes):
    env = make(toy)
    env.reset(options=ADD)
    reply = "I think é: " + fixes["toy/add"]
    *_, info = env.step(reply)
    (file,) = info["diff"].files
    (hunk,) = file.hunks
    assert file.path == "a.py"
    written = b"".join(reply_bytes(reply)[s.start : s.end] for s in hunk.source)
    assert hunk.text in written or written in hunk.text
    assert "+    return a + b" in info["patch"]
    assert "-    return a - b" in info["patch"]


def test_patch_is_cumulative_and_diff_is_not(toy):
    env = make(toy, feedback="blind")
    env.reset(options=ADD)
    env.step('<write path="b.py">\nx = 1\n</write>')
    *_, info = env.step('<write path="c.py">\ny = 1\n</write>')
    assert [file.path for file in info["diff"].files] == ["c.py"]
    assert "b.py" in info["patch"]
    assert "c.py" in info["patch"]
    *_, info = env.step("nothing")
    assert info["diff"].files == ()
    assert "b.py" in info["patch"]


def test_shell_works_on_the_edited_files_and_its_changes_count(toy, local_box):
    env = make(toy, feedback="tests")
    env.reset(options=ADD)
    env.step('<write path="b.py">\nprint(6 * 7)\n</write>')
    observation, *_ = env.step(f"<shell>{sys.executable} b.py; echo bad >&2; exit 3</shell>")
    assert observation == "exit code: 3\n42\nbad"
    observation, *_ = env.step("<shell>rm b.py; echo hi > n.txt</shell>")
    assert observation == "exit code: 0\ntests: 1 of 2 pass\nadd(2, 3) == 5 is false"
    assert set(env.files) == {"a.py", "keep.py", "n.txt"}
    observation, _, terminated, _, info = env.step("<shell>sed -i 's/a - b/a + b/' a.py</shell>")
    assert observation == "exit code: 0\ntests: 2 of 2 pass"
    assert terminated
    (file,) = info["diff"].files
    assert all(hunk.source == () for hunk in file.hunks)
    assert len(local_box) == 1  # one sandbox per episode
    assert local_box[0].closed


def test_shell_after_edit_sees_it_and_blind_says_nothing(toy, local_box):
    env = make(toy, feedback="blind")
    env.reset(options=ADD)
    env.step("<shell>echo one > f</shell>")
    env.step('<write path="f">\ntwo\n</write>')
    observation, *_ = env.step("<shell>cp f g; false</shell>")
    assert observation == "applied"
    assert env.files["g"] == b"two\n"
    env.close()
    assert local_box[0].closed


@pytest.mark.parametrize("kind", ["check", "grade"])
def test_infra_error_is_no_verdict(toy, fixes, kind):
    toy.broken = kind
    env = make(toy, step_reward=1.0)
    env.reset(options=ADD)
    _, reward, terminated, truncated, info = env.step(fixes["toy/add"])
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["stop_reason"] == "infra_error"
    assert info["infra_error"] == "the image is missing"
    assert set(info["reward_terms"].values()) == {0.0}
    assert info["resolved"] is False
    with pytest.raises(ResetNeeded, match="infra_error"):
        env.step("<submit/>")


def test_broken_sandbox_is_an_infra_error(toy, local_box, monkeypatch):
    def fail(limits):
        raise SandboxError("bwrap died")

    monkeypatch.setattr(sandbox, "open_sandbox", fail, raising=False)
    env = make(toy)
    env.reset(options=ADD)
    *_, info = env.step("<shell>ls</shell>")
    assert (info["stop_reason"], info["infra_error"]) == ("infra_error", "bwrap died")


def test_a_command_that_overfills_the_workspace_is_refused(toy, local_box, monkeypatch):
    env = make(toy, feedback="blind")
    env.reset(options=ADD)
    env.step("<shell>echo 1 > kept</shell>")

    def over(self):
        raise WorkspaceError("the workspace holds more than 64 MiB")

    with monkeypatch.context() as patch:
        patch.setattr(type(local_box[0]), "export", over)
        observation, reward, *_, info = env.step("<shell>echo 2 > big</shell>")
    assert observation == (
        "error: the workspace holds more than 64 MiB; what the command did is dropped; the next gets a new shell"
    )
    assert (reward, info["stop_reason"], info["state"]) == (-0.01, None, info["state_before"])
    env.step("<shell>cat kept > copy</shell>")
    assert env.files["copy"] == b"1\n"
    assert [box.closed for box in local_box] == [True, False]


def test_files_too_large_for_the_tests_fail_them(toy, monkeypatch):
    def over(task, workspace):
        raise WorkspaceError("too large")

    monkeypatch.setattr(toy, "grade", over)
    env = make(toy)
    env.reset(options=ADD)
    *_, info = env.step("<submit/>")
    assert (info["stop_reason"], info["resolved"]) == ("submitted", False)
    assert info["tests"]["hidden"] == {"h0": "error", "h1": "error"}


def test_max_seconds(toy, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("codegym.env.time.monotonic", lambda: clock[0])
    env = make(toy, max_seconds=10)
    env.reset(options=ADD)
    clock[0] = 9.9
    *_, truncated, _ = env.step("x")
    assert not truncated
    clock[0] = 10.0
    *_, truncated, info = env.step("x")
    assert truncated
    assert info["stop_reason"] == "max_seconds"
    assert toy.calls == ["grade"]


def test_tasks_are_chosen_by_seed_index_or_id(toy):
    env = make(toy)
    draws = [env.reset(seed=seed)[1]["task_id"] for seed in range(20)]
    assert set(draws) == {"toy/add", "toy/twice"}
    assert draws == [env.reset(seed=seed)[1]["task_id"] for seed in range(20)]
    assert env.reset(options={"index": 1})[1]["task_id"] == "toy/twice"
    with pytest.raises(KeyError, match="ids look like toy/add"):
        env.reset(options={"task_id": "nope"})
    with pytest.raises(IndexError, match="0 to 1"):
        env.reset(options={"index": 2})
    with pytest.raises(ValueError, match="either"):
        env.reset(options={"task": "toy/add"})


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"feedback": "loud"}, "blind, exec, tests"),
        ({"max_turns": 0}, "at least 1"),
        ({"max_seconds": 0}, "None for no limit"),
        ({"action_format": "morse"}, "there are: .*xml"),
        ({"render_mode": "rgb"}, "ansi"),
        ({"max_turn": 3}, "did you mean 'max_turns'"),
    ],
)
def test_bad_options_name_the_good_ones(options, says):
    with pytest.raises(ValueError, match=says):
        CodeEnv(benchmark="toy", **options)


def test_options_of_the_benchmark_reach_it():
    assert CodeEnv(benchmark="toy", broken="grade").benchmark.broken == "grade"
    with pytest.raises(ValueError, match="did you mean 'broken'"):
        gym.make("toy/Toy-v0", broke="x")


def test_not_a_string(toy):
    env = make(toy)
    with pytest.raises(ResetNeeded):
        env.step("x")
    env.reset(options=ADD)
    with pytest.raises(TypeError, match="not bytes"):
        env.step(b"<submit/>")


def test_close_is_idempotent_and_spares_a_given_benchmark(toy):
    env = make(toy)
    env.reset()
    env.close()
    env.close()
    assert toy.closed == 0
    own = CodeEnv(benchmark="toy")
    own.close()
    own.close()
    assert own.benchmark.closed == 1, "what may be shared is closed once"


def test_state_tells_paths_from_contents(toy):
    env = make(toy, feedback="blind")
    states = set()
    for reply in ('<write path="x">\nyz\n</write>', '<write path="xy">\nz\n</write>', "nothing"):
        env.reset(options=ADD)
        states.add(env.step(reply)[4]["state"])
    assert len(states) == 3
    env.reset(options=ADD)
    env.step('<write path="x">\nyz\n</write>')
    assert env.reset(options=ADD)[1]["state"] in states  # back at the base


def test_render(toy, capsys):
    env = make(toy, render_mode="ansi")
    env.reset(options=ADD)
    assert "Make add right." in env.render()
    env.step("<submit/>")
    assert "turn 1 of 8\n<submit/>\n---\nsubmitted" in env.render()
    assert capsys.readouterr().out == ""
    env = make(toy, render_mode="human")
    env.reset(options=ADD)
    assert "Make add right." in capsys.readouterr().out
    assert env.render() is None


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(st.characters(exclude_categories=())) | st.binary().map(lambda b: b.decode("utf-8", "surrogateescape")))
def test_any_text_is_answered(toy, reply):
    env = make(toy, max_turns=1)
    env.reset(options=TWICE)
    observation, reward, terminated, truncated, info = env.step(reply)
    assert isinstance(observation, str)
    assert terminated or truncated
    assert reward == sum(info["reward_terms"].values())
