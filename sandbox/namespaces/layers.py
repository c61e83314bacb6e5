"""Snapshots of a workspace of namespaces: stacks of layers, or copies.

A layer is a folder in a sandbox's tmpfs that nothing can change any more. The host holds that tmpfs, so layers outlive
their sandbox, and others can put them under a workspace of theirs. A snapshot by layers takes about as long for a
thousand files as for one. A copy is taken where layers cannot be: while a shell is open (its processes are in the
workspace), when the stack is high, and where the kernel has no overlays for it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import weakref
from dataclasses import dataclass, field
from typing import Any

from sandbox.archive import Archive, load, save
from sandbox.base import SandboxError, Snapshot, WorkspaceError
from sandbox.namespaces.box import Box
from sandbox.namespaces.family import Family, join

_MAX_LAYERS = 16  # of one workspace: each costs every look-up of a file a little


class Source:
    """The tmpfs of a box, kept after its end for the snapshots that are in it."""

    def __init__(self, box: Box) -> None:
        self.box = weakref.ref(box)
        self._fds = box.request(("source",))[1]
        self._family = join(box.sight)
        self._free = weakref.finalize(self, _free, self._family, self._fds, os.getpid())

    def lend(self, names: list[str], *, idle: bool) -> list[int]:
        """Layers for another sandbox to attach, each once. Raises SandboxError.

        ``idle``: the box lives and runs nothing, so that its PID 1 can do it; the keeper would fork a process for it.
        """
        box = self.box()
        if idle and box is not None:
            return box.request(("lend", names))[1]
        return self._family.lend(names, self._fds)


def _free(family: Family, fds: list[int], pid: int) -> None:
    for fd in fds:
        os.close(fd)
    if os.getpid() == pid:
        family.leave()


class Layer:
    """One frozen folder of a source, which deletes it when nothing needs it."""

    def __init__(self, source: Source, name: str) -> None:
        self.source, self.name, self._pid = source, name, os.getpid()

    def __del__(self) -> None:
        box = self.source.box()
        if box is not None and os.getpid() == self._pid:
            box.unused.append(self.name)


@dataclass
class NamespaceSnapshot(Snapshot):
    """A stack of layers, the newest first, or a copy; neither when closed."""

    layers: tuple[Layer, ...] = ()
    copy: Archive | None = None
    closed: bool = field(default=False)

    def close(self) -> None:
        self.layers, self.copy, self.closed = (), None, True


class Workspace:
    """The snapshots of one box. Not thread-safe: the sandbox's lock is held, and no command runs."""

    def __init__(self, box: Box) -> None:
        self._box = box
        self._source: Source | None = None
        self._below: tuple[Layer, ...] = ()
        self._layered = True

    def snapshot(self, *, copy: bool = False) -> NamespaceSnapshot:
        """Raises WorkspaceError when there is no room, and SandboxError; the workspace is as before."""
        self._tidy()
        if copy or not self._layered:
            return NamespaceSnapshot(copy=self._saved())
        if len(self._below) >= _MAX_LAYERS:
            archive = self._saved()
            if not archive.whole or not self._flattened(archive):
                return NamespaceSnapshot(copy=archive)
        try:
            return NamespaceSnapshot(self._freeze())
        except SandboxError:
            self._box.check()
            self._layered = False  # this kernel has no overlay, or none for ordinary users on a tmpfs
        return NamespaceSnapshot(copy=self._saved())

    def _flattened(self, archive: Archive) -> bool:
        """Make the workspace one layer, of the same files, so that the next snapshots are quick. False without room."""
        with contextlib.suppress(WorkspaceError):
            self._fill(archive)
            return True
        return False

    def _freeze(self) -> tuple[Layer, ...]:
        self._source = self._source or Source(self._box)
        frozen = self._exchange("freeze", self._below)
        if frozen:
            self._below = (Layer(self._source, frozen), *self._below)
        return self._below

    def _exchange(self, request: str, layers: tuple[Layer, ...], idle: Source | None = None) -> Any:
        """A request about a stack of layers: the box knows its own by name, and borrows the others."""
        names, borrowed = list[str](), list[int]()
        try:
            for source, group in itertools.groupby(layers, key=lambda layer: layer.source):
                own = [layer.name for layer in group]
                if source is self._source:
                    names += own
                else:
                    names += [""] * len(own)
                    borrowed += source.lend(own, idle=source is idle)
            return self._box.exchange((request, names), borrowed)
        finally:
            for fd in borrowed:
                os.close(fd)

    def _saved(self) -> Archive:
        with self._box.workspace() as root:
            return save(root, self._box.limits.disk_bytes, self._box.limits.files)

    def restore(self, snapshot: NamespaceSnapshot, idle: Source | None = None) -> None:
        """Raises as ``snapshot`` does; the workspace is as before. ``idle``: its box runs nothing meanwhile."""
        if snapshot.copy is not None:
            self._fill(snapshot.copy)
        else:
            self._stack(snapshot.layers, idle)
        self._tidy()

    def _stack(self, layers: tuple[Layer, ...], idle: Source | None) -> None:
        """Make the workspace a stack of layers."""
        self._exchange("restore", layers, idle)
        self._below = layers

    def _fill(self, archive: Archive) -> None:
        """Make the workspace a copy of an archive."""
        name, (fd,) = self._box.request(("empty",))
        try:
            load(fd, archive, self._box.owner)
            self._box.exchange(("replace", name))
        except BaseException:
            self._box.unused.append(name)
            self._tidy()
            raise
        finally:
            os.close(fd)
        self._below = ()

    def fork_into(self, other: Workspace, *, copy: bool) -> None:
        """Make another workspace what this one is now."""
        snapshot = self.snapshot(copy=copy)
        try:
            other.restore(snapshot, self._source)
        except SandboxError:
            self._box.check()
            other.restore(NamespaceSnapshot(copy=self._saved()))  # this kernel does not let others have the layers

    def clear(self) -> None:
        """The box has ended."""
        self._source, self._below = None, ()

    def _tidy(self) -> None:
        """Delete the layers that no snapshot and no workspace needs."""
        names = []
        while self._box.unused:
            names.append(self._box.unused.popleft())
        if names:
            self._box.request(("drop", names))
