"""SWE-bench as a Benchmark: rows become tasks, workspaces become verdicts. docs/swebench.md says how it is used."""

from __future__ import annotations

import functools
import sys
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import exclusions
from benchmarks.base import Benchmark, Grade, Place, Task, Test, Workspace, changes
from benchmarks.data import home
from benchmarks.swebench import TIMEOUT_S, URL, images, r2e
from benchmarks.swebench.environments import Environment, Environments
from benchmarks.swebench.ids import LISTED, Lists, judge, without_file
from benchmarks.swebench.lazy import Files, Tasks
from benchmarks.swebench.printed import PRINTED, run_printed
from benchmarks.swebench.recipes import Recipe, recipe_for
from benchmarks.swebench.repositories import Repositories
from benchmarks.swebench.rows import Row, load_rows
from benchmarks.swebench.running import LIMITS, Run, run_tests
from benchmarks.swebench.tree import Plan, kept_back
from sandbox import SandboxError

MODES = ("native", "docker")
SPLITS = ("train", "dev", "test")
KEEP_PLANS = 2  # instances whose files stay in memory: Django's are 42 MB, and 42 more with the hidden tests
#: What can be wrong with the machine, the settings or the row, not with a solution.
MACHINE = SandboxError


class SWEBench(Benchmark):
    """One data set of SWE-bench's shape.

    Args:
        name: of the benchmark.
        rows: a data set of the hub (OWNER/NAME), or a local .json, .jsonl or .parquet file.
        repositories: a folder of clones; see :mod:`benchmarks.swebench.repositories`.
        url: what to clone from when the folder lacks a repository; None forbids it.
        cache: where clones and environments are kept; None for $CODEGYM_HOME, else ~/.cache/codegym.
        recipes: a folder of recipes of your own; see :mod:`benchmarks.swebench.recipes`.
        pip: more arguments of ``pip install``, in one text.
        mode: "native", in virtual environments of this machine, or "docker", in the instances' own images, which must
            be there (``codegym prepare --docker``).
        image: names of the images; see :func:`benchmarks.swebench.images.name_of`.
        backend: of the sandbox, when native.
        timeout: seconds for the tests of one instance.
    """

    def __init__(
        self,
        name: str,
        *,
        rows: str,
        repositories: str | None = None,
        url: str | None = URL,
        cache: str | None = None,
        recipes: str | None = None,
        pip: str = "",
        mode: str = "native",
        image: str = "",
        backend: str = "auto",
        timeout: float = TIMEOUT_S,
    ) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout={timeout}: needs more than 0 seconds")
        if mode not in MODES:
            raise ValueError(f"mode={mode!r} is unknown; there are: {', '.join(MODES)}")
        if image and mode != "docker":
            raise ValueError(f"image={image!r} has a meaning in mode='docker' only")
        self.name, self.source, self.mode = name, rows, mode
        self.cache = home() if cache is None else Path(cache).expanduser()
        self.repositories = Repositories(repositories, self.cache, url)
        self.environments = Environments(self.cache, tuple(pip.split()))
        self.recipes, self.timeout, self._image = recipes, timeout, image
        self.backend = "docker" if mode == "docker" else backend
        self.refused: dict[str, str] = {}  # instance id -> why its row cannot be judged
        self._splits: dict[str, dict[str, Row]] = {}
        self._plans: OrderedDict[str, Plan] = OrderedDict()
        self._lock = threading.RLock()

    def rows(self, split: str) -> Mapping[str, Row]:
        """The rows of a split, by instance id. A local file is every split."""
        if split not in SPLITS:
            raise ValueError(f"split={split!r} is unknown; there are: {', '.join(SPLITS)}")
        with self._lock:
            if split not in self._splits:
                self._splits[split], refused = load_rows(self.source, split)
                self.refused.update(refused)
            return self._splits[split]

    def row(self, instance_id: str) -> Row:
        """The row of an instance, in whichever loaded split it is, else in test. Raises KeyError."""
        with self._lock:
            splits: list[Mapping[str, Row]] = [*self._splits.values()] or [self.rows("test")]
            for rows in splits:
                if instance_id in rows:
                    return rows[instance_id]
        if instance_id in self.refused:
            raise KeyError(self.refused[instance_id])
        example = next(iter(splits[0]), "django__django-15790")
        raise KeyError(f"no instance {instance_id!r} in {self.source}; ids look like {example}")

    def tasks(self, split: str) -> Sequence[Task]:
        """The split's instances in the data set's order, without those on the exclusion list."""
        left_out = exclusions.read(self.name)
        return Tasks(self.task, [name for name in self.rows(split) if name not in left_out])

    def all_tasks(self, split: str) -> Sequence[Task]:
        """The split's instances, all of them."""
        return Tasks(self.task, list(self.rows(split)))

    def task(self, task_id: str) -> Task:
        """The task of an instance. Its files are read when they are first looked at."""
        row = self.row(task_id)
        base = Files(lambda: self.files(row)[0])
        return Task(
            id=row.instance_id,
            benchmark=self.name,
            prompt=_prompt(row),
            language="python",
            workspace=base,
            visible=(),
            hidden=tuple(Test(name, _must(row, name)) for name in row.ids),
            limits=LIMITS,
            meta={"fixed": Files(lambda: self._fixed(row)), "patch": row.patch, "row": row},
            place=functools.partial(self._place, row),
        )

    def grade(self, task: Task, workspace: Workspace) -> Grade:
        """The verdict of the hidden tests, by swebench's rules, on records of each test.

        What the machine lacks (clone, Python, packages) is an ``infra_error``; so is a run without any record of a
        listed test when the reference solution has none either.
        """
        row = self.row(task.id)
        try:
            run = self.run(row, workspace)
        except MACHINE as error:
            return _broken(row, str(error))
        return _broken(row, run.infra) if run.infra else to_grade(row, run)

    def check(self, task: Task, workspace: Workspace) -> Grade:
        """No verdict: SWE-bench shows no tests."""
        return Grade(False, 0.0, {})

    def run(self, row: Row, workspace: Workspace) -> Run:
        """The hidden tests on a workspace. Raises SandboxError.

        Without any record of a listed test it is the machine's failure if the reference solution has none either.
        """
        plan = self.plan(row)
        run = self._run(plan, workspace)
        if run.infra or run.tampered or any(run.status.values()) or any(self._run(plan, plan.gold).status.values()):
            return run
        return replace(run, infra=f"no test of {row.instance_id} runs here, not even on its reference solution")

    def _run(self, plan: Plan, workspace: Workspace) -> Run:
        environment = self.environment(plan.row)
        if plan.recipe.runner == PRINTED:
            return run_printed(plan, environment, workspace, timeout=self.timeout)
        return run_tests(plan, environment, workspace, timeout=self.timeout, backend=self.backend)

    def recipe(self, row: Row) -> Recipe:
        """How the row's tests are run. Raises RecipeError."""
        return recipe_for(row, self.recipes, image=self.mode == "docker")

    def environment(self, row: Row) -> Environment:
        """The row's environment, built if need be. Raises RecipeError, PythonMissing, BuildError."""
        if self.mode == "docker":
            return images.environment_of(images.prepared(self.image(row), _kept_back(row)))
        return self.environments.get(self.recipe(row))

    def image(self, row: Row) -> str:
        """The name of the row's image."""
        return images.name_of(row, self._image)

    def files(self, row: Row) -> tuple[Workspace, tuple[str, ...]]:
        """The files at the base commit, and which are executable. Raises RepositoryError."""
        with self._lock:
            if row.instance_id in self._plans:
                plan = self._plans[row.instance_id]
                return plan.base, plan.executable
        if row.reversed_patch:  # the files are there without the bug
            return self.plan(row).base, self.plan(row).executable
        return self._found(row)

    def _found(self, row: Row) -> tuple[Workspace, tuple[str, ...]]:
        if self.mode == "docker":
            # a patch that makes the bug needs the files that the agent's image lacks
            without = () if row.reversed_patch else _kept_back(row)
            return images.files_of(images.prepared(self.image(row), without))
        return self.repositories.files(row.repo, row.base_commit)

    def plan(self, row: Row) -> Plan:
        """The task's side of a grade; the last few are kept. Raises RepositoryError, RecipeError, RowPatchError."""
        with self._lock:
            if row.instance_id not in self._plans:
                base, executable = self._found(row)
                recipe = self.recipe(row)
                if row.expected:
                    made = r2e.plan_of(row, recipe, base, executable, images.prepared(self.image(row)))
                else:
                    made = Plan(row, recipe, base, executable)
                self._plans[row.instance_id] = made
                while len(self._plans) > KEEP_PLANS:
                    self._plans.popitem(last=False)
            self._plans.move_to_end(row.instance_id)
            return self._plans[row.instance_id]

    def _fixed(self, row: Row) -> dict[str, bytes | None]:
        plan = self.plan(row)
        return changes(plan.base, plan.gold)

    def _place(self, row: Row) -> Place:
        recipe, environment = self.recipe(row), self.environment(row)
        paths = ":".join(f"/box/work/{each}" if each != "." else "/box/work" for each in recipe.path)
        env = {**recipe.env, "PYTHONPATH": paths}
        if environment.folder is not None:
            own = f"{Path(sys.base_prefix).resolve()}/bin"
            env |= {"PATH": f"{environment.folder}/bin:{own}:/usr/local/bin:/usr/bin:/bin"}
            env |= {"VIRTUAL_ENV": str(environment.folder)}
        elif "/envs/" in environment.python:
            env |= {"PATH": f"{Path(environment.python).parent}:/usr/local/bin:/usr/bin:/bin"}
        return Place(
            backend=self.backend,
            image=environment.image,
            read_only=environment.shown,
            env=env,
            executable=self.files(row)[1],
            git=environment.git,
        )


