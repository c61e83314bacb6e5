"""The environment: an agent edits code, runs commands, reads feedback, and is graded by hidden tests at the end.

::

    env = gymnasium.make("codegym/Repair-v0", level="tiny", n_bugs=1)
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step('<edit path="m.py">...</edit>')
    info["diff"], info["resolved"], info["stop_reason"]

docs/environment.md describes observations, rewards, ends and every key of ``info``.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import inspect
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
from gymnasium.error import ResetNeeded

import codegym.vector  # noqa: F401 - makes the spaces right in vector environments
from benchmarks.base import Benchmark, Grade, Task, option_names
from codegym import feedback as texts
from codegym import sharing
from codegym.actions import base as actions
from codegym.diff.model import Diff
from codegym.info import Info, Timing
from codegym.spaces import ReplySpace, TextSpace
from codegym.verdict import VERDICTS, paid
from codegym.workspace import EpisodeFiles, Refused
from sandbox.base import SandboxError, WorkspaceError

if TYPE_CHECKING:
    from codegym.edits import Applied

FEEDBACK = ("blind", "exec", "tests")
FEEDBACK_TESTS = ("visible", "hidden")


class _Acted(NamedTuple):
    """What came of a reply: its error, the lines of feedback, the edits that were applied, the machine's trouble."""

    read: actions.Action
    error: str | None
    lines: list[str]
    applied: Applied | None
    trouble: str | None


