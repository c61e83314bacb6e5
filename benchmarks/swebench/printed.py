"""Rows whose tests leave nothing but a printed log: other languages than Python, in the row's own image.

::

    run = run_printed(plan, environment, workspace, timeout=1800)
    run.status["TestParse/empty"]        # as swebench's parser for this row reads it

The row's ``eval_script`` (rows of SWE-bench 5) says how its tests are run; what it does with git is left out, as the
files are put in place by :class:`benchmarks.swebench.tree.Plan`. swebench's own parser reads what is printed between
two marks that are drawn for each run. The code under test prints into the same log: docs/swebench.md says what such a
verdict cannot promise. Of R2E-Gym's rows the script is made of their image's command (:mod:`benchmarks.swebench.r2e`).
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.base import Workspace
from benchmarks.swebench.environments import Environment
from benchmarks.swebench.recipes import Recipe, RecipeError
from benchmarks.swebench.rows import Row
from benchmarks.swebench.running import LIMITS, Run
from benchmarks.swebench.tree import Plan
from sandbox import SandboxError, WorkspaceError, open_sandbox

PRINTED = "printed"  # a recipe's runner
WORK = "/box/work"  # where a sandbox's workspace is
_START, _END = ">>>>> Start Test Output", ">>>>> End Test Output"
_HERE_DOCUMENT = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\^_])")  # colours, moves, titles
_SET_UP_S = 300.0  # for copying the image's built files, beyond the tests' time


def recipe_of(row: Row) -> Recipe:
    """How such a row is run. Raises RecipeError if it does not say, or swebench's parsers are not here."""
    if not row.eval_script:
        raise RecipeError(
            f"{row.instance_id}: its tests leave a printed log, and the row has no eval_script: use rows of SWE-bench 5"
        )
    parser_of(row)
    return Recipe(row.repo, PRINTED, PRINTED, (), ("*",))


def parser_of(row: Row) -> Callable[[str, Any], Mapping[str, str]]:
    """swebench's parser for the row's log, or that of its data set. Raises RecipeError."""
    if row.expected:
        from benchmarks.swebench import r2e  # late: it needs this module

        return lambda log, row: r2e.parse(log)
    try:
        from swebench.harness.log_parsers import PARSER_REGISTRY
    except ImportError:
        raise RecipeError(
            f"{row.instance_id}: its printed log is read by swebench's parsers: pip install 'codegym[swebench]'"
        ) from None
    name = row.log_parser
    for known in (name, f"parse_log_{name}", name.removeprefix("parse_log_")):
        if known in PARSER_REGISTRY:
            found: Callable[[str, Any], Mapping[str, str]] = PARSER_REGISTRY[known]
            return found
    raise RecipeError(f"{row.instance_id}: swebench has no log parser {name!r}; a newer one may")


def commands(eval_script: str) -> tuple[list[str], list[str]]:
    """What a script runs before its tests, and its tests' commands. Raises RecipeError for one without the marks."""
    before: list[str] = []
    tests: list[str] = []
    found = before
    until = ""
    for line in eval_script.splitlines():
        if until:  # inside a document that git was to apply
            until = "" if line.strip() == until else until
        elif _START in line:
            found = tests
        elif _END in line:
            return before, tests
        elif re.match(r"\s*(git\s|#!|set\s)", line):
            document = _HERE_DOCUMENT.search(line)
            until = document[2] if document else ""
        else:
            found.append(line.replace("/testbed", WORK))
    raise RecipeError("an eval_script without the marks of a test's output")


def framed(before: Sequence[str], tests: Sequence[str]) -> str:
    """An eval_script of these commands."""
    return "\n".join([*before, f": '{_START}'", *tests, f": '{_END}'"])


def script(row: Row, removed: Sequence[str], token: str, executable: Sequence[str] = ()) -> str:
    """The shell text of one run. ``removed``: files of the image that the workspace has no more."""
    before, tests = commands(row.eval_script)
    return "\n".join(
        [
            "exec 2>&1",
            # cp leaves a virtual environment where it is, behind this link
            f"[ ! -e /testbed/.venv/pyvenv.cfg ] || ln -s /testbed/.venv {WORK}/.venv",
            # a workspace is regular files: the image's links and empty folders come from the image
            f"cp -anT /testbed {WORK}",
            *_each("rm -f --", removed),
            *_each("chmod 755 --", executable),
            *before,
            f"printf '\\n%s\\n' {token}",
            *tests,
            f"printf '\\n%s\\n' {token}",
        ]
    )


def _each(command: str, paths: Sequence[str]) -> list[str]:
    """The command for these paths, a hundred at once: a line of a shell has its limit."""
    return [f"{command} {' '.join(map(shlex.quote, paths[at : at + 100]))}" for at in range(0, len(paths), 100)]


def run_printed(plan: Plan, environment: Environment, workspace: Workspace, *, timeout: float) -> Run:
    """Run the row's tests on a workspace, in its image. Raises SandboxUnavailable, RecipeError."""
    nothing = dict.fromkeys(plan.row.ids)
    files = plan.graded(workspace)
    token = secrets.token_hex(16)
    runnable = [path for path in plan.executable if path in files]
    text = script(plan.row, sorted(set(plan.base) - set(files)), token, runnable)
    limits = replace(LIMITS, cpu_s=timeout * 8)  # of all the processors that a build uses
    try:
        with open_sandbox("docker", limits, image=environment.image) as box:
            box.write(files)
            ran = box.run(["bash", "-c", text], timeout=timeout + _SET_UP_S)
    except WorkspaceError as error:
        return Run(nothing, {}, tampered=f"the workspace does not fit: {error}")
    except SandboxError as error:
        return Run(nothing, {}, infra=str(error))
    return read_log(plan.row, ran.stdout.decode(errors="replace"), token, timed_out=ran.timed_out)


def read_log(row: Row, log: str, token: str, *, timed_out: bool = False) -> Run:
    """What a log says of the row's tests: what was printed between the marks, by swebench's parser.

    Colours are left out, so a status is found whether or not the tests' tools took the pipe for a terminal. A status
    word that a newline cuts is none, and its test has no record.
    """
    parts = re.split(rf"^{token}$", ESCAPE.sub("", log), flags=re.M)
    between = parts[1] if len(parts) > 1 else ""
    ended = len(parts) == 3
    seen = {str(name): str(status) for name, status in parser_of(row)(between, row).items()}
    tampered = "" if ended or timed_out else "the run was ended from inside"
    if row.eval_type == "fail_only" and ended and not seen and not _ran(between):
        tampered = "no test ran"  # where only failures are printed, silence would be success
    return Run({name: seen.get(name) for name in row.ids}, seen, tampered, timed_out, log=between)


def _ran(log: str) -> bool:
    from swebench.harness.grading import SUITE_RAN

    return SUITE_RAN.search(log) is not None
