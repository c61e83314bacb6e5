"""The program level of the repair benchmark: real programs with 1 to 5 bugs, each task proved before it is given.

A program is a folder ``programs/<name>/`` of modules with ``visible.txt`` and ``hidden.txt``, blocks of doctest
examples under a name::

    empty:
    >>> from stack import Stack
    >>> len(Stack())
    0

``make_task`` picks mutations in independent places and runs them: the fixed program passes all tests, each bug
alone fails a hidden test, and so do all together. The same id gives the same bytes everywhere.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchmarks.base import Grade, Task, Test, Workspace
from benchmarks.grading.examples import ExampleGrader, parse
from benchmarks.repair import mutations
from benchmarks.repair.mutations import Site
from sandbox.base import SandboxError

PROGRAMS = Path(__file__).parent / "programs"
SPLITS = ("train", "test")
MAX_BUGS = 5
TESTS_FILE = "tests.txt"
_ID = re.compile(r"program/(train|test)/([a-z0-9_]+)/b([1-5])/(\d+)")


class CannotCarry(ValueError):  # noqa: N818 - a fact about the program; nothing broke
    """A program has no set of so many independent bugs that its hidden tests detect."""


@dataclass(frozen=True)
class TaskId:
    """What a task id says. ``str`` gives the id back."""

    split: str
    name: str
    n_bugs: int
    seed: int

    def __str__(self) -> str:
        return f"program/{self.split}/{self.name}/b{self.n_bugs}/{self.seed}"


def parse_id(task_id: str) -> TaskId:
    """Read a task id. Raises KeyError with a message that says what ids look like."""
    match = _ID.fullmatch(task_id)
    if match is None or split_of(match[2]) != match[1]:
        raise KeyError(
            f"{task_id!r} is no program task; ids look like program/{split_of('stack')}/stack/b2/7 "
            "(its split, the program, 2 bugs of 1 to 5, seed 7)"
        )
    return TaskId(match[1], match[2], int(match[3]), int(match[4]))


def split_of(name: str) -> str:
    """The split of a program, by a hash of its name: a quarter of the names is for tests, whoever joins later."""
    return "test" if hashlib.sha256(name.encode()).digest()[0] < 64 else "train"


@dataclass(frozen=True)
class Program:
    """A correct program and its tests."""

    name: str
    modules: Workspace
    visible: tuple[Test, ...]
    hidden: tuple[Test, ...]
    visible_text: bytes


def names(split: str, root: Path = PROGRAMS) -> tuple[str, ...]:
    """The programs of a split, sorted."""
    folders = sorted(path.parent.name for path in root.glob("*/hidden.txt"))
    return tuple(name for name in folders if split_of(name) == split)


@lru_cache(maxsize=256)
def load(name: str, root: Path = PROGRAMS) -> Program:
    """Read a program. Raises KeyError naming the programs there are, ValueError if its files are not as they must."""
    folder = root / name
    if not (folder / "hidden.txt").is_file():
        known = sorted(path.parent.name for path in root.glob("*/hidden.txt"))
        raise KeyError(f"no program {name!r}; there are: {', '.join(known)}")
    modules = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.py"))}
    visible_text = (folder / "visible.txt").read_bytes()
    hidden = read_tests((folder / "hidden.txt").read_text("utf-8"), f"{name}/hidden.txt")
    return Program(name, modules, read_tests(visible_text.decode(), f"{name}/visible.txt"), hidden, visible_text)


def read_tests(text: str, where: str) -> tuple[Test, ...]:
    """The tests of a file: blocks separated by blank lines, each a line ``name:`` and doctest examples."""
    if not text.strip():
        raise ValueError(f"{where}: no tests")
    tests: dict[str, Test] = {}
    for block in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")):
        head, _, body = block.partition("\n")
        name = head.strip().removesuffix(":")
        if not head.strip().endswith(":") or head.startswith(">>>") or not name:
            raise ValueError(f"{where}: a block starts with {head!r}, not with a line 'name:'")
        if name in tests:
            raise ValueError(f"{where}: two blocks are named {name!r}")
        tests[name] = Test(name, body + "\n")
        parse(tests[name])  # refuses a test that cannot fail
    return tuple(tests.values())


def make_task(program: Program, n_bugs: int, seed: int, *, grader: ExampleGrader) -> Task:
    """The task with these bugs, proved.

    Raises:
        ValueError: ``n_bugs`` is not 1..5, or the program fails its own tests.
        CannotCarry: it has not so many independent, detected bugs.
        SandboxError: the machine failed while proving.
    """
    if not 1 <= n_bugs <= MAX_BUGS:
        raise ValueError(f"n_bugs={n_bugs}: needs 1 to {MAX_BUGS}")
    for tests in (program.visible, program.hidden):
        grade = _proof(grader, tests, program.modules)
        if not grade.resolved:
            raise ValueError(f"program {program.name!r} fails its own tests: {dict(grade.details)}")
    task_id = TaskId(split_of(program.name), program.name, n_bugs, seed)
    bugs = _pick(program, n_bugs, _generator(str(task_id)), grader)
    broken = _with(program, bugs)
    return Task(
        id=str(task_id),
        benchmark="repair",
        prompt=_prompt(program, n_bugs),
        language="python",
        workspace={**broken, TESTS_FILE: program.visible_text},
        visible=program.visible,
        hidden=program.hidden,
        protected=(TESTS_FILE,),
        meta={
            "level": "program",
            "fixed": dict(program.modules),
            "bugs": tuple(_describe(bugs, place) for place in range(n_bugs)),
        },
    )


def _prompt(program: Program, n_bugs: int) -> str:
    bugs, them = ("a bug", "it") if n_bugs == 1 else (f"{n_bugs} bugs in different places", "them")
    return (
        f"The Python program in {', '.join(program.modules)} has {bugs}. Find and fix {them}. "
        f"{TESTS_FILE} holds examples of what is right: `python -m doctest {TESTS_FILE}` runs them. "
        "Other tests, which you do not see, decide."
    )


Bug = tuple[str, Site]  # in which module, what


def _pick(program: Program, n_bugs: int, rng: random.Random, grader: ExampleGrader) -> list[Bug]:
    """Go through the shuffled candidates and keep what the proof allows: new functions first, then any place."""
    order = list(_shuffled(_candidates(program), rng))
    chosen: list[Bug] = []
    for new_functions_only in (True, False):
        for bug in order:
            if len(chosen) == n_bugs:
                break
            used = {(path, site.scope) for path, site in chosen}
            if new_functions_only and (bug[0], bug[1].scope) in used:
                continue
            if all(_apart(bug, other) for other in chosen) and _proved(program, [*chosen, bug], grader):
                chosen.append(bug)
    if len(chosen) < n_bugs:
        raise CannotCarry(f"program {program.name!r} carries {len(chosen)} independent bugs, not {n_bugs}")
    return sorted(chosen, key=lambda bug: (bug[0], bug[1].start))


def _proved(program: Program, bugs: Sequence[Bug], grader: ExampleGrader) -> bool:
    """The last bug alone, and all together, fail a hidden test, and none by running out of time or dying.

    What hangs or dies is refused because the verdict must be the same on every machine, and quick.
    """
    for some in ([bugs[-1]], bugs):
        files = _with(program, some)
        if not mutations.compiles(files[bugs[-1][0]]):
            return False
        statuses = set(_proof(grader, program.hidden, files).tests.values())
        if "failed" not in statuses or statuses - {"passed", "failed"}:
            return False
    return True


def _proof(grader: ExampleGrader, tests: Sequence[Test], files: Workspace) -> Grade:
    grade = grader.grade(tests, files)
    if grade.infra_error is not None:
        raise SandboxError(f"no proof: {grade.infra_error}")
    return grade


def _apart(one: Bug, other: Bug) -> bool:
    """In different modules, or with an untouched line between."""
    (first, last), (start, end) = one[1].lines, other[1].lines
    return one[0] != other[0] or last + 1 < start or end + 1 < first


def _with(program: Program, bugs: Sequence[Bug]) -> dict[str, bytes]:
    files = dict(program.modules)
    for path in {path for path, _ in bugs}:
        files[path] = mutations.apply(files[path], [site for where, site in bugs if where == path])
    return files


def _describe(bugs: Sequence[Bug], place: int) -> dict[str, Any]:
    """A bug, with its spans in the fixed and in the broken file."""
    path, site = bugs[place]
    shift = sum(len(b.new) - (b.end - b.start) for where, b in bugs if where == path and b.start < site.start)
    start = site.start + shift
    return {
        "kind": site.kind,
        "path": path,
        "function": site.scope,
        "fixed_span": (site.start, site.end),
        "broken_span": (start, start + len(site.new)),
    }


@lru_cache(maxsize=1024)
def _sites(content: bytes) -> tuple[Site, ...]:
    return mutations.sites(content)


def _candidates(program: Program) -> dict[str, list[Bug]]:
    """All bugs a program could have, by kind."""
    by_kind: dict[str, list[Bug]] = {kind: [] for kind in mutations.kinds()}
    for path, content in program.modules.items():
        for site in _sites(content):
            by_kind[site.kind].append((path, site))
    return {kind: bugs for kind, bugs in by_kind.items() if bugs}


def _shuffled(by_kind: dict[str, list[Bug]], rng: random.Random) -> Iterator[Bug]:
    """One of each kind in turn, kinds and places in random order: rare kinds come as often as common ones."""
    queues = [sorted(bugs, key=lambda _: rng.random()) for bugs in by_kind.values()]
    while queues:
        queues.sort(key=lambda _: rng.random())
        for queue in queues:
            yield queue.pop()
        queues = [queue for queue in queues if queue]


def _generator(name: str) -> random.Random:
    # Seeded and used so that Python promises the same values between versions: an int seed and random() only.
    return random.Random(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big"))