class CodeEnv(gymnasium.Env[str, str]):
    """One task per episode, one reply per step.

    Args:
        benchmark: a name for :func:`benchmarks.load` (shared, see :mod:`codegym.sharing`), or a Benchmark (which the
            caller closes).
        split: the benchmark's split that tasks are drawn from.
        action_format: how replies say what to do, a name in :mod:`codegym.actions`.
        feedback: what the agent reads after a reply. ``blind``: whether it was applied; ``exec``: also the output
            of commands; ``tests``: also the visible tests' verdict after each change.
        feedback_tests: the tests that count as visible. ``visible``: those that the task shows; ``hidden``: the hidden
            ones, for tasks that show none. Feedback then comes from the very tests that grade, ``details`` with the
            values that they expect included, so an agent can write to them: say so with a result.
        max_turns: replies before the episode is truncated.
        verdict: what the hidden tests pay at the end. ``resolved``: 1 if all pass, else 0; ``score``: the share.
        verdict_noise: chance that a hidden test's result is paid the wrong way round, drawn from the episode's seed and
            replies; ``info`` says the truth.
        max_seconds: wall time of an episode before it is truncated (looked at after each reply); None is no limit.
        step_reward: times the share of visible tests that pass, added to the reward of every turn.
        invalid_penalty: taken from the reward of a turn whose action is invalid or refused.
        tolerant: apply edits whose search text or hunk differs from the file in trailing blanks or one common margin;
            the feedback says where.
        instructions: whether the first observation teaches the action format.
        render_mode: ``ansi`` (``render`` returns the last turn as text), ``human`` (written to stdout) or None.
        benchmark_options: passed to :func:`benchmarks.load`; an option it does not have is a ValueError.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 1}

    def __init__(
        self,
        *,
        benchmark: str | Benchmark,
        split: str = "train",
        action_format: str = "xml",
        feedback: str = "tests",
        feedback_tests: str = "visible",
        max_turns: int = 8,
        max_seconds: float | None = None,
        verdict: str = "resolved",
        verdict_noise: float = 0.0,
        step_reward: float = 0.0,
        invalid_penalty: float = 0.01,
        tolerant: bool = False,
        instructions: bool = True,
        render_mode: str | None = None,
        **benchmark_options: Any,
    ) -> None:
        for name, value, known in (
            ("feedback", feedback, FEEDBACK),
            ("feedback_tests", feedback_tests, FEEDBACK_TESTS),
            ("verdict", verdict, VERDICTS),
        ):
            if value not in known:
                raise ValueError(f"{name}={value!r} is unknown; there are: {', '.join(known)}")
        _check_types(
            max_turns=(max_turns, Integral, "a whole number"),
            max_seconds=(0 if max_seconds is None else max_seconds, Real, "a number, or None for no limit"),
            verdict_noise=(verdict_noise, Real, "a number"),
            step_reward=(step_reward, Real, "a number"),
            invalid_penalty=(invalid_penalty, Real, "a number"),
            tolerant=(tolerant, bool, "True or False"),
            instructions=(instructions, bool, "True or False"),
        )
        if not 0 <= verdict_noise <= 1:
            raise ValueError(f"verdict_noise={verdict_noise}: needs 0 to 1")
        if max_turns < 1:
            raise ValueError(f"max_turns={max_turns}: needs at least 1")
        if max_seconds is not None and not max_seconds > 0:
            raise ValueError(f"max_seconds={max_seconds}: needs more than 0, or None for no limit")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise ValueError(f"render_mode={render_mode!r} is unknown; there are: ansi, human, None")
        _check_options(benchmark, benchmark_options)
        self._format = actions.get(action_format)
        self._owned = isinstance(benchmark, str)
        self.benchmark = sharing.lease(benchmark, benchmark_options) if isinstance(benchmark, str) else benchmark
        self.split, self.render_mode = split, render_mode
        self.feedback, self.feedback_tests = feedback, feedback_tests
        self.max_turns, self.max_seconds = max_turns, max_seconds
        self.step_reward, self.invalid_penalty, self.instructions = step_reward, invalid_penalty, instructions
        self.tolerant, self.verdict, self.verdict_noise = tolerant, verdict, verdict_noise
        self.action_space = ReplySpace(action_format)
        self.observation_space = TextSpace()
        self.task: Task | None = None  # the current episode's, hidden tests and solution included
        self._files: EpisodeFiles | None = None
        self._stop: str | None = None
        self._frame = ""

    @property
    def files(self) -> Mapping[str, bytes]:
        """The current files of the workspace: path -> bytes. Empty before the first reset."""
        return {} if self._files is None else dict(self._files.now)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode: the task of ``options={"task_id": ...}`` or ``{"index": ...}``, else a seeded draw.

        Raises KeyError or IndexError for a task that does not exist, ValueError for another option.
        """
        super().reset(seed=seed)
        task = self._choose(options or {})
        self.task = replace(task, visible=task.hidden) if self.feedback_tests == "hidden" else task
        if self._files is not None:
            self._files.close()
        self._files = EpisodeFiles(self.task)
        self._turn, self._stop, self._patch = 0, None, ""
        self._checks: dict[str, Grade] = {}  # verdicts of the visible tests, by state
        self._seconds = dict.fromkeys(("diff", "tests", "sandbox"), 0.0)
        self._began = time.monotonic()
        self._said = hashlib.sha256(f"{self.np_random_seed}/{self.task.id}".encode())
        observation = texts.first_observation(self.task, self._format.prompt if self.instructions else "")
        state = self._files.state
        info = self._info(Diff(), state, state, "reset", None, {"verdict": 0.0, "step": 0.0, "invalid": 0.0}, None)
        self._show(f"{self.task.id}\n{observation}")
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do what a reply says. Any ``str`` is fine; what is no action is explained and costs ``invalid_penalty``.

        Raises TypeError if the reply is no ``str``, ResetNeeded when the episode has ended, SandboxUnavailable on a
        machine that cannot isolate code (no error of this episode: no other would fare better).
        """
        if not isinstance(action, str):
            raise TypeError(f"an action is the agent's reply as str, not {type(action).__name__}")
        if self.task is None or self._files is None:
            raise ResetNeeded("no episode is running: call reset() first")
        if self._stop is not None:
            raise ResetNeeded(f"the episode has ended ({self._stop}): call reset() before the next step")
        self._turn += 1
        self._said.update(len(action).to_bytes(8, "big") + action.encode("utf-8", "surrogatepass"))
        self._seconds = dict.fromkeys(self._seconds, 0.0)
        files, task = self._files, self.task
        before, state_before = files.now, files.state
        read, error, lines, applied, trouble = self._act(action)
        state = files.state
        terms = {"verdict": 0.0, "step": 0.0, "invalid": 0.0 if error is None else -self.invalid_penalty}
        diff = self._diff(before, applied) if state != state_before else Diff()
        tell = self.feedback == "tests" and error is None and (read.kind == "edit" or state != state_before)
        check = final = stop = None
        if trouble is None and task.visible and (tell or self.step_reward):
            check, trouble = self._test("check", state)
        if check is not None:
            terms["step"] = self.step_reward * texts.passed(task, check) / len(task.visible)
        if trouble is None and tell:
            lines += texts.tests_lines(task, check)
        if trouble is None:
            stop = self._end(read.kind, check)
        if stop is not None:
            final, trouble = self._test("grade", state)
        if final is not None:
            terms["verdict"] = paid(final, self.verdict, self.verdict_noise, self._said.digest())
        if trouble is not None:
            stop, terms = "infra_error", dict.fromkeys(terms, 0.0)
            lines.append(f"infra error: {trouble}")
        if stop is not None:
            files.close()
        self._stop = stop
        observation, reward = "\n".join(lines), sum(terms.values())
        info = self._info(diff, state, state_before, read.kind, error, terms, trouble, final)
        self._show(
            f"turn {self._turn} of {self.max_turns}\n{action}\n---\n{observation}\nreward {reward:.3f} {stop or ''}"
        )
        terminated = stop in ("submitted", "solved")
        return observation, reward, terminated, stop is not None and not terminated, info

    def render(self) -> str | None:  # type: ignore[override]
        """The last turn as text with ``render_mode="ansi"``; else None (``human`` writes it as it happens)."""
        return self._frame if self.render_mode == "ansi" else None

    def close(self) -> None:
        """End the episode and free what it and the benchmark hold. May be called twice."""
        if self._files is not None:
            self._files.close()
        if self._owned:
            self._owned = False
            sharing.release(self.benchmark)

    def _act(self, reply: str) -> _Acted:
        """Do what the reply says to the files."""
        assert self._files is not None
        read = self._format.parse(reply)
        error, applied, trouble = read.error, None, None
        lines = ["submitted" if read.kind == "submit" else "applied"]
        try:
            if read.kind == "edit":
                with self._timed("diff"):
                    applied = self._files.edit(read.edits, tolerant=self.tolerant)
                    lines += [f"note: {note}" for note in applied.notes]
            elif read.kind == "shell":
                with self._timed("sandbox"):
                    result = self._files.shell(read.command)
                lines = lines if self.feedback == "blind" else texts.command_lines(result)
        except Refused as refused:
            error = str(refused)
        except SandboxError as failure:
            trouble = str(failure)
        return _Acted(read, error, lines if error is None else [f"error: {error}"], applied, trouble)

    def _choose(self, options: Mapping[str, Any]) -> Task:
        unknown = sorted(set(options) - {"task_id", "index"})
        if unknown or len(options) > 1:
            raise ValueError(f'reset options {sorted(options)}: give either "task_id" or "index"')
        if "task_id" in options:
            return self.benchmark.task(options["task_id"])
        tasks: Sequence[Task] = self.benchmark.tasks(self.split)
        index = options["index"] if options else int(self.np_random.integers(len(tasks)))
        if not 0 <= index < len(tasks):
            raise IndexError(f"index={index}: split {self.split!r} has tasks 0 to {len(tasks) - 1}")
        return tasks[index]

    def _test(self, kind: str, state: str) -> tuple[Grade | None, str | None]:
        """The verdict of the visible (``check``) or hidden (``grade``) tests, or None and what went wrong."""
        assert self.task is not None
        assert self._files is not None
        hidden = self.feedback_tests == "hidden"  # then both are one verdict
        if (kind == "check" or hidden) and state in self._checks:
            return self._checks[state], None
        run = self.benchmark.check if kind == "check" and not hidden else self.benchmark.grade
        try:
            with self._timed("tests"):
                grade = run(self.task, self._files.now)
        except SandboxError as failure:
            return None, str(failure)
        except WorkspaceError as failure:  # the agent's files do not fit the tests' sandbox: its doing, so a verdict
            tests = self.task.visible if kind == "check" else self.task.hidden
            grade = Grade(False, 0.0, {t.id: "error" for t in tests}, {t.id: str(failure) for t in tests[:1]})
        if grade.infra_error is not None:
            return None, grade.infra_error
        if kind == "check":
            self._checks[state] = grade
        return grade, None

    def _end(self, kind: str, check: Grade | None) -> str | None:
        assert self.task is not None
        if kind == "submit":
            return "submitted"
        if self.feedback == "tests" and check is not None and check.resolved:
            return "solved"
        if self._turn >= self.max_turns:
            return "max_turns"
        late = self.max_seconds is not None and time.monotonic() - self._began >= self.max_seconds
        return "max_seconds" if late else None

    def _diff(self, before: Mapping[str, bytes], applied: Applied | None) -> Diff:
        from codegym.diff import diff_files, unified

        assert self._files is not None
        with self._timed("diff"):
            base, now = self._files.base, self._files.now
            written = (applied.origins, applied.renamed) if applied is not None else ()
            diff = diff_files(before, now, *written)
            self._patch = unified(diff if before == base else diff_files(base, now, syntax=False), base)
            return diff

    def _info(
        self,
        diff: Diff,
        state: str,
        state_before: str,
        kind: str,
        error: str | None,
        terms: dict[str, float],
        trouble: str | None,
        final: Grade | None = None,
    ) -> dict[str, Any]:
        assert self.task is not None
        check = self._checks.get(state)
        info: Info = {
            "task_id": self.task.id,
            "turn": self._turn,
            "action": {"kind": kind, "valid": error is None, "error": error},
            "diff": diff,
            "patch": self._patch,
            "state": state,
            "state_before": state_before,
            "tests": {
                "visible_passed": -1 if check is None else texts.passed(self.task, check),
                "visible_total": len(self.task.visible),
                "hidden": {} if final is None else dict(final.tests),
            },
            "reward_terms": dict(terms),
            "resolved": final is not None and final.resolved,
            "score": 0.0 if final is None else final.score,
            "stop_reason": self._stop,
            "infra_error": trouble,
            "timing": Timing(self._seconds),
            "extra": {},
        }
        return dict(info)

    @contextlib.contextmanager
    def _timed(self, part: str) -> Iterator[None]:
        # Diffs are work of this thread: in wall time, environments that share the interpreter would count each other's.
        clock = time.thread_time if part == "diff" else time.perf_counter
        start = clock()
        try:
            yield
        finally:
            self._seconds[part] += clock() - start

    def _show(self, frame: str) -> None:
        self._frame = frame
        if self.render_mode == "human":
            sys.stdout.write(frame + "\n\n")


def _check_options(benchmark: str | Benchmark, options: Mapping[str, Any]) -> None:
    own = [name for name, value in inspect.signature(CodeEnv).parameters.items() if value.kind is value.KEYWORD_ONLY]
    known = [name for name in own if name != "benchmark"]
    known += option_names(benchmark) if isinstance(benchmark, str) else ()
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"{name!r} is no option of this environment; {hint}there are: {', '.join(known)}")


def _check_types(**options: tuple[Any, type, str]) -> None:
    """Raise ValueError for the first option whose value is of another type; ``"no"`` would count as True."""
    for name, (value, kind, needs) in options.items():
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{name}={value!r}: needs {needs}")
