"""Programs as tasks: read strictly, proved, the same everywhere."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import pytest

from benchmarks.base import Task
from benchmarks.grading.examples import ExampleGrader
from benchmarks.repair import mutations, program
from sandbox.base import SandboxError

CORPUS = [name for split in program.SPLITS for name in program.names(split)]


def bug_alone(task: Task, number: int) -> dict[str, bytes]:
    """The fixed program with one of the task's bugs, cut out of the broken one by the spans of ``meta``."""
    bug, files = task.meta["bugs"][number], dict(task.meta["fixed"])
    (start, end), (first, last) = bug["fixed_span"], bug["broken_span"]
    fixed, broken = files[bug["path"]], task.workspace[bug["path"]]
    files[bug["path"]] = fixed[:start] + broken[first:last] + fixed[end:]
    return files


def assert_proved(task: Task, grader: ExampleGrader) -> None:
    n_bugs = program.parse_id(task.id).n_bugs
    assert len(task.meta["bugs"]) == n_bugs
    assert grader.grade(task.hidden, task.meta["fixed"]).resolved
    assert grader.grade(task.visible, task.meta["fixed"]).resolved
    for files in [task.workspace, *(bug_alone(task, number) for number in range(n_bugs))]:
        grade = grader.grade(task.hidden, files)
        assert set(grade.tests.values()) <= {"passed", "failed"}
        assert not grade.resolved
        assert files != task.meta["fixed"]
    for one, other in itertools.pairwise(task.meta["bugs"]):
        if one["path"] == other["path"]:
            between = task.meta["fixed"][one["path"]][one["fixed_span"][1] : other["fixed_span"][0]]
            assert between.count(b"\n") >= 2  # no bug touches or adjoins the lines of another
    for path, content in task.workspace.items():
        if path.endswith(".py"):
            ast.parse(content)


@pytest.mark.parametrize("n_bugs", [1, 2, 3, 4, 5])
def test_tasks_of_the_corpus_are_proved(grader: ExampleGrader, n_bugs: int) -> None:
    made = [program.make_task(program.load(name), n_bugs, seed=7, grader=grader) for name in CORPUS[n_bugs::7]]
    assert len(made) >= 5
    for task in made:
        assert_proved(task, grader)
        assert task.workspace.keys() == {*task.meta["fixed"], "tests.txt"}
        assert task.protected == ("tests.txt",)


def test_every_program_passes_its_tests(grader: ExampleGrader) -> None:
    for name in CORPUS:
        loaded = program.load(name)
        for tests in (loaded.visible, loaded.hidden):
            grade = grader.grade(tests, loaded.modules)
            assert grade.resolved, (name, grade.details)
        unseen = {test.body for test in loaded.hidden} - {test.body for test in loaded.visible}
        assert len(unseen) >= 5, name


def test_bugs_go_to_different_functions_where_they_can(grader: ExampleGrader, root: Path) -> None:
    task = program.make_task(program.load("numbers", root), 3, 1, grader=grader)
    assert {bug["function"] for bug in task.meta["bugs"]} == {"above", "runs", "middle"}
    assert_proved(task, grader)


def test_same_seed_same_task_other_seed_other_task(grader: ExampleGrader, root: Path) -> None:
    loaded = program.load("jobs", root)
    tasks = [program.make_task(loaded, 2, seed, grader=grader) for seed in (0, 1, 2, 3, 0)]
    assert tasks[0] == tasks[4]
    assert len({task.workspace["jobqueue.py"] for task in tasks}) >= 3
    before = grader.jobs
    program.make_task(loaded, 2, 0, grader=grader)
    assert grader.jobs == before  # the proof is kept


def test_prompt_says_how_many_and_no_more(grader: ExampleGrader, root: Path) -> None:
    one, two = (program.make_task(program.load("jobs", root), n, 0, grader=grader) for n in (1, 2))
    assert "a bug" in one.prompt
    assert "2 bugs" in two.prompt
    for bug in two.meta["bugs"]:
        assert bug["kind"] not in two.prompt


def write(folder: Path, name: str, module: str, hidden: str, visible: str = "v:\n>>> 1\n1\n") -> program.Program:
    (folder / name).mkdir()
    for path, text in (("m.py", module), ("hidden.txt", hidden), ("visible.txt", visible)):
        (folder / name / path).write_text(text)
    return program.load(name, folder)


