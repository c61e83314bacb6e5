"""Choosing a backend: ``open_sandbox``."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Collection, Sequence

from sandbox.base import Limits, Sandbox, SandboxUnavailable

BACKENDS = ("auto", "namespaces", "docker", "unsafe")
#: What "auto" tries, the strongest first: namespaces leave less in sight (no /sys). But without a control group they do
#: not limit the memory and the CPU share of a whole tree, as Docker does, which then comes before them.
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
        backend: "namespaces"; "docker" (needs a daemon and an image); "auto" for the stronger of these two, if it works
            here and gives what is required; or "unsafe": plain subprocesses in a temporary folder, without isolation.
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
    try:
        box = _open("namespaces", limits, require, read_only, None, packages)
    except SandboxUnavailable as error:
        reason = f"namespaces: {error}"
        if packages:
            raise SandboxUnavailable(reason) from error
        try:
            return _open("docker", limits, require, read_only, None, packages)
        except SandboxUnavailable as other:
            raise SandboxUnavailable(f"{reason}; or docker: {other}") from other
    if box.limits_tree or packages or not _docker_works(os.environ.get("DOCKER_HOST")):
        return box
    try:
        stronger = _open("docker", limits, require, read_only, None, packages)
    except SandboxUnavailable:
        return box
    except BaseException:
        box.close()
        raise
    box.close()
    return stronger


@functools.cache
def _docker_works(host: str | None) -> bool:
    """Whether Docker gives every guarantee here; podman does not limit the disk as namespaces do.

    Asked once, as it takes tenths of a second, and only where something may answer.
    """
    if not host and not os.access("/var/run/docker.sock", os.W_OK):
        return False
    from sandbox.docker import daemon, image

    try:
        with contextlib.closing(daemon.client()) as api:
            image.find(api, None)
            return not daemon.is_podman(api)
    except SandboxUnavailable:
        return False


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
