"""Evaluation: rows, resumption, workers, and the command."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pytest

import codegym.cli
from codegym.agents import GoldAgent, RandomAgent
from codegym.env import CodeEnv
from codegym.evaluate import AgentError, evaluate
from sandbox import SandboxError

TOY = "toy/Toy-v0"
ROOT = Path(__file__).resolve().parents[2]


def fixer(fixes):
    def agent(observation, info):
        return fixes["toy/add"] if info["task_id"] == "toy/add" and info["extra"]["attempt"] == 0 else "<submit/>"

    return agent


def quiet(agent, **options):
    return evaluate(agent, TOY, progress=False, **options)


def facts(report):
    return [(r.task_id, r.attempt, r.resolved, r.turns, r.stop_reason) for r in report.rows]


def test_rows_and_pass_at_k(fixes):
    report = quiet(fixer(fixes), attempts=2)
    assert sorted(facts(report)) == [
        ("toy/add", 0, True, 1, "solved"),
        ("toy/add", 1, False, 1, "submitted"),
        ("toy/twice", 0, False, 1, "submitted"),
        ("toy/twice", 1, False, 1, "submitted"),
    ]
    assert report.pass_at(1) == 0.25
    assert report.pass_at(2) == 0.5


def test_tasks_by_id_and_by_seed():
    assert [r.task_id for r in quiet(lambda o, i: "<submit/>", tasks=["toy/twice"]).rows] == ["toy/twice"]
    one = [[r.task for r in quiet(lambda o, i: "<submit/>", tasks=1, seed=s).rows] for s in range(8)]
    assert {tuple(tasks) for tasks in one} == {(0,), (1,)}
    assert one == [[r.task for r in quiet(lambda o, i: "<submit/>", tasks=1, seed=s).rows] for s in range(8)]


def test_workers_give_the_same_rows():
    options = {"attempts": 6, "env_kwargs": {"max_turns": 3, "feedback": "blind"}}

    class NoShell(RandomAgent):
        def __call__(self, observation, info):
            reply = super().__call__(observation, info)
            return "no" if "<shell>" in reply else reply

    assert facts(quiet(NoShell, **options)) == facts(quiet(NoShell, workers=3, **options))


def test_an_agent_with_state_is_not_shared():
    with pytest.raises(ValueError, match="give its class"):
        quiet(RandomAgent(), workers=2)


def test_interrupted_run_resumes(fixes, tmp_path):
    out = tmp_path / "new" / "rows.jsonl"
    seen = []

    def counting(observation, info):
        seen.append((info["task_id"], info["extra"]["attempt"]))
        if len(seen) == 3:
            raise OSError("no network")
        return "<submit/>"

    with pytest.raises(AgentError, match=r"turn 1 of task toy/\w+: OSError: no network") as caught:
        quiet(counting, attempts=2, out=out)
    assert isinstance(caught.value.__cause__, OSError)
    assert len(out.read_text().splitlines()) == 3  # the first line says which evaluation
    with out.open("a") as file:
        file.write('{"task": 0, "att')  # killed while writing
    report = quiet(counting, attempts=2, out=out)
    assert len(seen) == 5  # the third again, then the fourth
    assert seen[2] == seen[3]
    assert len(report.rows) == 4
    assert [json.loads(line)["attempt"] for line in out.read_text().splitlines()[1:]].count(0) == 2
    assert facts(quiet(counting, attempts=2, out=out)) == facts(report)
    assert len(seen) == 5
    with pytest.raises(ValueError, match="another evaluation"):
        quiet(counting, seed=1, out=out)


def test_patches_are_predictions(fixes, tmp_path, monkeypatch, capsys):
    report = quiet(fixer(fixes))
    assert set(report.patches) == {"toy/add", "toy/twice"}
    assert report.patches["toy/twice"] == ""
    assert report.patches["toy/add"].startswith("diff --git ")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "idle_agent.py").write_text("def act(observation, info):\n    return '<submit/>'\n")
    file = tmp_path / "predictions.jsonl"
    command = ["evaluate", "--agent", "idle_agent:act", "--env", TOY, "--quiet", "--predictions", str(file)]
    assert codegym.cli.main([*command, "--attempts", "2"]) == 2
    assert "one patch per task" in capsys.readouterr().err
    assert codegym.cli.main(command) == 0
    assert f"2 patches are in {file}" in capsys.readouterr().out
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert {(row["model_name_or_path"], row["model_patch"]) for row in rows} == {("idle_agent:act", "")}


def test_rows_of_another_version_are_refused(fixes, tmp_path):
    out = tmp_path / "rows.jsonl"
    quiet(fixer(fixes), out=out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    lines[1].pop("patch")
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ValueError, match=r"of another version \(.*'patch'\)"):
        quiet(fixer(fixes), out=out)


def test_infra_errors_are_excluded_and_run_again(fixes, tmp_path):
    out = tmp_path / "rows.jsonl"
    broken = {"broken": "grade"}
    report = quiet(fixer(fixes), env_kwargs=broken, out=out)
    assert report.infra_errors == 2
    assert math.isnan(report.pass_at(1))
    quiet(fixer(fixes), env_kwargs=broken, out=out)
    assert len(out.read_text().splitlines()) == 5


def test_a_task_that_cannot_begin_is_an_infra_error_of_its_own(fixes, monkeypatch):
    begin = CodeEnv.reset

    def reset(self, *, seed=None, options=None):
        if options == {"index": 0}:
            raise SandboxError("its clone is gone")
        return begin(self, seed=seed, options=options)

    monkeypatch.setattr(CodeEnv, "reset", reset)
    report = quiet(fixer(fixes))
    assert [row.infra_error for row in report.rows if row.task == 0] == ["its clone is gone"]
    assert (len(report.rows), report.infra_errors) == (2, 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"tasks": 0}, "tasks=0"), ({"attempts": 0}, "attempts=0"), ({"split": "dev"}, "train, test")],
)
def test_bad_options(options, says):
    with pytest.raises(ValueError, match=says):
        quiet(lambda o, i: "x", **options)


def test_progress_goes_to_stderr(capsys, fixes):
    evaluate(fixer(fixes), TOY)
    out, err = capsys.readouterr()
    assert out == ""
    assert "2 of 2 episodes, 1 resolved" in err


def test_gold_agent_needs_a_solution(toy):
    with pytest.raises(AgentError, match="no reference solution"):
        evaluate(GoldAgent(toy), TOY, progress=False)


def test_gold_agent_writes_the_fixed_files():
    env = gym.make("codegym/Repair-v0", level="tiny", n_bugs=3, functions=4)
    _, info = env.reset(seed=0)
    task = env.unwrapped.task
    reply = GoldAgent(env.unwrapped.benchmark)("", info)
    assert reply == f'<write path="m.py">\n{task.meta["fixed"]["m.py"].decode()}</write>\n'


def run(capsys, *argv):
    status = codegym.cli.main(argv)
    out, err = capsys.readouterr()
    return status, out, err


def test_command_tasks_and_show(capsys):
    status, out, _ = run(capsys, "tasks", "--set", "level=tiny", "--limit", "3")
    assert status == 0
    names = [line.split("\t")[0] for line in out.splitlines()]
    assert names[:3] == ["tiny/test/f4b1/0", "tiny/test/f4b1/1", "tiny/test/f4b1/2"]
    status, out, _ = run(capsys, "show", names[0])
    assert status == 0
    assert 'Fix m.py.\n<file path="m.py">\ndef f0(' in out
    assert "<submit/>" not in out
    assert ">>> from m import" in out


def test_command_evaluate(capsys, tmp_path, monkeypatch):
    (tmp_path / "my_agent.py").write_text("def act(observation, info):\n    return '<submit/>'\n")
    monkeypatch.chdir(tmp_path)
    argv = ("evaluate", "--env", TOY, "--quiet", "--agent", "my_agent:act", "--set", "max_turns=2")
    status, out, err = run(capsys, *argv)
    assert (status, err) == (0, "")
    assert "2 tasks, 2 episodes" in out
    assert "pass@1" in out


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("show", "nope"), "ids look like"),
        (("tasks", "--set", "levl=tiny"), "did you mean 'level'"),
        (("tasks", "--set", "level"), "NAME=VALUE"),
        (("tasks", "--split", "dev", "--set", "level=tiny"), "train, test"),
        (("tasks", "--env", "codegym/Repear-v0"), "Repair"),
        (("tasks", "--limit", "-1"), "limit=-1: needs 0 or more"),
        (("tasks", "--set", "split=train"), "write --split train"),
        (("tasks", "--set", "max_turns=abc"), "max_turns='abc': needs a whole number"),
        (("tasks", "--set", "instructions=no"), "instructions='no': needs True or False"),
        (("tasks", "--set", "invalid_penalty=x"), "invalid_penalty='x': needs a number"),
        (("tasks", "--env", "CartPole-v1"), "unexpected keyword argument"),
        (("evaluate", "--agent", "act"), "module:callable"),
        (("evaluate", "--agent", "nowhere:act"), "nowhere"),
        (("evaluate", "--agent", "math:pi"), "no callable 'pi'"),
    ],
)
def test_command_errors_are_one_line(capsys, argv, says):
    status, out, err = run(capsys, *argv)
    assert (status, out) == (2, "")
    assert says in err
    assert err.startswith("codegym: ")
    assert err.count("\n") == 1


def test_the_current_folder_is_searched_for_environments(tmp_path):
    (tmp_path / "mine.py").write_text(
        'import codegym\ncodegym.register_environment("mine/Tiny-v0", benchmark="repair", level="tiny")\n'
    )
    argv = [sys.executable, "-P", "-c", "import sys; from codegym.cli import main; sys.exit(main())"]
    argv += ["tasks", "--env", "mine:mine/Tiny-v0", "--limit", "1"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tiny/test/" in done.stdout


def test_an_interrupt_is_one_line(capsys, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("codegym.cli.evaluate", interrupted)
    status, out, err = run(capsys, "evaluate", "--agent", "random", "--set", "level=tiny")
    assert (status, out, err) == (130, "", "codegym: stopped\n")


def test_help_teaches(capsys):
    for argv in ("--help",), ("evaluate", "--help"):
        with pytest.raises(SystemExit) as done:
            codegym.cli.main(argv)
        assert done.value.code == 0
        assert "codegym evaluate --agent" in capsys.readouterr().out


class NoAgent:
    pass


class NoModel:
    def __init__(self):
        raise OSError("no weights here")


@pytest.mark.parametrize(
    ("agent", "error"),
    [
        (NoAgent, "a NoAgent cannot be called: give it __call__"),
        (NoAgent(), "a NoAgent cannot be called: give it __call__"),
        (NoModel, r"no NoModel\(\) could be made: OSError: no weights here"),
        (lambda observation, info: b"<submit/>", "turn 1 of task toy/.*it returned bytes, where its reply is a str"),
    ],
)
def test_what_is_no_agent_is_named(agent, error):
    with pytest.raises(AgentError, match=error):
        quiet(agent)


def test_the_command_tells_of_a_failing_agent_in_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "failing_agent.py").write_text("def act(observation, info):\n    return 1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert codegym.cli.main(["evaluate", "--agent", "failing_agent:act", "--env", TOY, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert "task toy/" in error
    assert error.endswith("ZeroDivisionError: division by zero (--debug shows where)\n")


def test_the_package_is_the_command_too():
    done = subprocess.run([sys.executable, "-m", "codegym", "--help"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0
    assert "codegym evaluate --agent" in done.stdout