def test_a_program_that_cannot_carry_the_bugs(grader: ExampleGrader, tmp_path: Path) -> None:
    small = write(tmp_path, "small", "def f(a):\n    return -a\n", "t:\n>>> from m import f\n>>> f(1)\n-1\n")
    assert_proved(program.make_task(small, 1, 0, grader=grader), grader)
    with pytest.raises(program.CannotCarry, match="'small' carries 1 independent bugs, not 2"):
        program.make_task(small, 2, 0, grader=grader)
    untested = write(tmp_path, "untested", "def f(a):\n    return -a\n", "t:\n>>> from m import f\n>>> f(0)\n0\n")
    task = program.make_task(untested, 1, 0, grader=grader)  # only what returns nothing is seen by f(0)
    assert task.meta["bugs"][0]["kind"] == "forgotten_return"


def test_bugs_that_hang_or_kill_are_passed_over(grader: ExampleGrader, tmp_path: Path) -> None:
    source = "def f(n):\n    while n > 0:\n        n -= 1\n    return n\n"
    loaded = write(tmp_path, "loop", source, "t:\n>>> from m import f\n>>> f(3), f(-3)\n(0, -3)\n")
    kinds = set()
    for seed in range(12):
        task = program.make_task(loaded, 1, seed, grader=grader)
        assert_proved(task, grader)
        kinds.add(task.meta["bugs"][0]["kind"])
    assert len(kinds) >= 4


def test_a_program_wrong_itself_is_refused(grader: ExampleGrader, tmp_path: Path) -> None:
    bad = write(tmp_path, "bad", "def f(): return 1\n", "t:\n>>> from m import f\n>>> f()\n2\n")
    with pytest.raises(ValueError, match=r"'bad' fails its own tests: .*f\(\) gave 1, want 2"):
        program.make_task(bad, 1, 0, grader=grader)


def test_a_broken_machine_is_no_proof(root: Path) -> None:
    def refuse(**_: object) -> None:
        raise SandboxError("no namespaces")

    with pytest.raises(SandboxError, match="no proof: no namespaces"):
        program.make_task(program.load("jobs", root), 1, 0, grader=ExampleGrader(open_runner=refuse))


@pytest.mark.parametrize("n_bugs", [0, 6])
def test_number_of_bugs(grader: ExampleGrader, root: Path, n_bugs: int) -> None:
    with pytest.raises(ValueError, match="needs 1 to 5"):
        program.make_task(program.load("jobs", root), n_bugs, 0, grader=grader)


def test_blocks() -> None:
    text = "\na:\n>>> 1\n1\n\n\n  \nb c:\n>>> x = 2\n>>> x\n2\n"
    assert [(test.id, test.body) for test in program.read_tests(text, "x")] == [
        ("a", ">>> 1\n1\n"),
        ("b c", ">>> x = 2\n>>> x\n2\n"),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no tests"),
        (">>> 1\n1\n", "not with a line 'name:'"),
        ("a:\n>>> 1\n1\n\n>>> 2\n2\n", "not with a line 'name:'"),
        ("a:\n>>> 1\n1\n\na:\n>>> 2\n2\n", "two blocks are named 'a'"),
        ("a:\n>>> f()\n", "no example with an expected value"),
    ],
)
def test_blocks_that_are_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        program.read_tests(text, "x")


def test_splits_are_disjoint_and_about_three_to_one() -> None:
    train, test = (set(program.names(split)) for split in program.SPLITS)
    assert train
    assert test
    assert not train & test
    drawn = [program.split_of(f"name{i}") for i in range(4000)]
    assert 0.22 < drawn.count("test") / len(drawn) < 0.28


def test_ids() -> None:
    which = program.TaskId("train", "stack", 2, 7)
    assert program.parse_id(str(which)) == which
    split = program.split_of("trie")
    other = {"train": "test", "test": "train"}[split]
    for bad in (
        "",
        "program/train/stack/b2",
        "program/train/stack/b6/7",
        f"program/{other}/trie/b1/0",
        "program/x/y/b1/0",
    ):
        with pytest.raises(KeyError, match="ids look like program/train/stack/b2/7"):
            program.parse_id(bad)
    with pytest.raises(KeyError, match=r"no program 'nowhere'; there are: .*trie"):
        program.load("nowhere")


def test_spans_of_several_bugs_in_one_file(grader: ExampleGrader, root: Path) -> None:
    """Undoing every bug by its span in the broken file gives the fixed file."""
    task = program.make_task(program.load("numbers", root), 3, 5, grader=grader)
    content, fixed = task.workspace["report.py"], task.meta["fixed"]["report.py"]
    for bug in reversed(task.meta["bugs"]):
        (start, end), (first, last) = bug["broken_span"], bug["fixed_span"]
        content = content[:start] + fixed[first:last] + content[end:]
    assert content == fixed
    assert {bug["kind"] for bug in task.meta["bugs"]} <= set(mutations.kinds())
