"""The same classes in this process or as Ray actors: ``handle.start("method", ...)`` gives a function that waits.

::

    answers = [handle.start("update", batch) for handle in handles]     # actors work at the same time
    results = [answer() for answer in answers]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Handle(Protocol):
    """One worker."""

    def start(self, method: str, *args: Any) -> Callable[[], Any]:
        """Call a method; the returned function waits for its result or raises its error."""
        ...


class Local:
    """A worker in this process: the call is done when ``start`` returns."""

    def __init__(self, worker: Any) -> None:
        self._worker = worker

    def start(self, method: str, *args: Any) -> Callable[[], Any]:
        result = getattr(self._worker, method)(*args)
        return lambda: result


class Actor:
    """A worker in a process of its own."""

    def __init__(self, cls: type, *args: Any, gpus: int = 0, env: dict[str, str] | None = None) -> None:
        import ray

        # num_cpus=0: on a small machine there are more actors than cores, and they take turns working.
        options = {"num_cpus": 0, "num_gpus": gpus, "runtime_env": {"env_vars": env or {}}}
        self._actor: Any = ray.remote(cls).options(**options).remote(*args)  # type: ignore[attr-defined]

    def start(self, method: str, *args: Any) -> Callable[[], Any]:
        import ray

        reference = getattr(self._actor, method).remote(*args)
        return lambda: ray.get(reference)
