"""``codegym prepare``: get ahead of time what grading needs: a SWE-bench data set's clones and environments, its
images, or what a language's tool chain keeps (``codegym prepare rust``).

What is done is kept, so an interrupted run goes on where it stopped: environments and images are complete or absent,
and clones are looked at, not made again.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import benchmarks
from benchmarks.toolchains import LANGUAGES, toolchain
from codegym.verify import tell
from sandbox.base import SandboxError

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
    common.add_argument("--pip", help="more arguments of pip install, in one text")
    common.add_argument("--timeout", type=float, help="seconds for the tests of one instance (default: 1800)")
    common.add_argument("--image", help="names of the images, such as me/{instance_id}:latest")
    mode = common.add_mutually_exclusive_group()
    mode.add_argument("--mode", choices=("native", "docker"), help="virtual environments, or the instances' images")
    for name in ("native", "docker"):
        mode.add_argument(f"--{name}", action="store_const", const=name, dest="mode", help=f"--mode {name}")
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")

    each = commands.add_parser(
        "prepare",
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        help="get a SWE-bench data set's environments or images ahead, or what a language's tool chain keeps",
        description="Build a data set's environments, pull its images (one that is here is used as it is), or build\n"
        f"what a tool chain keeps ({', '.join(LANGUAGES)}).\n\n"
        "    codegym prepare SWE-Lite --native --rows lite.jsonl --repositories clones\n"
        "    codegym prepare SWE-Multilingual --docker -i ID",
    )
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
    names = ("rows", "repositories", "cache", "recipes", "pip", "timeout", "mode", "image")
    options = {name: value for name in names if (value := getattr(args, name)) is not None}
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
    if args.mode is None:
        raise ValueError("say --native to build virtual environments, or --docker to pull images")
    bench = make_bench(args)
    names = args.instance or list(bench.rows(args.split))
    if (prepare if bench.mode == "native" else prepare_images)(bench, names, tell):
        raise SystemExit(1)


def prepare_images(bench: SWEBench, names: Iterable[str], tell: Callable[[str], None]) -> dict[str, str]:
    """Make instances ready for Docker: pull the images that are not here, and make the layer that runs. Returns why
    others are not, by id."""
    from benchmarks.swebench import images

    failed: dict[str, str] = {}
    sizes: dict[str, int] = {}
    names = list(names)
    for number, name in enumerate(names, start=1):
        began, row = time.monotonic(), bench.row(name)
        head = f"{number}/{len(names)} {name}"
        image = bench.image(row)
        try:
            bench.recipe(row)
            pulled = images.pull(image, functools.partial(_bar, head))
            bench.environment(row)
        except SandboxError as error:
            failed[name] = str(error)
            tell(f"{head}  {error}")
            continue
        if image not in sizes:
            sizes[image] = images.size(image)
            what = "pulled" if pulled else "here"
            tell(f"{head}  {image}: {what}, {sizes[image] >> 20} MiB, {time.monotonic() - began:.0f} s")
    disk = sum(sizes.values()) >> 20
    tell(f"{len(names) - len(failed)} of {len(names)} ready, {len(sizes)} images, {disk} MiB less what they share")
    return failed


def _bar(head: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{head}  {done >> 20} of {total >> 20} MiB\r")


def prepare(bench: SWEBench, names: Iterable[str], tell: Callable[[str], None]) -> dict[str, str]:
    """Make instances ready: find their commits, build their environments. Returns why others are not, by id."""
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
        except SandboxError as error:
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
