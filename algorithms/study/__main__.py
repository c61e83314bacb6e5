"""``python -m algorithms.study``: methods compared at equal rollouts; ``report`` makes tables and plots of the rows;
``repeat`` runs what made them once more and says what comes out otherwise."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from algorithms.study.plan import ALIASES, SETTINGS

PUBLISHED = Path("docs/data/study.jsonl")
MAIN = ("grpo", "oracle", "didpo", "didpo:estimator=within", "didpo:estimator=marginal")


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is missing, write the report, or repeat; returns the exit status: 1 if a repeated run came to another
    result."""
    argv = sys.argv[1:] if argv is None else list(argv)
    try:
        command = {"report": _report, "repeat": _repeat}.get(argv[0] if argv else "")
        return command(argv[1:]) if command else _run(argv)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2


def _run(argv: Sequence[str]) -> int:
    from algorithms.study.runs import study

    parser = argparse.ArgumentParser(
        prog="python -m algorithms.study",
        description=(__doc__ or "").split(";")[0] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="\n".join(
            [
                "settings:",
                *(f"  {name}: {setting.says}" for name, setting in SETTINGS.items()),
                "methods: any of algorithms/, with options of its own as NAME:key=value, and",
                *(f"  {name} = {meaning}" for name, meaning in ALIASES.items()),
                "A run that is in the rows is not run again; one that was interrupted goes on.",
                "Afterwards: python -m algorithms.study report --help, or repeat --help",
            ]
        ),
    )
    parser.add_argument("--settings", default="flaky", help="names, separated by commas (default: flaky)")
    parser.add_argument("--methods", default=",".join(MAIN), help="names, separated by commas (default: %(default)s)")
    parser.add_argument("--seeds", default="0,1,2,3,4", help="numbers, separated by commas (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs/study"), help="the folder of all runs")
    parser.add_argument("--rows", type=Path, help="the file of rows, which grows (default: rows.jsonl in --out)")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings of every run")
    args = parser.parse_intermixed_args(argv)
    seeds = [_seed(text) for text in args.seeds.split(",")]
    rows = args.rows or args.out / "rows.jsonl"
    for row, new in study(args.settings.split(","), args.methods.split(","), seeds, args.out, rows, args.overrides):
        held_out = "  ".join(f"{key} {value:.1%}" for key, value in row["held_out"].items() if "tokens" not in key)
        done = f"{row['seconds']} s" if new else "known"
        sys.stdout.write(f"{row['setting']}  {row['method']}  seed {row['seed']}: {held_out}  ({done})\n")
        sys.stdout.flush()
    return 0


def _repeat(argv: Sequence[str]) -> int:
    from algorithms.report.curves import read_rows
    from algorithms.study.runs import repeat

    parser = argparse.ArgumentParser(
        prog="python -m algorithms.study repeat",
        description="Run what made the rows once more, and compare: the same versions on CPU give the same rows.",
        epilog="What is in --out already is compared, not run again. Status 1: something came out otherwise.",
    )
    parser.add_argument("--rows", type=Path, default=PUBLISHED, help="(default: %(default)s)")
    for what in ("settings", "methods", "seeds"):
        parser.add_argument(f"--{what}", help="only these, separated by commas (default: all)")
    parser.add_argument("--out", type=Path, default=Path("runs/repeat"), help="the folder of the new runs and rows")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="how to run, e.g. trainer.threads=1")
    args = parser.parse_intermixed_args(argv)
    rows = read_rows(args.rows)
    for what in ("settings", "methods", "seeds"):
        wanted = getattr(args, what)
        if wanted is not None:
            rows = [row for row in rows if str(row[what[:-1]]) in wanted.split(",")]
            if not rows:
                raise ValueError(f"--{what} {wanted}: {args.rows} has no such row")
    differ = 0
    for number, (row, other) in enumerate(repeat(rows, args.out, args.overrides), start=1):
        differ += bool(other)
        found = f"another {', '.join(other)}" if other else "the same"
        sys.stdout.write(f"{number}/{len(rows)}  {row['setting']}  {row['method']}  seed {row['seed']}: {found}\n")
        sys.stdout.flush()
    return 1 if differ else 0


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"--seeds: {text!r} is no whole number; write them as 0,1,2")
    return int(text)


def _report(argv: Sequence[str]) -> int:
    from algorithms.study.report import write

    parser = argparse.ArgumentParser(prog="python -m algorithms.study report", description="Tables and plots of rows.")
    parser.add_argument("--rows", type=Path, default=PUBLISHED, help="(default: %(default)s)")
    parser.add_argument(
        "--page",
        type=Path,
        default=Path("docs/study.md"),
        help="its text between the marks is replaced; the plots lie in img/ beside it (default: %(default)s)",
    )
    args = parser.parse_args(argv)
    for path in write(args.rows, args.page):
        sys.stdout.write(f"written: {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
