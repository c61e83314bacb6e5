"""``python -m algorithms.credit_bench``: whose credit is right? Writes two tables, their figures and a plot."""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import benchmarks
from algorithms.credit_bench import bench, quixbugs, report, truth
from algorithms.credit_bench.policies import STRENGTHS, from_checkpoint
from algorithms.credit_bench.policies import replies as scripted
from benchmarks.data import MissingData

POLICIES = (*STRENGTHS, "quixbugs")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m algorithms.credit_bench", description=__doc__)
    parser.add_argument("--tasks", type=int, default=16, help="tasks per policy")
    parser.add_argument("--replies", type=int, default=128, help="trajectories per task, cut into groups")
    parser.add_argument("--sizes", default="4,8,16,32,64", help="group sizes, separated by commas")
    parser.add_argument("--bugs", type=int, default=4, help="bugs per task")
    parser.add_argument("--functions", type=int, default=5, help="functions per task")
    parser.add_argument("--methods", default="", help="names from the table, separated by ';' (default: all)")
    parser.add_argument(
        "--policies",
        default=",".join(POLICIES),
        help="whose replies, separated by commas (default: %(default)s); --checkpoint adds its own",
    )
    parser.add_argument(
        "--quixbugs", help="the QuixBugs repository (default: ~/.cache/codegym/quixbugs, if it is there)"
    )
    parser.add_argument("--checkpoint", default="", help="a trained model whose replies are used too")
    parser.add_argument("--gradient-groups", type=int, default=400, help="of each size, on the enumerable policy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/credit"))
    args = parser.parse_args(argv)
    try:
        sizes, methods, policies = _chosen(args)
        rows: list[bench.Row] = []
        with contextlib.closing(
            benchmarks.load("repair", level="tiny", n_bugs=args.bugs, functions=args.functions)
        ) as tasks:
            judge = truth.hidden_judge(tasks)
            for policy in (policy for policy in policies if policy != "quixbugs"):
                replies = functools.partial(scripted, policy=STRENGTHS[policy], count=args.replies, seed=args.seed)
                _say(policy)
                cases = list(bench.scripted_cases(tasks.tasks("train")[: args.tasks], judge, replies))
                rows += bench.rows(cases, policy, sizes, methods, judge)
            if args.checkpoint:
                _say("the checkpoint")
                env = [f"env.kwargs.n_bugs={args.bugs}", f"env.kwargs.functions={args.functions}"]
                cases = []
                for group in from_checkpoint(args.checkpoint, args.tasks, args.replies, env):
                    truth.score(judge, group)
                    cases.append(truth.case(judge, group))
                rows += bench.rows(cases, "checkpoint", sizes, methods, judge)
        if "quixbugs" in policies:
            _say("quixbugs")
            rows += _quixbugs(args, sizes, methods)
        _say("the gradient")
        gradients = list(bench.gradients(methods, sizes, args.gradient_groups))
    except ValueError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    names = dict.fromkeys(row.policy for row in rows)
    text = "\n".join(f"### {name}\n\n{report.table(rows, gradients, name)}" for name in names)
    complete = "\n".join(f"### {name}, all figures\n\n{report.complete(rows, name)}" for name in names)
    complete += f"\n### the gradient, all figures\n\n{report.gradient_table(gradients)}"
    (args.out / "credit.md").write_text(text)
    (args.out / "complete.md").write_text(complete)
    data = {
        "settings": vars(args) | {"out": str(args.out)},
        "rows": [asdict(row) for row in rows],
        "gradients": [asdict(one) for one in gradients],
    }
    (args.out / "credit.json").write_text(json.dumps(data, indent=1) + "\n")
    report.plot(rows, args.out / "credit.svg")
    sys.stdout.write(f"{complete}\n{text}\nwritten: {args.out}/credit.md, complete.md, credit.json, credit.svg\n")
    return 0


def _chosen(args: argparse.Namespace) -> tuple[list[int], list[str], list[str]]:
    """Sizes, methods and policies. Raises ValueError for what would be found wrong only after minutes of work."""
    try:
        sizes = [int(size) for size in args.sizes.split(",")]
    except ValueError:
        raise ValueError(f"--sizes: {args.sizes!r} is no list of whole numbers; write them as 4,8,16") from None
    for size in sizes:
        if not 2 <= size <= args.replies:
            raise ValueError(f"--sizes: a group has from 2 to --replies={args.replies} members, not {size}")
    for name in ("tasks", "gradient_groups"):
        if getattr(args, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')}={getattr(args, name)} must be at least 1")
    methods = args.methods.split(";") if args.methods else list(bench.METHODS)
    for method in methods:
        bench.make(method)  # refuses an unknown one
    policies = args.policies.split(",") if args.policies else []
    for policy in policies:
        if policy not in POLICIES:
            raise ValueError(f"--policies: there is no {policy!r}; there are: {', '.join(POLICIES)}")
    if not policies and not args.checkpoint:
        raise ValueError("--policies: none is left; name one, or give a --checkpoint")
    return sizes, methods, policies


def _say(what: str) -> None:
    sys.stderr.write(f"measuring {what}\n")
    sys.stderr.flush()


def _quixbugs(args: argparse.Namespace, sizes: Sequence[int], methods: Sequence[str]) -> list[bench.Row]:
    """The figures on QuixBugs; none, and a line that says why, without its data."""
    with contextlib.closing(benchmarks.load("quixbugs", path=args.quixbugs)) as programs:
        try:
            tasks = quixbugs.tasks(programs, args.tasks)
        except MissingData as missing:
            sys.stderr.write(f"quixbugs is left out: {missing}\n")
            return []
        judge = truth.hidden_judge(programs, comments=True)
        replies = functools.partial(quixbugs.replies, count=args.replies, seed=args.seed)
        cases = list(bench.scripted_cases(tasks, judge, replies, by_symbol=False))
        return list(bench.rows(cases, "quixbugs", sizes, methods, judge))


if __name__ == "__main__":
    sys.exit(main())
