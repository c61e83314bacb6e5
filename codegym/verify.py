"""``codegym verify``: does a SWE-bench instance behave on this machine, and what do predictions resolve?

An instance behaves when, untouched, it is not resolved and none of its fail-to-pass tests passes, and its reference
solution resolves it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.base import reference
from sandbox.base import SandboxError

if TYPE_CHECKING:
    from benchmarks.swebench.benchmark import SWEBench


@dataclass(frozen=True)
class Verified:
    """One instance: how many listed tests passed untouched and with the reference solution, and the verdict.

    ``problem`` is "" for an instance that behaves.
    """

    instance_id: str
    untouched: tuple[int, int]  # fail-to-pass tests that pass, of how many
    gold: tuple[int, int]  # listed tests that are as they must be, of how many
    seconds: float
    problem: str = ""

    def line(self) -> str:
        verdict = "behaves" if not self.problem else self.problem
        before, after = ("/".join(map(str, pair)) for pair in (self.untouched, self.gold))
        return f"{self.instance_id:32} {before:>9} {after:>9} {self.seconds:7.1f}  {verdict}"


HEAD = f"{'instance':32} {'untouched':>9} {'gold':>9} {'seconds':>7}  verdict"


def verify(bench: SWEBench, instance_id: str) -> Verified:
    """Grade an instance untouched and with its reference solution. Raises KeyError for an unknown id."""
    began = time.monotonic()
    task = bench.task(instance_id)
    asked = [test.id for test in task.hidden if test.body == "fail to pass"]

    def result(untouched: int, gold: int, problem: str) -> Verified:
        seconds = time.monotonic() - began
        return Verified(instance_id, (untouched, len(asked)), (gold, len(task.hidden)), seconds, problem)

    try:
        before = bench.grade(task, task.workspace)
        if before.infra_error is not None:
            return result(0, 0, before.infra_error)
        early = [name for name in asked if before.tests[name] == "passed"]
        after = bench.grade(task, reference(task) or {})
    except SandboxError as error:
        return result(0, 0, str(error))
    good = sum(status == "passed" for status in after.tests.values())
    if after.infra_error is not None:
        return result(len(early), good, after.infra_error)
    if early:
        return result(len(early), good, f"passes untouched: {early[0]}")
    if before.resolved:  # of rows that name no fail-to-pass test
        return result(0, good, "is resolved untouched")
    if not after.resolved:
        return result(0, good, f"the reference solution fails: {next(iter(after.details.values()), '')}")
    return result(0, good, "")


def verify_all(bench: SWEBench, ids: Sequence[str], tell: Callable[[str], None]) -> Iterator[Verified]:
    """Verify instances one after another, telling each line."""
    tell(HEAD)
    for name in ids:
        found = verify(bench, name)
        tell(found.line())
        yield found


def run(args: argparse.Namespace) -> None:
    """The command. An instance that does not behave makes the exit status 1."""
    from codegym.prepare import make_bench

    bench = make_bench(args)
    if args.predictions:
        from benchmarks.swebench.report import evaluate_predictions

        summary = evaluate_predictions(
            bench,
            args.predictions,
            run_id=args.run_id,
            split=args.split,
            ids=args.instance,
            folder=args.out,
            tell=tell,
        )
        tell(f"{len(summary['resolved_ids'])} of {summary['submitted_instances']} resolved")
        return
    ids = args.instance or list(bench.rows(args.split))
    found = list(verify_all(bench, ids, tell))
    good = sum(not each.problem for each in found)
    tell(f"{good} of {len(found)} behave")
    if good < len(found):
        raise SystemExit(1)


def tell(line: str) -> None:
    """Print a line at once: what it tells of may take minutes."""
    print(line, flush=True)
