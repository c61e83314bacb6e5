"""The files of one episode: edited in memory, and copied into a sandbox only when a command must run.

::

    with contextlib.closing(EpisodeFiles(task)) as files:
        applied = files.edit(action.edits)      # all edits or none
        result = files.shell("python3 m.py")    # opens the sandbox and a bash at the first command
        files.now, files.state

The bash is one for the episode: folder, variables and background jobs carry over. It ends with its sandbox: when a
command left more than the budgets allow, and when an edit removes a file from a folder that the agent has locked.

What git keeps (``.git``) is no part of the workspace: a commit or a reset changes the files that it changes and nothing
else. It lives in the sandbox, and comes back with the files when a sandbox must be opened anew.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Sequence, Set
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from benchmarks.base import Place, Task, Workspace
from codegym.actions.base import Edit
from sandbox.base import ExecResult, Sandbox, SandboxError, Shell, WorkspaceError

if TYPE_CHECKING:  # applying edits is not needed to import the environment
    from codegym.edits import Applied

_GIT = "git init -q && git add -Af . && git commit -qm base && git repack -adq"
_GIT_ENV = {  # the same files make the same commit
    **{f"GIT_{who}_NAME": "codegym" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "codegym@localhost" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "2000-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
}
_FIRST_LINK = 'for way do [ -L "$way" ] && { printf %s "${way#./}"; exit; }; done; exit 0'
_AT_ONCE = 100  # paths of up to 4 KiB each in one command line, well below the system's limit of 2 MiB


class Refused(ValueError):  # noqa: N818 - what happened to the edit, not a failure of the program
    """An edit that was not applied; the message is for the agent."""


class EpisodeFiles:
    """``base`` are the task's files, ``now`` the current ones. Opened sandboxes are freed by :meth:`close`."""

    def __init__(self, task: Task) -> None:
        self.base, self._git = _apart(task.workspace)
        self.now: Workspace = self.base
        self._task = task
        self._box: Sandbox | None = None
        self._shell: Shell | None = None
        self._inside: Workspace = {}
        self._place: Place | None = None

    @property
    def state(self) -> str:
        """A hash of the current files: equal exactly when all paths and bytes are."""
        digest = hashlib.blake2b(digest_size=16)
        for path, content in sorted(self.now.items()):
            name = path.encode("utf-8", "surrogateescape")
            digest.update(b"%d %d " % (len(name), len(content)) + name + content)
        return digest.hexdigest()

    def edit(self, edits: Sequence[Edit], *, tolerant: bool = False) -> Applied:
        """Apply all edits or none (see :func:`codegym.edits.apply_edits`). Raises :class:`Refused`."""
        from codegym.edits import EditError, apply_edits

        try:
            applied = apply_edits(self.now, edits, tolerant=tolerant)
        except EditError as error:
            raise Refused(str(error)) from error
        for path in sorted({*self.now, *applied.files}):
            if _is_git(path):
                raise Refused(f"{path} belongs to git and cannot be edited; nothing was applied: run git instead")
            if self.now.get(path) != applied.files.get(path) and self._is_protected(path):
                raise Refused(f"{path} is protected and cannot be changed; nothing was applied: edit other files only")
        self._refuse_links(applied.files.keys() - self.now.keys())
        self.now = applied.files
        return applied

    def shell(self, command: str) -> ExecResult:
        """Run a command in the episode's bash on the current files, which then are what it left.

        Raises :class:`Refused` if it left more than the sandbox's budgets allow, and SandboxError.
        """
        try:
            return self._run(self._box or self._fresh_box(), command)
        except WorkspaceError as error:
            self.close()  # the next command starts again from the current files
            raise Refused(f"{error}; what the command did is dropped; the next gets a new shell") from error

    def _refuse_links(self, new: Set[str]) -> None:
        """Refuse new files whose path is or crosses a symbolic link, wherever it leads. Commands alone make links."""
        if self._box is None:
            return
        ways = {str(way) for path in new for way in (PurePosixPath(path), *PurePosixPath(path).parents)}
        for names in _batches(ways):
            found = self._box.run(["sh", "-c", _FIRST_LINK, "sh", *names])
            if found.stdout:
                link = found.stdout.decode("utf-8", "surrogateescape")
                raise Refused(f"{link} is a symbolic link; nothing was applied: edit what it leads to or rm it first")
            if found.exit_code:
                said = found.stderr.decode(errors="replace").strip()
                raise Refused(f"links cannot be looked for ({said}); nothing was applied: end background jobs first")

    def _run(self, box: Sandbox, command: str) -> ExecResult:
        box = self._without_removed(box)
        box.write({path: data for path, data in self.now.items() if self._inside.get(path) != data})
        self._shell = self._shell or self._opened_shell(box)
        result = self._shell.run(command)
        self.now, self._git = _apart(box.export())
        self._inside = self.now
        return result

    def _opened_shell(self, box: Sandbox) -> Shell:
        assert self._place is not None
        shell = box.shell()
        # Compiled modules are no change of the agent's and would only fill the diff.
        variables = {"PYTHONDONTWRITEBYTECODE": "1", **self._place.env}
        shell.run("export " + " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items()))
        return shell

    def _without_removed(self, box: Sandbox) -> Sandbox:
        """The sandbox without the files that edits removed; a fresh one where they cannot be removed."""
        for names in _batches(self._inside.keys() - self.now.keys()):
            if box.run(["rm", "-f", "--", *names]).exit_code:
                return self._fresh_box()
        return box

    def _fresh_box(self) -> Sandbox:
        from sandbox import open_sandbox

        self.close()
        self._place = place = self._place or self._task.place()
        self._box = open_sandbox(limits=self._task.limits, **place.sandbox())
        self._box.write(self._git)
        if place.git or place.executable:
            self._box.write(self.base)
            _arrange(self._box, place, self.base, new=not self._git)
            self._inside = self.base
        return self._box

    def close(self) -> None:
        """Free the sandbox. May be called twice."""
        box, self._box, self._shell, self._inside = self._box, None, None, {}
        if box is not None:
            box.close()

    def _is_protected(self, path: str) -> bool:
        return any(path == own or path.startswith(own.rstrip("/") + "/") for own in self._task.protected)


def _arrange(box: Sandbox, place: Place, files: Workspace, *, new: bool) -> None:
    """Give the files of a fresh sandbox what bytes do not say: modes, and a history of one commit if it is ``new``."""
    there = [path for path in place.executable if path in files]
    if there:
        names = "\0".join(there).encode(errors="surrogateescape")
        made = box.run(["xargs", "-0", "chmod", "a+x"], stdin=names)
        if made.exit_code:
            raise SandboxError(f"files cannot be made executable: {made.stderr.decode(errors='replace').strip()}")
    if place.git and new:
        made = box.run(["sh", "-c", _GIT], env=_GIT_ENV)
        if made.exit_code:
            raise SandboxError(f"git does not work in the sandbox: {made.stderr.decode(errors='replace').strip()}")


def _batches(paths: Set[str]) -> Iterator[list[str]]:
    """Paths as arguments of commands, no more at once than a command line takes."""
    ordered = [f"./{path}" for path in sorted(paths)]
    return (ordered[start : start + _AT_ONCE] for start in range(0, len(ordered), _AT_ONCE))


def _apart(files: Workspace) -> tuple[Workspace, Workspace]:
    """The files of a workspace, and those that are git's own."""
    own = {path: data for path, data in files.items() if _is_git(path)}
    return {path: data for path, data in files.items() if path not in own}, own


def _is_git(path: str) -> bool:
    return ".git" in path.split("/")
