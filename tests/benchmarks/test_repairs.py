"""QuixBugs and HumanEvalFix on the real data: what is untouched fails, what is corrected resolves."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gymnasium
import pytest

import benchmarks
import codegym  # noqa: F401 - registers the environments
from benchmarks.data import MissingData
from benchmarks.functions import FunctionBenchmark
from codegym.agents import GoldAgent
from codegym.env import CodeEnv
from codegym.evaluate import evaluate

DATA = Path(__file__).parents[2].parent / "shared" / "data"


def data(name: str) -> str:
    if not (DATA / name).is_dir():
        pytest.skip(f"the data of {name} is not at {DATA / name}: docs/benchmarks.md says how to get it")
    return str(DATA / name)


def test_quixbugs_through_the_environment() -> None:
    options = {"path": data("quixbugs"), "feedback": "tests"}
    with gymnasium.make("codegym/QuixBugs-v0", **options) as env:
        inner = env.unwrapped
        assert isinstance(inner, CodeEnv)
        ids = [task.id for task in inner.benchmark.tasks("test")]
        corrected = evaluate(
            GoldAgent(inner.benchmark), "codegym/QuixBugs-v0", tasks=ids, env_kwargs=options, progress=False, workers=2
        )
    untouched = evaluate(
        lambda observation, info: "<submit/>",
        "codegym/QuixBugs-v0",
        tasks=ids,
        env_kwargs=options,
        progress=False,
        workers=2,
    )
    assert len(ids) == 40
    assert [row.task_id for row in corrected.rows if not row.resolved] == []
    assert [row.task_id for row in untouched.rows if row.resolved] == []
    assert {row.infra_error for row in (*corrected.rows, *untouched.rows)} == {None}


@pytest.mark.parametrize("spec", ["docs"])
def test_humanevalfix(spec: str) -> None:
    bench = benchmarks.load("humanevalfix", path=data("humanevalfix"), spec=spec, workers=2)
    assert isinstance(bench, FunctionBenchmark)
    tasks = bench.tasks("test")
    with ThreadPoolExecutor(2) as pool:
        buggy = pool.map(lambda task: bench.grade(task, task.workspace), tasks)
        # hidden and visible tests in one grade: it resolves exactly if both would
        both = pool.map(lambda task: bench.verdict(task, (*task.hidden, *task.visible), task.meta["fixed"]), tasks)
        buggy, gold = list(buggy), list(both)
    bench.close()
    assert Counter(grade.resolved for grade in gold) == {True: 164}
    assert Counter(grade.resolved for grade in buggy) == {False: 164}
    assert sum(bool(task.visible) for task in tasks) == 157  # seven rows have no example tests
    assert [grade.infra_error for grade in (*gold, *buggy) if grade.infra_error] == []


def test_what_the_agent_of_humanevalfix_is_shown() -> None:
    docs, tests = (benchmarks.load("humanevalfix", path=data("humanevalfix"), spec=spec) for spec in ("docs", "tests"))
    with_docs, with_tests = docs.task("Python/0"), tests.task("Python/0")
    assert b'"""' in with_docs.workspace["solution.py"]
    assert b'"""' not in with_tests.workspace["solution.py"]
    assert "assert" in with_tests.prompt
    assert "assert" not in with_docs.prompt
    with pytest.raises(ValueError, match="docs, tests"):
        benchmarks.load("humanevalfix", spec="none")


def test_quixbugs_tests_are_the_files_cases() -> None:
    bench = benchmarks.load("quixbugs", path=data("quixbugs"))
    gcd, search = bench.task("quixbugs/gcd"), bench.task("quixbugs/breadth_first_search")
    assert [test.id for test in gcd.hidden][:2] == ["case 1", "case 2"]
    assert [test.id for test in search.hidden] == ["test1", "test2", "test3", "test4", "test5"]
    assert search.protected == ("node.py",)
    assert len(bench.task("quixbugs/levenshtein").hidden) == 6  # one is skipped by the file itself
    forged = {**search.workspace, "node.py": b"class Node:\n    __eq__ = lambda *_: True\n"}
    assert bench.grade(search, forged).tests == bench.grade(search, search.workspace).tests
    bench.close()


@pytest.mark.parametrize("name", ["quixbugs", "humanevalfix"])
def test_missing_data_says_the_command(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGYM_HOME", str(tmp_path))
    command = {"quixbugs": "git clone", "humanevalfix": "codegym fetch humanevalfix"}[name]
    with pytest.raises(MissingData, match=command):
        benchmarks.load(name).tasks("test")
