"""Boxes of every backend, and a check after every test that nothing was left behind."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
import tempfile
from pathlib import Path

import pytest

from sandbox import SandboxUnavailable, open_runner, open_sandbox
from sandbox.namespaces.cgroup import _parents

# By the names that sandboxes give their mounts: those of the machine, of other people's containers too, come and go.
_OURS = re.compile(r" - (tmpfs (box|cover)|overlay workspace) | /(newroot|oldroot)[/ ]")


def groups_of_this_process() -> list[str]:
    try:
        parents = set(_parents()[1].values())
    except OSError:
        return []  # no groups are made here
    return sorted(str(group) for parent in parents for group in parent.glob(f"codegym-{os.getpid()}-*"))


def leftovers() -> dict[str, list[str]]:
    """What a sandbox could forget: children of this process, mounts, control groups, folders, descriptors."""
    children: list[str] = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that ended meanwhile
            children += (task / "children").read_text().split()
    return {
        "processes": sorted(children),
        "mounts": [m for m in Path("/proc/self/mountinfo").read_text().splitlines() if _OURS.search(m)],
        "groups": groups_of_this_process(),
        "folders": sorted(str(p) for p in Path(tempfile.gettempdir()).glob(f"codegym-unsafe-{os.getpid()}-*")),
        "descriptors": sorted(os.listdir("/proc/self/fd")),
    }


@pytest.fixture(autouse=True)
def nothing_left():
    before = leftovers()
    yield
    assert leftovers() == before


@pytest.fixture(scope="session", autouse=True)
def kept_keeper():
    """Where test_as_user.py asks for it all tests use one keeper: to start its own is half of what a test costs."""
    with contextlib.ExitStack() as stack:
        if os.environ.get("CODEGYM_TEST_KEEPER"):
            stack.enter_context(open_sandbox("namespaces"))
            stack.enter_context(open_runner(backend="namespaces"))
        yield


@functools.cache
def no_docker() -> str:
    """Why Docker cannot be used here; empty where it can."""
    from sandbox.docker import daemon, image

    try:
        with contextlib.closing(daemon.client()) as api:
            image.find(api, None)
    except SandboxUnavailable as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def docker_works() -> None:
    """Skip where there is no daemon; fail where .ci/run started one."""
    if reason := no_docker():
        if os.environ.get("CODEGYM_TEST_DOCKER"):
            pytest.fail(f"Docker was started, but: {reason}")
        pytest.skip(reason)


def containers() -> list[str]:
    """What this process has in Docker."""
    from sandbox.docker import daemon

    with contextlib.closing(daemon.client()) as api:
        found = api.containers.list(all=True, filters={"label": f"{daemon.LABEL}={daemon.maker()}"})
    return [c.short_id for c in found]


@pytest.fixture(scope="session")
def attacks():
    """The module test_isolation.py, for other boxes than its own."""
    spec = importlib.util.spec_from_file_location("attacks", Path(__file__).with_name("test_isolation.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["namespaces", "docker", "unsafe"])
def backend(request):
    if request.param != "docker":
        yield request.param
        return
    request.getfixturevalue("docker_works")
    yield request.param
    assert containers() == []


@pytest.fixture
def box(backend, nothing_left):
    with open_sandbox(backend) as opened:
        yield opened


@pytest.fixture
def jail(nothing_left):
    """A sandbox of namespaces. Where those do not work the test fails, and the error says what to install."""
    with open_sandbox("namespaces") as opened:
        yield opened
