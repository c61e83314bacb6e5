"""The daemon, and what of its containers is ours: by a label that says which process made them.

``prune`` (``python -m sandbox prune``) removes the containers of processes that are no more. A container ends with its
maker anyway; left are those whose maker was killed between creating and starting one, or whose daemon was.
"""

from __future__ import annotations

import contextlib
import gc
import os
import socket
from pathlib import Path
from typing import Any

from sandbox.base import SandboxError, SandboxUnavailable

INSTALL = "pip install 'codegym[docker]'"
LABEL = "codegym.sandbox"  # on every container of ours: who made it
BUILT, LOADED, PREPARED = "codegym-python", "codegym-tar", "codegym-prepared"  # names of images, see image.py
IMAGES = (PREPARED, BUILT, LOADED)  # children first
_pruned: set[int] = set()
_podmans: dict[str, bool] = {}


def place() -> str:
    """Names this machine, its boot and its process ids: who made a container can only be looked up there."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return "/".join(parts)


def started(pid: int) -> str:
    """When a process started, in the kernel's ticks; empty where there is none, "?" where that cannot be told."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        if os.path.isdir("/proc/self"):
            return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "?"


def maker() -> str:
    """The value of ``LABEL`` for containers of this process."""
    return f"{place()} {os.getpid()} {started(os.getpid())}"


def client() -> Any:
    """A client of the daemon that DOCKER_HOST names, else of the local one; the caller closes it.

    Raises:
        SandboxUnavailable: the PyPI package is missing, or no daemon answers.
    """
    try:
        import docker
    except ImportError:
        raise SandboxUnavailable(f"the docker backend needs the PyPI package 'docker': {INSTALL}") from None
    try:
        return docker.DockerClient.from_env(version="auto")
    except docker.errors.DockerException as error:
        reason = short(error)
    gc.collect()  # the client left its socket in a cycle
    where = os.environ.get("DOCKER_HOST") or "the default socket"
    raise SandboxUnavailable(
        f"no Docker daemon answers at {where} ({reason}): start it, or set DOCKER_HOST (podman's works)"
    )


def is_podman(api: Any) -> bool:
    """Whether it is podman that answers as Docker would; asked once per address."""
    address = str(api.api.base_url) + os.environ.get("DOCKER_HOST", "")
    if address not in _podmans:
        _podmans[address] = any("podman" in part["Name"].lower() for part in api.version().get("Components", ()))
    return _podmans[address]


def short(error: Exception) -> str:
    """What the daemon said, on one line."""
    return " ".join(str(getattr(error, "explanation", "") or error).split())[:300]


def remove(container: Any) -> None:
    """Remove a container, running or not, with its nameless volumes; it is gone when this returns."""
    from docker.errors import APIError, NotFound

    with contextlib.suppress(NotFound):
        try:
            container.remove(force=True, v=True)
        except NotFound:
            raise
        except APIError as error:
            if error.status_code != 409:  # someone else, the daemon itself, is removing it
                raise SandboxError(f"Docker does not remove a container: {short(error)}") from error
            container.wait(condition="removed", timeout=20)


def prune(api: Any, *, everything: bool = False) -> list[str]:
    """Remove the containers of processes that are no more; what was removed, one name each.

    Args:
        everything: remove those of living processes and of other machines too, and the images that the sandbox made.
    """
    from docker.errors import DockerException

    here, removed = place(), []
    for container in api.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
        if len(words := container.labels[LABEL].rsplit(" ", 2)) != 3:
            continue  # someone's own container of an image of ours, whose label it has
        machine, pid, start = words
        gone = started(int(pid)) != start if machine == here else container.status in ("exited", "dead")
        if everything or gone:
            remove(container)
            removed.append(f"container {container.short_id}")
    tags = [tag for found in api.images.list() for tag in found.tags] if everything else []
    for name in IMAGES:
        for tag in sorted(tag for tag in tags if tag.rsplit(":", 1)[0].rsplit("/", 1)[-1] == name):
            try:
                api.images.remove(tag)
            except DockerException as error:
                raise SandboxError(f"Docker does not remove the image {tag}: {short(error)}") from error
            removed.append(f"image {tag}")
    return removed


def prune_once(api: Any) -> None:
    """At the first sandbox of a process: sweep what killed ones left."""
    if os.getpid() not in _pruned:
        _pruned.add(os.getpid())
        prune(api)
