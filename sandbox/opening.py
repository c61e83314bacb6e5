"""Choosing a backend: ``open_sandbox``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sandbox.base import Limits, Sandbox, SandboxUnavailable

BACKENDS = ("auto", "namespaces", "docker", "unsafe")
#: What "auto" tries, the strongest first. Both give the same guarantees; namespaces leave less in sight (no /sys).
AUTO = ("namespaces", "docker")


def check_backend(backend: str, known: Sequence[str] = BACKENDS) -> None:
    """Raises ValueError for a name that is no backend's."""
    if backend not in known:
        raise ValueError(f"no sandbox backend named {backend!r}: use {', '.join(known)}")


def open_sandbox(
    backend: str = "auto",
    limits: Limits | None = None,
    require: Collection[str] = (),
    *,
    read_only: Sequence[str] = (),
    image: str | None = None,
    packages: Sequence[str] = (),
) -> Sandbox:
    """Open a sandbox with an empty workspace. Its ``backend`` says which one it is.

    Args:
        backend: "namespaces"; "docker" (needs a daemon and an image); "auto" for the first of these two that works here
            and gives what is required; or "unsafe": plain subprocesses in a temporary folder, without any isolation.
            Nothing falls back to "unsafe".
        limits: budgets; the defaults of :class:`Limits` when None.
        require: names of guarantees that must hold (see ``sandbox.probe.GUARANTEES``), proved by a live probe.
        read_only: more paths of the host that code inside may read, each shown at its own place.
        packages: installed distributions that Python code inside can import, with all they require (such as "pytest");
            backend="namespaces" only.
        image: of Docker: a name that the daemon knows, or the path of a tar; needs backend="docker".

    Raises:
        SandboxUnavailable: the backend or a required guarantee does not work here; the message names the remedy.
        SandboxError: the machine failed; another try may succeed.
        ValueError: an unknown backend or guarantee, or a path that cannot be shown.
    """
    check_backend(backend)
    limits = limits or Limits()
    if image is not None and backend != "docker":
        raise ValueError(f"image={image!r} has no meaning for backend={backend!r}: use backend='docker'")
    if packages and backend not in ("auto", "namespaces"):
        raise ValueError(f"packages has no meaning for backend={backend!r}: use backend='namespaces'")
    if backend == "unsafe" and read_only:
        raise ValueError("read_only has no meaning for backend='unsafe', where everything is visible: leave it out")
    if backend != "auto":
        return _open(backend, limits, require, read_only, image, packages)
    reasons = []
    for candidate in AUTO if not packages else ("namespaces",):
        try:
            return _open(candidate, limits, require, read_only, None, packages)
        except SandboxUnavailable as error:
            reasons.append(f"{candidate}: {error}")
    raise SandboxUnavailable("; or ".join(reasons))


def _open(
    backend: str,
    limits: Limits,
    require: Collection[str],
    read_only: Sequence[str],
    image: str | None,
    packages: Sequence[str],
) -> Sandbox:
    if require:
        from sandbox.probe import demand

        demand(backend, require)
    if backend == "docker":
        from sandbox.docker import DockerSandbox

        return DockerSandbox(limits, image=image, read_only=read_only)
    if backend == "unsafe":
        from sandbox.unsafe import UnsafeSandbox

        return UnsafeSandbox(limits)
    from sandbox.namespaces import NamespaceSandbox

    return NamespaceSandbox(limits, read_only=read_only, packages=packages)
