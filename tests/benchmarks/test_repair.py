"""The repair benchmark as its users see it."""

from __future__ import annotations

import hashlib
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import benchmarks
from benchmarks.base import Task
from benchmarks.repair import LENGTH, Repair, program
from benchmarks.repair.tiny import calls_another


@pytest.fixture(scope="module")
def bench() -> Iterator[Repair]:
    with closing(Repair(level="program", n_bugs="1-3", workers=2)) as made:
        yield made


@pytest.fixture(scope="module")
def tiny() -> Iterator[Repair]:
    with closing(Repair(level="tiny", n_bugs=2, workers=2)) as made:
        yield made


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("level", ["bench", "tiny"])
def test_broken_fails_and_fixed_passes(level: str, split: str, request: pytest.FixtureRequest) -> None:
    made: Repair = request.getfixturevalue(level)
    tasks = made.tasks(split)
    for task in tasks[10:13]:
        assert (task.benchmark, task.language) == ("repair", "python")
        assert f"/{split}/" in task.id
        before, after = made.grade(task, task.workspace), made.grade(task, {**task.workspace, **gold(task)})
        assert (before.resolved, before.infra_error) == (False, None)
        assert (after.resolved, after.score, after.details) == (True, 1.0, {})
        assert made.check(task, gold(task)).resolved
        assert before.tests.keys() == {test.id for test in task.hidden}


def gold(task: Task) -> dict[str, bytes]:
    return dict(task.meta["fixed"])


def test_check_speaks_of_visible_tests_and_restores_them(bench: Repair) -> None:
    task = next(task for task in bench.tasks("train")[:9] if not bench.check(task, task.workspace).resolved)
    grade = bench.check(task, {**task.workspace, "tests.txt": b"all:\n>>> 1\n1\n"})
    assert grade == bench.check(task, task.workspace)
    assert set(grade.tests) == {test.id for test in task.visible}
    assert grade.details
    for line in grade.details.values():
        assert len(line) <= 160


def test_tasks_are_lazy_endless_and_indexed(bench: Repair) -> None:
    tasks = bench.tasks("train")
    assert len(tasks) == LENGTH
    assert tasks[3] is tasks[3] is bench.task(tasks[3].id)
    assert tasks[-1].id != tasks[0].id
    assert [task.id for task in tasks[2:4]] == [tasks[2].id, tasks[3].id]
    with pytest.raises(IndexError):
        tasks[LENGTH]
    names = program.names("train")
    ids = [program.parse_id(tasks[index].id) for index in (0, 1, len(names) - 1, len(names))]
    assert [(each.name, each.seed) for each in ids] == [(names[0], 0), (names[1], 0), (names[-1], 0), (names[0], 1)]


def test_splits_share_no_program(bench: Repair) -> None:
    train, test = ({program.parse_id(task.id).name for task in bench.tasks(split)[:6]} for split in ("train", "test"))
    assert not train & test


def test_another_seed_gives_other_tasks() -> None:
    first, second = (Repair(level="tiny", n_bugs="1-3", seed=seed).tasks("train")[:4] for seed in (0, 1))
    assert not {task.id for task in first} & {task.id for task in second}
    assert not {task.workspace["m.py"] for task in first} & {task.workspace["m.py"] for task in second}


def test_options_of_the_tiny_level() -> None:
    task = Repair(level="tiny", n_bugs=3, functions=6).tasks("test")[5]
    assert task.id == "tiny/test/f6b3/5"
    drawn = {task.id.split("/")[2] for task in Repair(level="tiny", n_bugs="1-3").tasks("train")[:20]}
    assert drawn == {"f4b1", "f4b2", "f4b3"}


_DIGESTS = """
import hashlib, pickle, sys, benchmarks
bench = benchmarks.load("repair")
for task_id in sys.argv[1:]:
    task = bench.task(task_id)
    print(hashlib.sha256(repr(task).encode()).hexdigest())
bench.close()
"""


def test_an_id_gives_the_same_bytes_in_another_process(bench: Repair, tiny: Repair) -> None:
    tasks = [*bench.tasks("train")[4:6], *tiny.tasks("test")[4:6]]
    here = [hashlib.sha256(repr(task).encode()).hexdigest() for task in tasks]
    command = [sys.executable, "-c", _DIGESTS, *(task.id for task in tasks)]
    there = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": "77"}, capture_output=True, text=True, timeout=120, check=True
    )
    assert there.stdout.split() == here


