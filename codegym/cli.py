"""The ``codegym`` command: evaluate an agent, list tasks, show one. ``codegym --help`` says how."""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium

from codegym import check, fetch, prepare
from codegym.agents import GoldAgent, RandomAgent
from codegym.env import CodeEnv
from codegym.evaluate import AgentError, evaluate
from sandbox.base import SandboxError, SandboxUnavailable

_HELP = """\
Coding benchmarks as multi-turn environments.

An agent is a Python callable that reads text and answers with text:

    # my_agent.py
    def act(observation, info):
        return "<submit/>"

and is evaluated by

    codegym evaluate --agent my_agent:act --tasks 50 --set level=tiny

which prints pass@1 with its 95 % interval. To see what it would read:

    codegym tasks --set level=tiny
    codegym show tiny/test/f4b1/0
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status. An error the user can mend is one line on stderr and status 2."""
    args = _parser().parse_args(argv)
    if "" not in sys.path:
        sys.path.insert(0, "")  # the console script does not look in the current folder
    try:
        args.run(args)
    except KeyboardInterrupt:
        print("codegym: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stderr.close()
    except (
        ValueError,
        LookupError,
        TypeError,
        ImportError,
        OSError,
        SandboxError,
        SandboxUnavailable,
        AgentError,
        gymnasium.error.Error,
    ) as error:
        if args.debug:
            raise
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        hint = " (--debug shows where)" if isinstance(error, AgentError) else ""
        print(f"codegym: {text}{hint}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="codegym", description=_HELP, formatter_class=shape)
    commands = parser.add_subparsers(required=True, metavar="command")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--env", default="codegym/Repair-v0", help="a Gymnasium id (default: %(default)s)")
    common.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the environment, such as level=tiny, n_bugs=2, feedback=blind, max_turns=4; repeatable",
    )
    common.add_argument("--split", default="test", help="train or test (default: %(default)s)")
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")

    each = commands.add_parser(
        "evaluate",
        parents=[common],
        formatter_class=shape,
        help="run an agent over tasks; print pass@1 and a table",
        description="Run an agent over tasks. With --out, an interrupted run goes on where it stopped.\n\n"
        "    codegym evaluate --agent random --tasks 20 --set level=tiny\n"
        "    codegym evaluate --agent my_agent:MyAgent --attempts 4 --workers 2 --out rows.jsonl",
    )
    each.add_argument(
        "--agent",
        required=True,
        help="module:callable (the current folder is searched), a class that makes one, or random, or gold "
        "(writes the reference solution, to check a benchmark)",
    )
    each.add_argument("--tasks", type=int, default=50, help="tasks drawn from the split (default: %(default)s)")
    each.add_argument("--task-id", action="append", help="this task instead of a draw; repeatable")
    each.add_argument("--seed", type=int, default=0, help="of the draw (default: %(default)s)")
    each.add_argument("--attempts", type=int, default=1, help="episodes per task; above 1 adds pass@k")
    each.add_argument("--workers", type=int, default=1, help="episodes at the same time (default: %(default)s)")
    each.add_argument("--out", type=Path, help="file of JSON lines, one per episode; resumed if it exists")
    each.add_argument(
        "--predictions", type=Path, help="write the patches here, as swebench and `codegym verify` read them"
    )
    each.add_argument("--model", help="the model's name in the predictions (default: the agent's)")
    each.add_argument("--quiet", action="store_true", help="no progress line")
    each.set_defaults(run=_evaluate)

    each = commands.add_parser("show", parents=[common], help="print a task as an agent first reads it")
    each.add_argument("task_id", help="as `codegym tasks` lists them")
    each.set_defaults(run=_show)

    check.add_parser(commands, _options)
    fetch.add_parser(commands)
    each = commands.add_parser("tasks", parents=[common], help="list tasks of a split")
    each.add_argument("--limit", type=int, default=20, help="how many (default: %(default)s)")
    each.set_defaults(run=_tasks)

    prepare.add_commands(commands)
    return parser


def _evaluate(args: argparse.Namespace) -> None:
    options = _options(args.set)
    if args.predictions and args.attempts > 1:
        raise ValueError("--predictions holds one patch per task: leave out --attempts")
    with closing(_make(args.env, args.split, options)) as env:  # the gold agent reads its benchmark
        report = evaluate(
            _agent(args.agent, env, options.get("action_format", "xml")),
            args.env,
            tasks=args.task_id or args.tasks,
            split=args.split,
            seed=args.seed,
            attempts=args.attempts,
            workers=args.workers,
            env_kwargs=options,
            progress=not args.quiet,
            out=args.out,
        )
    print(report.table())
    if args.predictions:
        from benchmarks.swebench.report import write_predictions  # late: few evaluations need it

        write_predictions(args.predictions, report.patches, model=args.model or args.agent)
        print(f"{len(report.patches)} patches are in {args.predictions}")


def _show(args: argparse.Namespace) -> None:
    with closing(_make(args.env, args.split, {"instructions": False, **_options(args.set)})) as env:
        observation, _ = env.reset(options={"task_id": args.task_id})
        task = env.task
        assert task is not None
    print(f"{task.id}: {task.language}, {len(task.visible)} visible tests, {len(task.hidden)} hidden ones\n")
    print(observation)
    print("\nvisible tests:")
    for test in task.visible:
        print(f"# {test.id}\n{test.body}")


def _tasks(args: argparse.Namespace) -> None:
    if args.limit < 0:
        raise ValueError(f"limit={args.limit}: needs 0 or more")
    with closing(_make(args.env, args.split, _options(args.set))) as env:
        tasks = env.benchmark.tasks(args.split)
        for index in range(min(args.limit, len(tasks))):
            task = tasks[index]
            files = "1 file" if len(task.workspace) == 1 else f"{len(task.workspace)} files"
            print(f"{task.id}\t{files}\t{task.prompt.splitlines()[0][:80]}")
        print(f"{min(args.limit, len(tasks))} of {len(tasks)} tasks of split {args.split}")


def _make(env_id: str, split: str, options: dict[str, Any]) -> CodeEnv:
    if "split" in options:
        raise ValueError(f"--set split={options['split']}: write --split {options['split']}")
    env = gymnasium.make(env_id, split=split, **options).unwrapped
    if not isinstance(env, CodeEnv):
        raise ValueError(f"{env_id} is no codegym environment")
    return env


def _options(pairs: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE pairs; a value is read as a Python literal if it is one, else taken as text."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair}: write NAME=VALUE, e.g. --set level=tiny")
        try:
            options[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[name] = {"true": True, "false": False}.get(value, value)
    return options


def _agent(name: str, env: CodeEnv, action_format: str) -> Callable[..., Any]:
    if name == "gold":
        return GoldAgent(env.benchmark, action_format=action_format)
    if name == "random":
        return _random_agent(action_format)
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ValueError(f"--agent {name}: write module:callable, e.g. my_agent:act, or random, or gold")
    found = getattr(importlib.import_module(module), attribute, None)
    if not callable(found):
        raise ValueError(f"--agent {name}: {module} has no callable {attribute!r}")
    return found


def _random_agent(action_format: str) -> type[RandomAgent]:
    class Formatted(RandomAgent):
        def __init__(self) -> None:
            super().__init__(action_format=action_format)

    return Formatted
