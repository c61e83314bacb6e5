"""Choosing a backend: ``open_sandbox``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sandbox.base import Limits, Sandbox

BACKENDS = ("auto", "namespaces", "unsafe")


def check_backend(backend: str) -> None:
    """Raises ValueError for a name that is no backend's."""
    if backend not in BACKENDS:
        raise ValueError(f"no sandbox backend named {backend!r}: use {', '.join(BACKENDS)}")


def open_sandbox(
    backend: str = "auto",
    limits: Limits | None = None,
    require: Collection[str] = (),
    *,
    read_only: Sequence[str] = (),
) -> Sandbox:
    """Open a sandbox with an empty workspace.

    Args:
        backend: "namespaces", or "auto" for the strongest one that works here (today that is the same), or "unsafe":
            plain subprocesses in a temporary folder, without any isolation. Nothing falls back to "unsafe".
        limits: budgets; the defaults of :class:`Limits` when None.
        require: names of guarantees that must hold (see ``sandbox.probe.GUARANTEES``), proved by a live probe.
        read_only: more paths of the host that code inside may read, each shown at its own place.

    Raises:
        SandboxUnavailable: the backend or a required guarantee does not work here; the message names the remedy.
        ValueError: an unknown backend or guarantee, or a path that cannot be shown.
    """
    check_backend(backend)
    limits = limits or Limits()
    if require:
        from sandbox.probe import demand

        demand(backend, require)
    if backend == "unsafe":
        if read_only:
            raise ValueError("read_only has no meaning for backend='unsafe', where everything is visible: leave it out")
        from sandbox.unsafe import UnsafeSandbox

        return UnsafeSandbox(limits)
    from sandbox.namespaces import NamespaceSandbox

    return NamespaceSandbox(limits, read_only=read_only)