def test_tasks_travel_between_processes(bench: Repair, tiny: Repair) -> None:
    for task in (bench.tasks("train")[0], tiny.tasks("train")[0]):
        assert pickle.loads(pickle.dumps(task)) == task


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"level": "huge"}, "there are: tiny, program"),
        ({"n_bugs": 0}, 'a range like "1-3", from 1 to 5'),
        ({"n_bugs": "3-1"}, 'a range like "1-3"'),
        ({"n_bugs": "2-6"}, "from 1 to 5"),
        ({"n_bugs": "many"}, "needs a number"),
        ({"level": "tiny", "n_bugs": 5}, "from 1 to 4"),
        ({"functions": 3}, 'level="tiny" only'),
        ({"seed": -1}, "needs 0 or more"),
        ({"workers": 0}, "needs at least 1"),
        ({"seed": "x"}, "seed='x': needs a whole number"),
        ({"level": "tiny", "functions": 0}, "functions=0: needs at least 1"),
    ],
)
def test_options_that_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        benchmarks.load("repair", **options)


def test_unknown_options_splits_ids_and_benchmarks() -> None:
    with pytest.raises(TypeError, match="bugs"):
        benchmarks.load("repair", bugs=2)
    with pytest.raises(KeyError, match=r"there are: .*repair"):
        benchmarks.load("repairs")
    bench = benchmarks.load("repair")
    with pytest.raises(ValueError, match="there are: train, test"):
        bench.tasks("valid")
    with pytest.raises(KeyError, match="ids look like tiny/train/f4b3/7 or program/train/NAME/b2/7"):
        bench.task("nothing")
    with pytest.raises(KeyError, match="ids look like tiny/"):
        bench.task("tiny/train/f4b9/0")
    with pytest.raises(KeyError, match="ids look like program/"):
        bench.task("program/train/trie")
    split = program.split_of("unheard_of")
    with pytest.raises(KeyError, match=r"no program 'unheard_of'; there are: .*trie"):
        bench.task(f"program/{split}/unheard_of/b1/0")


def test_a_program_that_cannot_carry_is_skipped_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, bench: Repair
) -> None:
    first, second, *_ = program.names("train")
    real = program.make_task

    def make_task(loaded: program.Program, *args: object, **options: object) -> Task:
        if loaded.name == first:
            raise program.CannotCarry(f"program {first!r} carries 0 independent bugs, not 1")
        return real(loaded, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(program, "make_task", make_task)
    with closing(Repair(seed=5)) as made:
        assert program.parse_id(made.tasks("train")[0].id).name == second
    assert f"program '{first}' carries 0" in caplog.text


def test_close_twice_and_grade_again(tiny: Repair) -> None:
    made = Repair(level="tiny")
    task = made.tasks("train")[0]
    assert made.grade(task, gold(task)).resolved
    made.close()
    made.close()
    assert not made.grade(task, task.workspace).resolved
    made.close()


def test_importing_is_cheap() -> None:
    heavy = "('benchmarks.grading', 'benchmarks.repair.', 'sandbox.namespaces', 'tree_sitter', 'numpy')"
    code = f"import sys, benchmarks; print([m for m in sys.modules if m.startswith({heavy})])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_the_page_about_it_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "repair.md").read_text("utf-8")
    code = re.search(r"^```python\n(.*?)^```$", page, re.S | re.M)
    example = re.search(r"^```\n(.*?)^```$", page[page.index("## Adding") :], re.S | re.M)
    assert code is not None
    assert example is not None
    exec(code[1], {})
    assert capsys.readouterr().out.splitlines()[2:] == ["False", "True"]
    assert [test.id for test in program.read_tests(example[1], "the page")] == ["empty", "pop_of_empty"]


def test_forgotten_verdicts_are_found_again(bench: Repair) -> None:
    task = bench.tasks("train")[0]
    before = bench.grade(task, task.workspace)
    jobs = bench._examples().jobs
    assert bench.grade(task, task.workspace) == before
    assert bench._examples().jobs == jobs
    bench.forget()
    assert bench.grade(task, task.workspace) == before
    assert bench._examples().jobs == jobs + 1


def test_dependent_files_hold_a_call_and_the_others_sometimes_do() -> None:
    with closing(Repair(level="tiny", n_bugs=2, dependent=True)) as made:
        tasks = made.tasks("test")[:30]
    with closing(Repair(level="tiny", n_bugs=2)) as plain:
        mixed = [calls_another(task) for task in plain.tasks("test")[:30]]
        assert plain.task(tasks[3].id) == tasks[3], "an id is enough, whatever the options"
    assert all(map(calls_another, tasks))
    assert len({task.id for task in tasks}) > 27
    assert 0 < sum(mixed) < 20
    for task in tasks:
        assert re.search(rb"\bf[0-3]\(", gold(task)["m.py"].replace(b"def f", b"def ")) is not None
    for options in ({"level": "program"}, {"level": "tiny", "functions": 1}):
        with pytest.raises(ValueError, match="dependent=True"):
            Repair(dependent=True, **options)
