"""Instances in their own container images: local ones, as nothing is pulled unasked.

::

    pull("swebench/sweb.eval.x86_64.django_1776_django-15790:latest")     # what ``codegym prepare --docker`` does
    image = prepared("swebench/sweb.eval.x86_64.django_1776_django-15790:latest")
    files, executable = files_of(image)

The image's repository, at /testbed, is the task's base. What runs is not the image itself but one thin layer on it,
made once, in which /testbed has no ``.git``: neither the agent nor its code finds later commits there. The workspace is
a copy of /testbed at the sandbox's place, and what is installed in the image from /testbed is imported from the copy.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable

from benchmarks.base import Workspace
from benchmarks.swebench.environments import Environment
from benchmarks.swebench.rows import Row
from benchmarks.swebench.running import LIMITS
from sandbox import SandboxError, open_sandbox

BASE = "/testbed"
_CONDA = "/opt/miniconda3/envs/testbed/bin/python"
_STRIP = f"""cd {BASE} && rm -rf .git && for file in "$@"; do
    rm -f -- "$file" "$(dirname "$file")/__pycache__/$(basename "$file" .py)".*
done"""
_TAG = "codegym-swebench"
_READ = """
import base64, json, os, sys
found, executable = {}, []
for top, folders, names in os.walk("."):
    for name in names:
        path = os.path.join(top, name)[2:]
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as file:
                found[path] = base64.b64encode(file.read()).decode()
            if os.access(path, os.X_OK):
                executable.append(path)
json.dump([found, executable], sys.stdout)
"""


def name_of(row: Row, pattern: str = "") -> str:
    """The row's image: by the pattern, else its own column, else swebench's name for it.

    Args:
        pattern: may hold ``{instance_id}``, and ``{owner}`` and ``{name}``, its parts around the first ``__``; all in
            lower case. SWE-Gym's is ``xingyaoww/sweb.eval.x86_64.{owner}_s_{name}:latest``.

    Raises ValueError for a pattern that holds something else.
    """
    known = row.instance_id.lower()
    if not pattern:
        return row.image or f"swebench/sweb.eval.x86_64.{known.replace('__', '_1776_')}:latest"
    owner, _, name = known.partition("__")
    try:
        return pattern.format(instance_id=known, owner=owner, name=name)
    except (LookupError, ValueError):
        raise ValueError(f"image={pattern!r}: it may hold {{instance_id}}, {{owner}} and {{name}}") from None


def pull(name: str, progress: Callable[[int, int], None] = lambda done, total: None) -> bool:
    """Get an image from its registry; one that is here is left as it is. Whether it had to be got.

    Args:
        progress: called with bytes that are here, and bytes of all layers that are known by now.

    Raises SandboxUnavailable without a daemon, SandboxError when it cannot get the image.
    """
    from sandbox.docker.daemon import client, short

    api = client()
    from docker.errors import DockerException, ImageNotFound  # after client(), which says how to install it

    layers: dict[str, tuple[int, int]] = {}
    try:
        try:
            api.images.get(name)
            return False
        except ImageNotFound:
            pass
        for event in api.api.pull(name, stream=True, decode=True):
            if "error" in event:
                raise SandboxError(f"Docker cannot pull {name}: {event['error']}")
            detail = event.get("progressDetail") or {}
            if event.get("status") == "Downloading" and detail.get("total"):
                layers[event["id"]] = detail["current"], detail["total"]
            elif event.get("status") == "Download complete" and event["id"] in layers:
                layers[event["id"]] = (layers[event["id"]][1],) * 2
            if layers:
                progress(sum(done for done, _ in layers.values()), sum(total for _, total in layers.values()))
        return True
    except DockerException as error:
        raise SandboxError(f"Docker cannot pull {name}: {short(error)}") from None
    finally:
        api.close()


def size(name: str) -> int:
    """Bytes of an image that is here, with the layers that it shares with others."""
    from sandbox.docker.daemon import client

    api = client()
    try:
        return int(api.images.get(name).attrs["Size"])
    finally:
        api.close()


@functools.cache
def prepared(name: str, without: tuple[str, ...] = ()) -> str:
    """The tag of the image without the history of its repository, and without these files of it, compiled ones too.

    Raises SandboxError: other images may be there, so it is this task that cannot be run.
    """
    from sandbox.docker.daemon import LABEL, client, maker, remove, short

    api = client()
    from docker.errors import DockerException, ImageNotFound  # after client(), which says how to install it

    try:
        try:
            base = api.images.get(name)
        except ImageNotFound:
            raise SandboxError(
                f"Docker has no image {name!r} (nothing is pulled unasked): docker pull {name}, or codegym prepare "
                "--docker for a data set"
            ) from None
        digest = f"-{hashlib.sha256(repr(without).encode()).hexdigest()[:16]}" if without else ""
        tag = f"{_TAG}:{base.id.split(':')[-1][:32]}{digest}"
        try:
            api.images.get(tag)
            return tag
        except ImageNotFound:
            pass
        command = ["-c", _STRIP, "sh", *without]
        container = api.containers.create(
            base.id, command, entrypoint=["sh"], user="0:0", network_mode="none", labels={LABEL: maker()}
        )
        try:
            container.start()
            if container.wait()["StatusCode"] != 0:
                raise SandboxError(f"the image {name!r} holds no {BASE}, so it is no image of SWE-bench")
            container.commit(*tag.split(":"), changes=[f"LABEL {LABEL}=image"])
        finally:
            remove(container)
        return tag
    except DockerException as error:
        raise SandboxError(f"Docker cannot prepare the image {name!r}: {short(error)}") from None
    finally:
        api.close()


def files_of(image: str) -> tuple[Workspace, tuple[str, ...]]:
    """The regular files of the image's repository, built ones too, and which are executable.

    Raises SandboxUnavailable, and SandboxError when they cannot be read.
    """
    import base64

    with open_sandbox("docker", LIMITS, image=image) as box:
        result = box.run(["python3", "-I", "-c", f"import os; os.chdir({BASE!r})\n{_READ}"], timeout=600)
    if result.exit_code != 0 or result.truncated:
        raise SandboxError(f"{BASE} of image {image} cannot be read: {result.stderr[-300:].decode(errors='replace')}")
    found, executable = json.loads(result.stdout)
    return {path: base64.b64decode(data) for path, data in sorted(found.items())}, tuple(sorted(executable))


@functools.cache
def environment_of(image: str) -> Environment:
    """The Python of the image: conda's environment ``testbed``, else python3. Raises SandboxError if it has none."""
    ask = f"test -x {_CONDA} && exec {_CONDA} -I -c '{{0}}' || exec python3 -I -c '{{0}}'".format(
        "import sys; print(sys.executable, *sys.version_info[:2])"
    )
    with open_sandbox("docker", LIMITS, image=image) as box:
        result = box.run(["sh", "-c", ask])
        git = box.run(["sh", "-c", "command -v git"]).exit_code == 0
    try:
        path, major, minor = result.stdout.decode().split()
    except ValueError:
        raise SandboxError(f"image {image} has no Python that runs") from None
    return Environment(folder=None, python=path, version=f"{major}.{minor}", shown=(), image=image, git=git)
