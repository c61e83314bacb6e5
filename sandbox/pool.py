"""A pool of ready sandboxes: opening one takes it from the pool, and a thread opens the next meanwhile.

::

    with Pool(4, limits=Limits(wall_s=5)) as pool:
        with pool.open() as box:
            box.run(["true"])

Every sandbox is used by one taker and then gone: nothing is reset, so nothing can be left over. A fork of a sandbox
from a pool is taken from the pool too. The arguments are those of :func:`sandbox.open_sandbox`.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Collection, Sequence

from sandbox.base import Limits, Sandbox, SandboxError
from sandbox.opening import open_sandbox

_PAUSE_S = 0.01  # before what was taken is replaced, as long as more are ready: what it was taken for comes first


class Pool:
    """Keeps ``size`` sandboxes ready. Thread-safe; belongs to the process that made it.

    Raises:
        SandboxUnavailable, ValueError: as :func:`sandbox.open_sandbox`, here and not later: the first sandbox is opened
            at once.
    """

    def __init__(
        self,
        size: int,
        backend: str = "auto",
        limits: Limits | None = None,
        require: Collection[str] = (),
        *,
        read_only: Sequence[str] = (),
        image: str | None = None,
        packages: Sequence[str] = (),
    ) -> None:
        if size < 1:
            raise ValueError(f"size={size}: a pool needs at least 1 sandbox")
        self._arguments = (backend, limits, require)
        self._options = {"read_only": read_only, "image": image, "packages": packages}
        self._size, self._pid = size, os.getpid()
        self._changed = threading.Condition()
        self._ready: deque[Sandbox] = deque()
        self._failure: Exception | None = None
        self._closed = False
        self._ready.append(self._new())
        self._filler = threading.Thread(target=self._fill, name="sandbox-pool", daemon=True)
        self._filler.start()

    def _new(self) -> Sandbox:
        box = open_sandbox(*self._arguments, **self._options)  # type: ignore[arg-type]
        box.spare = self.open
        return box

    def _fill(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or (len(self._ready) < self._size and not self._failure))
                if self._ready:
                    self._changed.wait_for(lambda: self._closed or not self._ready, _PAUSE_S)
                if self._closed:
                    return
            try:
                box = self._new()
            except Exception as error:  # told to the next taker, who then may try again
                with self._changed:
                    self._failure = error
                    self._changed.notify_all()
                continue
            with self._changed:
                if self._closed:
                    box.close()
                    return
                self._ready.append(box)
                self._changed.notify_all()

    def open(self) -> Sandbox:
        """A sandbox with an empty workspace; the caller closes it. Waits if none is ready.

        Raises what opening one raised, and SandboxError when the pool is closed or belongs to another process.
        """
        if os.getpid() != self._pid:
            raise SandboxError("this pool belongs to another process: make one in each process")
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._ready or self._failure)
            if self._closed:
                raise SandboxError("this pool is closed: make another")
            if not self._ready:
                failure, self._failure = self._failure, None
                self._changed.notify_all()
                assert failure is not None
                raise failure
            box = self._ready.popleft()
            self._changed.notify_all()
        return box

    def close(self) -> None:
        """Free what is ready; sandboxes that were taken live on. May be called twice."""
        if os.getpid() != self._pid:
            return  # a fork only has copies, and perhaps a lock that the filler held
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._filler.join()
        while self._ready:
            self._ready.pop().close()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
