"""Instances in their own container images: local ones, as nothing is pulled unasked.

::

    pull("swebench/sweb.eval.x86_64.django_1776_django-15790:latest")     # what ``codegym prepare --docker`` does
    image = prepared("swebench/sweb.eval.x86_64.django_1776_django-15790:latest")
    files, executable = files_of(image)

The image's repository, at /testbed, is the task's base. What runs is not the image itself but one thin layer on it,
made once, in which /testbed has no ``.git``: neither the agent nor its code finds later commits there. The workspace is
a copy of /testbed at the sandbox's place, and what is installed in the image from /testbed is imported from the copy. A
virtual environment in /testbed (R2E-Gym's) is used where it is, and is no part of the workspace.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

from benchmarks.base import Workspace
from benchmarks.swebench.environments import Environment
from benchmarks.swebench.rows import Row
from benchmarks.swebench.running import LIMITS
from sandbox import SandboxError, open_sandbox

BASE = "/testbed"
_PYTHONS = ("/opt/miniconda3/envs/testbed/bin/python", f"{BASE}/.venv/bin/python")
# An environment that root made with uv leads to a Python below /root, which nobody else may enter.
_STRIP = f"""cd {BASE} && rm -rf .git && for file in "$@"; do
    rm -rf -- "$file" "$(dirname "$file")/__pycache__/$(basename "$file" .py)".*
done && {{ [ ! -e .venv ] || chmod a+x /root; }}"""
_TAG = "codegym-swebench"
_LARGE = replace(LIMITS, output_bytes=1 << 30)  # a built pandas takes hundreds of MB
_READ = """
import base64, json, os, sys
found, executable = {}, []
for top, folders, names in os.walk("."):
    if "pyvenv.cfg" in names:
        folders.clear()
        continue
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

    Args:
        without: files and folders, below /testbed or absolute.

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
            container.commit(*tag.split(":"), changes=[f"LABEL {LABEL}=image", *_path(base.attrs["Config"]["Env"])])
        finally:
            remove(container)
        return tag
    except DockerException as error:
        raise SandboxError(f"Docker cannot prepare the image {name!r}: {short(error)}") from None
    finally:
        api.close()


def _path(env: list[str] | None) -> list[str]:
    """The change that puts an environment in /testbed last on PATH: its Python may be older than a sandbox's."""
    found = [each.removeprefix("PATH=").split(":") for each in env or () if each.startswith("PATH=")]
    parts = sorted(found[0] if found else (), key=lambda part: part.startswith(BASE))
    return [f"ENV PATH={':'.join(parts)}"] if parts else []


def files_of(image: str, folder: str = BASE) -> tuple[Workspace, tuple[str, ...]]:
    """The regular files of the image's repository, or of another folder, built ones too, and which are executable.

    Virtual environments are left out. Raises SandboxUnavailable, and SandboxError when they cannot be read.
    """
    import base64

    found, executable = json.loads(
        _said(image, ["python3", "-I", "-c", f"import os; os.chdir({folder!r})\n{_READ}"], folder)
    )
    return {path: base64.b64decode(data) for path, data in sorted(found.items())}, tuple(sorted(executable))


def text_of(image: str, path: str) -> str:
    """A text file of the image. Raises as :func:`files_of` does."""
    return _said(image, ["cat", path], path).decode(errors="replace")


def _said(image: str, command: list[str], what: str) -> bytes:
    with open_sandbox("docker", _LARGE, image=image) as box:
        result = box.run(command, timeout=600)
    if result.exit_code != 0 or result.truncated:
        said = result.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["too much"]
        raise SandboxError(f"{what} of image {image} cannot be read: {said[0][:300]}")
    return result.stdout


@functools.cache
def environment_of(image: str) -> Environment:
    """The Python of the image: of the environment that is the testbed's, else python3. Raises SandboxError if it has
    none."""
    says = "-I -c 'import sys; print(sys.executable, *sys.version_info[:2])'"
    ask = "".join(f"test -x {each} && exec {each} {says}\n" for each in _PYTHONS) + f"exec python3 {says}"
    with open_sandbox("docker", LIMITS, image=image) as box:
        result = box.run(["sh", "-c", ask])
        git = box.run(["sh", "-c", "command -v git"]).exit_code == 0
    try:
        path, major, minor = result.stdout.decode().split()
    except ValueError:
        raise SandboxError(f"image {image} has no Python that runs") from None
    return Environment(folder=None, python=path, version=f"{major}.{minor}", shown=(), image=image, git=git)