def to_grade(row: Row, run: Run) -> Grade:
    """A run as a verdict: swebench's rules, and nothing for a run that was tampered with or did not end in time."""
    lists = verdict(row, run)
    results = {**lists.pass_to_pass, **lists.fail_to_pass}
    spoiled = run.tampered or ("the tests did not end in time" if run.timed_out else "")
    if spoiled and (said := [line for line in run.log.splitlines() if any(map(str.isalpha, line))]):
        spoiled += f" (last printed: {said[-1].strip()[:200]})"
    tests, details = {}, {}
    for name in dict.fromkeys((*row.ids, *results)):
        status = run.status.get(name, "ran, but is not listed")
        missing = "timeout" if run.timed_out else "error"
        tests[name] = "passed" if results[name] and not spoiled else "failed" if status else missing
        if tests[name] != "passed":
            other = f", {_must(row, name)}" if row.expected.get(name, "PASSED") != "PASSED" else ""
            details[name] = f"{name}: {spoiled or (status or 'there is no record of it') + other}"
    return Grade(lists.resolved and not spoiled, 0.0 if spoiled else lists.score, tests, details)


def verdict(row: Row, run: Run) -> Lists:
    """Which listed tests came out as they must; of R2E-Gym's, those that are not listed, too: they did not."""
    if row.expected:
        seen = {without_file(name) for name, status in run.seen.items() if status in LISTED}
        listed = {name: run.status[name] == status for name, status in row.expected.items()}
        return Lists({}, listed | dict.fromkeys(sorted(seen - set(listed)), False))
    return judge(row.fail_to_pass, row.pass_to_pass, run.status, row.eval_type)


def _must(row: Row, name: str) -> str:
    if row.expected:
        return f"must be {row.expected[name]}"
    return "fail to pass" if name in row.fail_to_pass else "pass to pass"


def _kept_back(row: Row) -> tuple[str, ...]:
    return r2e.HIDDEN if row.expected else kept_back(row)


def _broken(row: Row, reason: str) -> Grade:
    return Grade(False, 0.0, dict.fromkeys(row.ids, "error"), infra_error=reason)


def _prompt(row: Row) -> str:
    return (
        f"The workspace holds {row.repo}. Solve the issue below by changing its code; hidden tests decide. "
        f"Changes to tests and to their configuration do not count.\n\n{row.problem_statement.strip()}\n"
    )
