"""What the agent reads: the first observation, and the feedback after each reply.

The texts are exact and short, because small models are trained on them; docs/environment.md shows each.
"""

from __future__ import annotations

from collections import Counter

from benchmarks.base import Grade, Task, Workspace
from sandbox.base import ExecResult

SHOWN_BYTES = 32 << 10  # of all files together, about 8,000 tokens: above it the agent must look for itself
LISTED_FILES = 200  # about 4,000 tokens of names
OUTPUT_BYTES = 8 << 10  # of a command's output: its start and its end say most
DETAILS = 5  # failing tests that are described


def first_observation(task: Task, instructions: str = "") -> str:
    """The instructions, if any, the task's prompt, and its files.

    A file is ``<file path="NAME">``, a line break, its content, ``</file>``. Files that are no UTF-8 are named only,
    and so is every file of a workspace of more than ``SHOWN_BYTES``. Of more than ``LISTED_FILES`` files only the
    folders and files at the top are named.
    """
    if len(task.workspace) > LISTED_FILES:
        return "\n".join([*([instructions] if instructions else []), task.prompt, *_top(task.workspace)])
    large = sum(map(len, task.workspace.values())) > SHOWN_BYTES
    parts = [instructions, task.prompt] if instructions else [task.prompt]
    for path, content in sorted(task.workspace.items()):
        try:
            text = content.decode()
        except UnicodeDecodeError:
            parts.append(f'<file path="{path}"/> ({len(content)} bytes, not UTF-8)')
            continue
        shown = f'<file path="{path}"/> ({len(content)} bytes)' if large else f'<file path="{path}">\n{text}</file>'
        parts.append(shown)
    return "\n".join(parts)


def _top(workspace: Workspace) -> list[str]:
    inside = Counter(path.partition("/")[0] for path in workspace if "/" in path)
    files = [f'<file path="{path}"/> ({len(data)} bytes)' for path, data in workspace.items() if "/" not in path]
    return [*(f'<folder path="{name}"/> ({count} files)' for name, count in sorted(inside.items())), *sorted(files)]


def tests_lines(task: Task, grade: Grade | None) -> list[str]:
    """``tests: P of N pass``, then up to ``DETAILS`` lines about failing ones, in the task's order.

    ``grade`` is None for a task that shows no tests, and then the line says that.
    """
    if grade is None:
        return ["tests: this task shows none"]
    failing = [test.id for test in task.visible if grade.tests.get(test.id) != "passed"]
    details = [grade.details[name] for name in failing if name in grade.details]
    return [f"tests: {passed(task, grade)} of {len(task.visible)} pass", *details[:DETAILS]]


def passed(task: Task, grade: Grade) -> int:
    """How many of the task's visible tests pass."""
    return sum(grade.tests.get(test.id) == "passed" for test in task.visible)


def command_lines(result: ExecResult) -> list[str]:
    """How a command ended, then its output (stdout before stderr), the middle cut out above ``OUTPUT_BYTES``."""
    if result.timed_out:
        head = f"timed out after {result.wall_s:.0f} s"
    elif result.oom:
        head = "out of memory"
    elif result.exit_code < 0:
        head = f"killed by signal {-result.exit_code}"
    else:
        head = f"exit code: {result.exit_code}"
    output = result.stdout
    if output and result.stderr and not output.endswith(b"\n"):
        output += b"\n"
    output += result.stderr
    if len(output) > OUTPUT_BYTES:
        half = OUTPUT_BYTES // 2
        middle = f"\n[{len(output) - 2 * half} bytes cut here]\n".encode()
        output = output[:half] + middle + output[-half:]
    lines = [head, output.decode("utf-8", "replace").removesuffix("\n")] if output else [head]
    return [*lines, "[more output was not kept]"] if result.truncated else lines
