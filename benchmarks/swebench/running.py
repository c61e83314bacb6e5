"""One run of a row's tests in a fresh sandbox, and what was recorded.

::

    run = run_tests(plan, environment, workspace)
    run.infra or run.status["tests/test_a.py::test_x"]
"""

from __future__ import annotations

import base64
import functools
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.base import Workspace
from benchmarks.swebench import TIMEOUT_S
from benchmarks.swebench.environments import Environment
from benchmarks.swebench.ids import PASSING, Book
from benchmarks.swebench.tree import Canary, Plan
from sandbox import ExecResult, Limits, SandboxError, WorkspaceError, open_sandbox

LIMITS = Limits(
    wall_s=TIMEOUT_S,
    cpu_s=TIMEOUT_S,
    memory_bytes=8 << 30,  # the workspace's tmpfs counts
    pids=512,
    disk_bytes=2 << 30,
    files=200_000,
    output_bytes=64 << 20,  # the supervisor's answer, at most 32 MB of records and 6 MB of log
)
_START_S = 60.0  # for the supervisor itself, beyond the tests' time
_UNSEEN = "UNSEEN"  # the runner says it passed, but its own code did not run to its end
_RANK = ("PASSED", "XFAIL", "SKIPPED", "XPASS", "FAILED", "ERROR", _UNSEEN, "TAMPERED")  # of phases the worst counts


@dataclass(frozen=True)
class Run:
    """What came of one run.

    Attributes:
        status: stored id -> PASSED, FAILED, ERROR, SKIPPED, XFAIL, XPASS, or UNSEEN (passed by the runner's word, but
            its own code did not run to its end); None where there is no record of it.
        seen: every record, by the runner's own name.
        docs: the first line of a test's docstring, by the runner's own name.
        tampered: what the graded code did to the test runner; "" when nothing was noticed.
        timed_out: the tests did not end in time.
        infra: the machine's failure, which says nothing of the code; "" when there was none.
        log: what the tests printed (its last 4 MB).
    """

    status: Mapping[str, str | None]
    seen: Mapping[str, str]
    tampered: str = ""
    timed_out: bool = False
    infra: str = ""
    log: str = ""
    docs: Mapping[str, str] = field(default_factory=dict)


def run_tests(
    plan: Plan,
    environment: Environment,
    workspace: Workspace,
    *,
    timeout: float = TIMEOUT_S,
    backend: str = "auto",
) -> Run:
    """Run the hidden tests on a workspace.

    Raises SandboxUnavailable when this machine cannot isolate code.
    """
    canary = plan.canary()
    files = {**plan.graded(workspace), canary.path: canary.text.encode()}
    job = {
        "source": driver_source(),
        "python": environment.python,
        "options": list(plan.recipe.options),
        "token": secrets.token_hex(16),
        "seconds": timeout,
        "env": dict(plan.recipe.env),
        "executable": [path for path in plan.executable if path in files],
        "driver": {
            "runner": plan.recipe.runner,
            "arguments": list(plan.recipe.arguments),
            "path": list(plan.recipe.path),
            "tests": [*plan.directives(), plan.canary_directive(canary)],
            "watched": [*plan.watched(), canary.path],
            "without": "/testbed" if environment.image else "",
            "graded_runner": plan.recipe.graded_runner,
        },
    }
    command = [environment.python, "-I", "-B", "-S", "-c", _inside("supervisor.py")]
    nothing = dict.fromkeys(plan.row.ids)
    try:
        limits = replace(LIMITS, cpu_s=timeout + _START_S)
        with open_sandbox(backend, limits, read_only=environment.shown, image=environment.image) as box:
            box.write(files)
            result = box.run(command, stdin=json.dumps(job).encode(), timeout=timeout + _START_S)
    except WorkspaceError as error:  # the agent's doing: more than the budgets hold
        return Run(nothing, {}, tampered=f"the workspace does not fit: {error}")
    except SandboxError as error:
        return Run(nothing, {}, infra=str(error))
    return read_answer(plan, canary, result)


def read_answer(plan: Plan, canary: Canary, result: ExecResult) -> Run:
    """What the supervisor's answer says."""
    nothing = dict.fromkeys(plan.row.ids)
    try:
        answer = json.loads(result.stdout)
    except ValueError:
        said = result.stderr.decode(errors="replace").strip().splitlines()[-1:]
        if result.exit_code in (126, 127, 1) and not result.oom:
            return Run(nothing, {}, infra=f"the tests' Python does not run here: {said}")
        # killed: only the code inside, or what it used up, does that
        cause = "out of memory" if result.oom else f"exit {result.exit_code}"
        return Run(nothing, {}, tampered=f"the run was ended from inside ({cause})", timed_out=result.timed_out)
    log = base64.b64decode(answer["log"]).decode(errors="replace")
    records = answer["records"]
    if not any(record == ["ready"] for record in records):
        last = log.strip().splitlines()[-1:] or ["it printed nothing"]
        infra = f"the test runner does not start: {last[0][:300]}"
        # A runner that is the graded code itself may be broken by it: whose doing it is the reference solution tells.
        return Run(nothing, {}, infra="" if plan.recipe.graded_runner else infra, log=log)
    seen: dict[str, str] = {}
    docs: dict[str, str] = {}
    phases: dict[str, set[str]] = {}
    witnessed: dict[str, list[str]] = {}
    tampered = "records were forged" if answer["forged"] else ""
    for record in records:
        if record[0] == "tampered":
            tampered = tampered or record[1]
        elif record[0] in ("entered", "returned", "raised"):
            witnessed.setdefault(record[1], []).append(record[0])
        elif record[0] == "test":
            name, phase, status, doc = record[1:]
            if phase == "setup":
                witnessed.pop(name, None)  # of an earlier try
            seen[name] = max(seen.get(name, "PASSED"), status, key=_RANK.index)
            if phase in ("all", "teardown"):
                own_code = witnessed.pop(name, [])
                if seen[name] == "PASSED" and own_code != ["entered", "returned"]:
                    seen[name] = _UNSEEN
            phases.setdefault(name, set()).add(phase)
            docs[name] = doc
    for name in seen:  # the process ended in the middle of it
        if not phases[name] & {"all", "teardown"} and seen[name] == "PASSED":
            seen[name] = "ERROR"
    if not answer["timed_out"] and not tampered:
        tampered = _canary_says(canary, seen) or ("" if answer["ended"] else "the run was ended from inside")
    book = Book(plan.recipe.names)
    for name, status in seen.items():
        if not any(own in name for own in canary.names):
            book.add(name, status, docs[name])
    return Run(
        {name: book.find(name) for name in plan.row.ids},
        {name: status for name, status in seen.items() if not any(own in name for own in canary.names)},
        tampered,
        answer["timed_out"],
        log=log,
        docs={name: doc for name, doc in docs.items() if doc},
    )


def _canary_says(canary: Canary, seen: Mapping[str, str]) -> str:
    for own in canary.names:
        found = [status for name, status in seen.items() if own in name]
        if any(status in PASSING or status == "SKIPPED" for status in found):
            return "a test that must fail did not"
        if seen and not found:
            return "a test that was asked for did not run"
    return ""


@functools.cache
def _inside(name: str) -> str:
    return (Path(__file__).parent / "inside" / name).read_text()


@functools.cache
def driver_source() -> str:
    """The driver as it is sent: its four files in one text."""
    return "\n\n".join(map(_inside, ("guard.py", "witness.py", "unittests.py", "driver.py")))
