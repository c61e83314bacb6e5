"""From the Gymnasium id and from the command line to a verdict."""

from __future__ import annotations

import json
import shutil
import subprocess

import gymnasium
import pytest

import codegym  # noqa: F401 - registers the environments
from benchmarks.base import reference
from benchmarks.swebench.benchmark import SWEBench
from benchmarks.swebench.environments import RECORD, Environments
from benchmarks.swebench.recipes import Recipe
from benchmarks.swebench.report import read_predictions
from benchmarks.swebench.repositories import Repositories, RepositoryError
from codegym.agents import GoldAgent
from codegym.cli import main
from tests.benchmarks.swebench.conftest import BASE, FIXED, TESTS, VERSION, World, git, options, put

FOUR = "fixture__calc-4"


@pytest.mark.parametrize("name", ["Lite", "Verified", "bench", "Multilingual"])
def test_from_the_id_to_the_verdict(world: World, name: str):
    env = gymnasium.make(f"codegym/SWE-{name}-v0", **options(world))
    observation, info = env.reset(options={"task_id": FOUR})
    assert "add() subtracts." in observation
    if name != "Lite":
        env.close()
        return
    shell = "<shell>python -c 'import calc, pytest; print(calc.add(1, 2))'; git log --all --oneline | wc -l</shell>"
    observation, _, _, _, info = env.step(shell)
    assert observation.splitlines()[-2:] == ["-1", "1"], observation
    agent = GoldAgent(env.unwrapped.benchmark)
    info["turn"] = 0
    observation, reward, over, _, info = env.step(agent(observation, info))
    assert "a + b" in info["patch"]
    observation, reward, over, _, info = env.step(agent(observation, info))
    assert (reward, over, info["resolved"], info["infra_error"]) == (1.0, True, True, None)
    env.close()


def test_an_environment_is_built_once_by_pip(world: World):
    """Everything else uses one that was put there."""
    store = Environments(world.cache, ("--no-index", "--find-links", str(world.wheels)))
    recipe = Recipe("fixture/built", "pytest", "pytest", python=(VERSION,), versions=("1",), packages=("iniconfig",))
    made = store.get(recipe)
    assert made.folder is not None
    code = "import iniconfig, sys; print(iniconfig.__file__.startswith(sys.prefix))"
    assert subprocess.run([made.python, "-I", "-c", code], capture_output=True, check=True).stdout == b"True\n"
    record = made.folder / RECORD
    assert json.loads(record.read_text())["packages"] == ["iniconfig"]
    before = record.stat().st_mtime_ns
    assert (store.get(recipe), record.stat().st_mtime_ns) == (made, before)
    shutil.rmtree(made.folder)


def _arguments(world: World, command: str, *more: str) -> list[str]:
    given = ["--rows", str(world.rows), "--repositories", str(world.clones), "--offline", "--cache", str(world.cache)]
    return [command, "SWE-Lite", *given, "--recipes", str(world.recipes), *more]


def test_prepare_and_verify(world: World, bench, capsys, tmp_path):
    assert main(_arguments(world, "prepare", "--native")) == 0
    assert "3 of 3 ready, 2 environments" in capsys.readouterr().out
    assert main(_arguments(world, "verify", "-i", FOUR)) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "1 of 1 behave"
    assert out[-2].split()[:3] == [FOUR, "0/3", "4/4"]
    more = ["--predictions", "gold", "--out", str(tmp_path), "-i", "fixture__calc-u"]
    assert main(_arguments(world, "verify", *more)) == 0
    assert json.loads((tmp_path / "gold.codegym.json").read_text())["resolved_ids"] == ["fixture__calc-u"]


def test_an_evaluation_leaves_predictions_that_verify_reads(world: World, tmp_path, capsys):
    given = [f"--set={name}={value}" for name, value in options(world).items() if name != "pip"]
    where = ["--predictions", str(tmp_path / "predictions.jsonl")]
    unit = ["--task-id", "fixture__calc-u", "--env", "codegym/SWE-Lite-v0"]
    assert main(["evaluate", "--agent", "gold", *unit, *given, *where, "--model", "team/gold", "--quiet"]) == 0
    assert main(_arguments(world, "verify", *where, "--out", str(tmp_path))) == 0
    assert json.loads((tmp_path / "team__gold.codegym.json").read_text())["resolved_ids"] == ["fixture__calc-u"]


def test_what_is_wrong_on_the_command_line_is_said(world: World, capsys):
    assert main(["verify", "SWE-Wrong"]) == 2
    assert "SWE-Lite" in capsys.readouterr().err
    assert main(_arguments(world, "prepare")) == 2
    assert "say --native" in capsys.readouterr().err
    assert main(_arguments(world, "verify", "-i", "none")) == 2
    assert "ids look like" in capsys.readouterr().err


def test_instances_that_do_not_behave_are_named(world: World, tmp_path, capsys):
    rows = [json.loads(line) for line in world.rows.read_text().splitlines()][2:3]
    rows[0]["PASS_TO_PASS"] = ["test_nothing (unit.checks.Checks)"]
    (tmp_path / "rows.jsonl").write_text(json.dumps(rows[0]) + "\n")
    arguments = _arguments(world, "verify")
    arguments[arguments.index("--rows") + 1] = str(tmp_path / "rows.jsonl")
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 1
    assert "the reference solution fails: test_nothing (unit.checks.Checks)" in capsys.readouterr().out


