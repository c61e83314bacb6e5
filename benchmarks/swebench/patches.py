"""Unified diffs: which files they touch, and applying one to a workspace the way swebench does.

::

    files = touched(row.test_patch)                       # [Touched("tests/test_a.py", None, added=False, ...)]
    applied = apply(workspace, prediction)                # Applied(workspace, rung="git apply")

Patches come from agents, so git and patch run on them inside a sandbox, on nothing but the files they name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.base import Workspace
from sandbox import Limits, open_sandbox

# swebench tries these in this order. The last may hit the wrong place, so callers report the rung that worked.
RUNGS = (
    ("git apply", ["git", "apply", "--verbose"]),
    ("git apply --3way", ["git", "apply", "--verbose", "--3way"]),
    ("git apply --reject", ["git", "apply", "--verbose", "--reject"]),
    ("patch --fuzz=5", ["patch", "--batch", "--forward", "--fuzz=5", "-p1", "-i"]),
)
_LIMITS = Limits(wall_s=60, cpu_s=60, disk_bytes=256 << 20, memory_bytes=1 << 30)
_HEAD = re.compile(r'^diff --git (?:"?a/(.*?)"?) (?:"?b/(.*?)"?)$')
_GIT_ENV = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{f"GIT_{who}_{what}": "codegym" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


class PatchError(ValueError):
    """A patch that no rung applies; the message is for whoever wrote it."""


@dataclass(frozen=True)
class Touched:
    """One file of a patch: its path after it, its path before it (None for a new file), whether it is deleted."""

    path: str
    old_path: str | None
    deleted: bool = False


@dataclass(frozen=True)
class Applied:
    """The files after a patch, and which rung applied it."""

    files: dict[str, bytes]
    rung: str


def touched(patch: str) -> list[Touched]:
    """The files that a patch touches, in its order. A patch without ``diff --git`` lines is read by ``---``/``+++``."""
    found: list[Touched] = []
    lines = patch.split("\n")
    heads = [number for number, line in enumerate(lines) if line.startswith("diff --git ")]
    if not heads:
        return _by_names(lines)
    for start, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        match = _HEAD.match(lines[start])
        if match is None:
            raise PatchError(f"cannot read the line {lines[start]!r}")
        old, new = match[1], match[2]
        header: list[str] = []
        for line in lines[start + 1 : end]:
            if line.startswith(("@@", "GIT binary patch")):
                break
            header.append(line)
        added = any(line.startswith("new file mode") for line in header)
        deleted = any(line.startswith("deleted file mode") for line in header)
        found.append(Touched(new, None if added else old, deleted))
    return found


def _by_names(lines: list[str]) -> list[Touched]:
    found = []
    for line, after in itertools.pairwise(lines):
        if line.startswith("--- ") and after.startswith("+++ "):
            old, new = (text[4:].split("\t")[0].strip() for text in (line, after))
            old, new = (re.sub(r"^[ab]/", "", name) for name in (old, new))
            deleted = new == "/dev/null"
            found.append(Touched(old if deleted else new, None if old == "/dev/null" else old, deleted))
    return found


def apply(workspace: Workspace, patch: str, *, strict: bool = False) -> Applied:
    """The workspace after a patch, by the first rung that applies all of it.

    Args:
        strict: only ``git apply``, for the task's own patches.

    Raises PatchError when none does; SandboxError and SandboxUnavailable as sandboxes do.
    """
    files = touched(patch)
    if not files:
        raise PatchError("the patch names no file")
    names = {name for each in files for name in (each.path, each.old_path) if name}
    before = {name: workspace[name] for name in sorted(names) if name in workspace}
    text = patch if patch.endswith("\n") else patch + "\n"
    reasons = []
    for rung, command in RUNGS[:1] if strict else RUNGS:
        with open_sandbox(limits=_LIMITS) as box:
            written = {"patch.diff": text.encode(errors="surrogateescape")}  # a file may be no UTF-8
            box.write({f"tree/{name}": data for name, data in before.items()} | written)
            # a repository of its own, so that --3way finds the blobs and no folder above is taken for one
            box.run(["sh", "-c", "mkdir -p tree && cd tree && git init -q && git add -Af . && "
                     "git commit -qm base --allow-empty"], env=_GIT_ENV)  # fmt: skip
            result = box.run([*command, "../patch.diff"], cwd="tree", env=_GIT_ENV)
            if result.exit_code != 0:
                last = (result.stderr or result.stdout).decode(errors="replace").strip().splitlines()[-1:]
                reasons.append(f"{rung}: {last[0] if last else f'exit {result.exit_code}'}")
                continue
            after = {
                path.removeprefix("tree/"): data
                for path, data in box.export().items()
                if path.startswith("tree/") and not path.startswith("tree/.git/") and not path.endswith(".orig")
            }
        return Applied(_merged(workspace, before, after), rung)
    raise PatchError(f"the patch does not apply ({'; '.join(reasons)})")


def _merged(workspace: Workspace, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, bytes]:
    result = {path: data for path, data in workspace.items() if path not in before}
    result.update(after)
    return result


def reverse(patch: str, workspace: Workspace) -> dict[str, bytes]:
    """The workspace without a patch that it holds already. Raises PatchError."""
    names = {name for each in touched(patch) for name in (each.path, each.old_path) if name}
    before = {name: workspace[name] for name in sorted(names) if name in workspace}
    with open_sandbox(limits=_LIMITS) as box:
        box.write({f"tree/{name}": data for name, data in before.items()} | {"patch.diff": patch.encode()})
        box.run(["sh", "-c", "mkdir -p tree && cd tree && git init -q"], env=_GIT_ENV)
        result = box.run(["git", "apply", "-R", "../patch.diff"], cwd="tree", env=_GIT_ENV)
        if result.exit_code != 0:
            raise PatchError(f"the patch is not in the files: {result.stderr.decode(errors='replace').strip()}")
        after = {
            path.removeprefix("tree/"): data
            for path, data in box.export().items()
            if path.startswith("tree/") and not path.startswith("tree/.git/")
        }
    return _merged(workspace, before, after)
