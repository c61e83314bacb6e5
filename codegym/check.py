"""``codegym check BENCHMARK``: leave out the tasks that do not behave on this machine.

Grades every task untouched and with its reference solution, prints those that do not behave, and writes the exclusion
list that loaders honour (:mod:`benchmarks.exclusions`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import benchmarks
from benchmarks import exclusions
from benchmarks.base import Task
from benchmarks.checking import check_tasks

Options = Callable[[Sequence[str]], dict[str, Any]]


def add_parser(commands: Any, options: Options) -> None:
    """Add the command. ``options`` reads NAME=VALUE pairs."""
    shape = argparse.RawDescriptionHelpFormatter
    each = commands.add_parser(
        "check",
        formatter_class=shape,
        help="grade every task untouched and fixed; leave out those that do not behave",
        description="Grade every task untouched (must fail) and with its reference solution (must resolve), RUNS times,"
        "\nand write the list of those that do not behave. Loaders leave them out; removing the list brings them back."
        "\n\n    codegym check humaneval\n    codegym check quixbugs --set path=../data/quixbugs --runs 3",
    )
    each.add_argument("benchmark", help="a name for benchmarks.load, such as humaneval")
    each.add_argument("--split", default="test", help="the split to check (default: %(default)s)")
    each.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the benchmark")
    each.add_argument("--tasks", type=int, help="check only the first so many tasks")
    each.add_argument("--task-id", action="append", help="check only this task; repeatable")
    each.add_argument("--runs", type=int, default=1, help="gradings of each version, to find flakes (default: 1)")
    each.add_argument("--workers", type=int, default=1, help="tasks at once (default: %(default)s)")
    each.add_argument("--no-write", action="store_true", help="print only")
    each.add_argument("--debug", action="store_true", help="show the traceback of an error")
    each.set_defaults(run=lambda args: run(args, options))


def run(args: argparse.Namespace, options: Options) -> None:
    """Check, print, and write the list. What was not checked keeps its place on it."""
    if args.tasks is not None and args.tasks < 1:
        raise ValueError(f"tasks={args.tasks}: needs at least 1")
    given = options(args.set)
    if "workers" in benchmarks.base.option_names(args.benchmark):
        given.setdefault("workers", args.workers)
    with closing(benchmarks.load(args.benchmark, **given)) as bench:
        if args.task_id:
            tasks: Sequence[Task] = [bench.task(task_id) for task_id in args.task_id]
        else:
            tasks = bench.all_tasks(args.split)
            tasks = tasks[: args.tasks] if args.tasks else tasks
        excluded = exclusions.read(bench.name)
        bad = infra = 0
        for number, found in enumerate(check_tasks(bench, tasks, runs=args.runs, workers=args.workers), start=1):
            if found.infra_error is not None:
                infra += 1
                print(f"{found.task_id}: not checked, the machine failed: {found.infra_error}")
            elif found.problem is not None:
                bad += 1
                excluded[found.task_id] = found.problem
                print(f"{found.task_id}: {found.problem}")
            else:
                excluded.pop(found.task_id, None)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number} of {len(tasks)} tasks\r")
        print(
            f"{len(tasks)} tasks checked: {len(tasks) - bad - infra} behave, {bad} do not, {infra} could not be checked"
        )
        if not args.no_write:
            path = exclusions.write(bench.name, excluded)
            print(f"{len(excluded)} tasks are left out by {path}" if excluded else "no task is left out")