def test_an_instance_whose_patch_makes_the_bug(world: World, tmp_path):
    """As SWE-smith has them, with the healthy repository where its rows have only an image."""
    clone = tmp_path / "fixture__calc"
    git(tmp_path, "clone", "-q", str(world.clones / "fixture__calc"), str(clone))
    row = json.loads(world.rows.read_text().splitlines()[0])
    git(clone, "checkout", "-q", row["base_commit"])
    put(clone, {**FIXED, **TESTS})
    git(clone, "commit", "-qam", "healthy")
    healthy = git(clone, "rev-parse", "HEAD").strip()
    put(clone, {"calc/core.py": BASE["calc/core.py"]})
    row |= {"patch": git(clone, "diff"), "base_commit": healthy}
    del row["test_patch"]
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    bench = SWEBench("swe-lite", **{**options(world), "rows": tmp_path / "rows.jsonl", "repositories": tmp_path})
    task = bench.task(FOUR)
    assert task.workspace["calc/core.py"].decode() == BASE["calc/core.py"]
    assert "tests/test_core.py" not in task.workspace
    untouched = bench.grade(task, task.workspace)
    assert (untouched.resolved, untouched.infra_error) == (False, None)
    assert untouched.tests["tests/test_core.py::test_mul"] == "passed"
    assert {path: data.decode() for path, data in task.meta["fixed"].items()} == FIXED
    assert bench.grade(task, reference(task) or {}).resolved
    with pytest.raises(ValueError, match="patches make the bug"):
        read_predictions("gold", bench.rows("test"))


def test_repositories(world: World, tmp_path):
    clone = world.clones / "fixture__calc"
    base = json.loads(world.rows.read_text().splitlines()[0])["base_commit"]
    url = f"file://{world.clones}/{{owner}}__{{name}}"
    cloned = Repositories(None, tmp_path, url)
    files, executable = cloned.files("fixture/calc", base)
    assert "secret.txt" not in files
    assert executable == ()
    (clone / "late.sh").write_text("#!/bin/sh\n")
    (clone / "late.sh").chmod(0o755)
    (clone / "link").symlink_to("late.sh")
    (clone / "away").symlink_to("/etc/passwd")
    (clone / ".gitattributes").write_text("README.md export-ignore\n")
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "late")
    late = git(clone, "rev-parse", "HEAD").strip()
    files, executable = cloned.files("fixture/calc", late)  # the cache's clone is brought up to date
    assert executable == ("late.sh",)
    assert files["link"] == files["late.sh"]
    assert "away" not in files
    assert "README.md" in files
    with pytest.raises(RepositoryError, match="is not in file://"):
        cloned.find("fixture/calc", "0" * 40)
    with pytest.raises(RepositoryError, match="cannot be cloned"):
        cloned.find("fixture/none", "0" * 40)
    with pytest.raises(RepositoryError, match="give repositories=FOLDER"):
        Repositories(world.clones, tmp_path / "no", None).find("fixture/none", base)


def test_check_goes_on_where_a_clone_or_a_recipe_is_missing(world: World, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path))
    unit = next(row for row in map(json.loads, world.rows.read_text().splitlines()) if row["version"] == "unit")
    rows = [
        {**unit, "instance_id": "fixture__none-1", "repo": "fixture/none"},
        {**unit, "instance_id": "fixture__calc-old", "version": "0"},
        {**unit, "instance_id": "fixture__calc-bad", "patch": unit["patch"].replace("return a - b", "return b")},
        {**unit, "instance_id": "fixture__calc-idle", "PASS_TO_PASS": ["test_nothing (unit.checks.Checks)"]},
        unit,
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {**options(world), "rows": str(tmp_path / "rows.jsonl"), "repositories": str(world.clones)}
    arguments = [f"--set={name}={value}" for name, value in given.items() if name != "pip"]
    assert main(["check", "swe-lite", *arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    assert "give repositories=FOLDER" in out[0]
    assert [line.partition(":")[0] for line in out[:4]] == [row["instance_id"] for row in rows[:4]]
    assert "has no environment for version '0'" in out[1]
    assert "a patch of its own does not apply" in out[2]
    assert "the reference fails: test_nothing (unit.checks.Checks)" in out[3]
    assert out[4] == "5 tasks checked: 1 behave, 1 do not, 3 could not be checked"
    assert list(json.loads((tmp_path / "exclude" / "swe-lite.json").read_text())) == ["fixture__calc-idle"]
    bench = SWEBench("swe-lite", **given)
    assert [task.id for task in bench.tasks("test")] == [row["instance_id"] for row in (*rows[:3], unit)]
    assert [task.id for task in bench.all_tasks("test")] == [row["instance_id"] for row in rows]
    # what was left out is looked at again
    assert main(["check", "swe-lite", *arguments, "--tasks", "4"]) == 0
    assert "4 tasks checked: 0 behave, 1 do not, 3 could not be checked" in capsys.readouterr().out
