"""``codegym prepare``: build ahead of time what grading needs: a SWE-bench data set's clones and environments, or what
a language's tool chain keeps (``codegym prepare rust``).

What is done is kept, so an interrupted run goes on where it stopped: environments are complete or absent, and clones
are looked at, not made again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import benchmarks
from benchmarks.toolchains import LANGUAGES, toolchain
from codegym.verify import tell

if TYPE_CHECKING:
    from benchmarks.swebench.benchmark import SWEBench

_NAMES = {"swe-lite": "SWE-Lite", "swe-verified": "SWE-Verified", "swe-bench": "SWE-bench"}
_NAMES["swe-multilingual"] = "SWE-Multilingual"


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``prepare`` and ``verify`` to the ``codegym`` command."""
    from codegym import verify

    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("benchmark", help=f"one of {', '.join(_NAMES.values())}")
    common.add_argument("-i", "--instance", action="append", default=[], help="only this instance; repeatable")
    common.add_argument("--split", default="test", help="of a data set of the hub (default: %(default)s)")
    common.add_argument("--rows", help="a local .json, .jsonl or .parquet file, or OWNER/NAME on the hub")
    common.add_argument("--repositories", help="a folder of clones")
    common.add_argument("--offline", action="store_true", help="clone nothing")
    common.add_argument("--cache", help="where clones and environments are kept (default: ~/.cache/codegym)")
    common.add_argument("--recipes", help="a folder of recipes of your own")
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")

    each = commands.add_parser(
        "prepare",
        parents=[common],
        help="build a SWE-bench data set's environments ahead, or what a language's tool chain keeps",
        description=f"Build a data set's environments, or what a tool chain keeps: {', '.join(LANGUAGES)}.",
    )
    each.add_argument("--native", action="store_true", help="for runs without Docker (virtual environments)")
    each.set_defaults(run=run)

    each = commands.add_parser(
        "verify",
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        help="grade SWE-bench instances untouched and solved, or predictions",
        description="Say whether instances behave on this machine, or grade predictions.\n\n"
        "    codegym verify SWE-Lite --rows lite.jsonl --repositories clones -i django__django-15790\n"
        "    codegym verify SWE-Lite --predictions predictions.jsonl --run-id mine",
    )
    each.add_argument("--predictions", help="a predictions file of swebench's form, or gold; its reports are written")
    each.add_argument("--run-id", default="codegym", help="names the reports' folder (default: %(default)s)")
    each.add_argument("--out", default=".", help="where logs/ and the summary go (default: the current folder)")
    each.set_defaults(run=verify.run)


def make_bench(args: argparse.Namespace) -> SWEBench:
    """The benchmark that a command line names."""
    given = {"rows": args.rows, "repositories": args.repositories, "cache": args.cache, "recipes": args.recipes}
    options = {key: value for key, value in given.items() if value is not None}
    if args.offline:
        options["url"] = None
    name = args.benchmark.lower()
    if name not in _NAMES:
        raise ValueError(f"benchmark {args.benchmark!r}: one of {', '.join(_NAMES.values())}")
    return benchmarks.load(name, **options)  # type: ignore[return-value]


def run(args: argparse.Namespace) -> None:
    """The command. Something that could not be made ready makes the exit status 1."""
    if args.benchmark in LANGUAGES:
        tell(toolchain(args.benchmark).prepare())
        return
    if not args.native:
        raise ValueError("prepare builds virtual environments: say --native; images are pulled with `docker pull`")
    bench = make_bench(args)
    names = args.instance or list(bench.rows(args.split))
    if prepare(bench, names, tell):
        raise SystemExit(1)


def prepare(bench: SWEBench, names: Iterable[str], tell: Callable[[str], None]) -> dict[str, str]:
    """Make instances ready: find their commits, build their environments. Returns why others are not, by id."""
    from benchmarks.swebench.benchmark import MACHINE
    from benchmarks.swebench.environments import size

    failed: dict[str, str] = {}
    folders: dict[str, int] = {}
    names = list(names)
    for number, name in enumerate(names, start=1):
        began, row = time.monotonic(), bench.row(name)
        try:
            bench.repositories.find(row.repo, row.base_commit)
            folder = bench.environment(row).folder
            assert folder is not None  # the benchmark is native
        except MACHINE as error:
            failed[name] = str(error)
            tell(f"{number}/{len(names)} {name}  {error}")
            continue
        new = str(folder) not in folders
        if new:
            folders[str(folder)] = size(folder)
            tell(
                f"{number}/{len(names)} {name}  {folder.name}: {folders[str(folder)] >> 20} MiB, "
                f"{time.monotonic() - began:.0f} s"
            )
    disk = sum(folders.values()) >> 20
    tell(f"{len(names) - len(failed)} of {len(names)} ready, {len(folders)} environments, {disk} MiB in {bench.cache}")
    return failed
