"""A running container with our PID 1 in it: how it is made, whose it is, and how it goes away.

The connection to its standard input is its life: when it ends, by ``close`` or by the death of this process, PID 1
ends, and the daemon removes the container (sandbox/docker/daemon.py removes what is left all the same).
"""

from __future__ import annotations

import itertools
import marshal
import os
import weakref
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Any

from sandbox.base import Limits, SandboxError, SandboxUnavailable
from sandbox.docker.channel import Channel
from sandbox.docker.daemon import LABEL, is_podman, maker, remove, short
from sandbox.docker.profile import option

ALLOWANCE = 32 << 20  # bytes over Limits.memory_bytes for PID 1, which the container's limit counts
_START_S = 30.0
# Of its own per container, where user namespaces of 65,536 ids have room: the kernel's budgets per user.
_UID_BASE, _UID_COUNT = 20_000, 40_000
_NUMBERS = itertools.count()
# PID 1's: change to the sandbox uid, own its folders, drop the rest, kill. Commands get none.
_CAPABILITIES = ("SETUID", "SETGID", "SETPCAP", "CHOWN", "KILL")
_MODULES = (
    "sandbox.base",
    "sandbox.files",
    "sandbox.namespaces.seccomp",
    "sandbox.namespaces.init",
    "sandbox.docker.frames",
    "sandbox.processes",
    "sandbox.docker.tree",
    "sandbox.docker.command",
    "sandbox.docker.inside",
)
SHELL_MODULES = ("sandbox.collect", "sandbox.shell", "sandbox.session", "sandbox.ground", "sandbox.docker.inside_shell")
# Reads the length of (modules, configuration) and then these from stdin, and boots the last module.
_BOOT = """
import os, sys, marshal
def take(n):
    b = b""
    while len(b) < n:
        c = os.read(0, n - len(b))
        if not c:
            os._exit(0)
        b += c
    return b
def load(modules):
    kind = type(sys)
    for name, text in modules:
        for package in (name.rsplit(".", 1)[0], "sandbox"):
            sys.modules.setdefault(package, kind(package)).__path__ = []
        module = sys.modules[name] = kind(name)
        exec(compile(text, "<" + name + ">", "exec", dont_inherit=True), module.__dict__)
        setattr(sys.modules[name.rsplit(".", 1)[0]], name.rsplit(".", 1)[1], module)
    return module
modules, config = marshal.loads(take(int.from_bytes(take(4), "little")))
load(modules).boot(config, load)
"""


def sources(names: Sequence[str] = _MODULES) -> list[tuple[str, str]]:
    """The modules that run inside, as text: by default those of PID 1."""
    root = Path(__file__).parents[2]
    return [(name, (root / (name.replace(".", "/") + ".py")).read_text()) for name in names]


class Container:
    """One container, its connection and its client.

    Args:
        image: id of an image that :func:`sandbox.docker.image.find` prepared.
        network: a Docker network; "none" has only a loopback of its own.
        read_only: paths of the daemon's machine to show, each at its own place.

    Raises:
        SandboxUnavailable: it cannot start; the message says why.
    """

    def __init__(
        self, api: Any, image: str, limits: Limits, *, network: str = "none", read_only: Sequence[str] = ()
    ) -> None:
        from docker.errors import DockerException

        self.uid = _UID_BASE + (os.getpid() * 997 + next(_NUMBERS)) % _UID_COUNT
        # PID 1 must have room when the workspace is full: what the tmpfs holds counts as memory too.
        disk = min(limits.disk_bytes, limits.memory_bytes)
        with option(is_podman(api)) as security:
            try:
                container = _create(api, image, limits, disk, network, read_only, security)
            except DockerException as error:
                raise SandboxUnavailable(f"Docker does not make the container: {short(error)}") from None
            self.id = container.id
            connected: list[Any] = []  # filled by _connect; what _end closes at the end, however far that gets
            self._finish = weakref.finalize(self, _end, os.getpid(), api, container, connected)
            try:
                self.channel = _connect(container, connected)
                boot = marshal.dumps((sources(), self._config(limits, disk)), 4)
                self.channel.raw(len(boot).to_bytes(4, "little") + boot)
                self.channel.next(0, _START_S)
            except DockerException as error:
                self.close()
                raise SandboxUnavailable(f"the container does not start: {short(error)}{_hint(error)}") from None
            except SandboxError as error:
                self.close()
                raise SandboxUnavailable(
                    f"PID 1 does not start in this image ({error}): it needs python3, 3.8 or newer"
                ) from None
            except BaseException:
                self.close()
                raise

    def _config(self, limits: Limits, disk: int) -> dict[str, Any]:
        return {
            "uid": self.uid,
            "gid": self.uid,
            "drop_uid": True,
            "disk_bytes": disk,
            "files": limits.files,
            "cpu_s": ceil(limits.cpu_s),
            "last_capability": 63,
            "limits": dict(vars(limits)),
        }

    def close(self) -> None:
        """Kill and remove it. It is gone when this returns."""
        self._finish()


def _create(
    api: Any, image: str, limits: Limits, disk: int, network: str, read_only: Sequence[str], security: str
) -> Any:
    from docker.types import LogConfig, Mount

    volumes = api.images.get(image).attrs["Config"].get("Volumes") or {}
    mounts = [Mount(path, path, type="bind", read_only=True) for path in read_only]
    mounts += [Mount(path, None, type="volume", read_only=True) for path in volumes]
    memory = limits.memory_bytes + ALLOWANCE
    tmpfs = {"/box": f"rw,exec,nosuid,nodev,size={disk},mode=755"}
    if is_podman(api):
        # It refuses a limit on inodes, and would mount these itself, for all to write and without a size.
        temporary = f"rw,nosuid,nodev,size={disk},mode=1777"
        tmpfs |= {"/run": "ro,nosuid,nodev,size=4k,mode=555", "/tmp": temporary, "/var/tmp": temporary}
    else:
        tmpfs["/box"] += f",nr_inodes={limits.files}"
    return api.containers.create(
        image,
        ["-I", "-S", "-c", _BOOT],
        entrypoint=["python3"],
        user="0:0",
        working_dir="/",
        hostname="sandbox",
        labels={LABEL: maker()},
        stdin_open=True,
        auto_remove=True,
        network_mode=network,
        ipc_mode="none",  # no /dev/shm of the daemon's size: PID 1 puts it into the workspace's tmpfs
        read_only=True,
        tmpfs=tmpfs,
        mounts=mounts,
        mem_limit=memory,
        memswap_limit=memory,  # no swap on top
        pids_limit=limits.pids + 1,  # and PID 1
        nano_cpus=int(limits.cpus * 1e9) if limits.cpus else None,
        cap_drop=["ALL"],
        cap_add=list(_CAPABILITIES),
        security_opt=["no-new-privileges", security],
        log_config=LogConfig(type="none"),  # what passes is the channel's: no copy on the daemon's disk
        healthcheck={"test": ["NONE"]},
    )


def _connect(container: Any, connected: list[Any]) -> Channel:
    """Attach to the container's standard streams and start it."""
    attached = container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    connection = getattr(attached, "_sock", attached)
    connected += [attached, connection]
    connection.settimeout(None)
    container.start()
    channel = Channel(connection)
    connected.append(channel)
    return channel


def _hint(error: Exception) -> str:
    return "; the image needs python3, 3.8 or newer" if "executable file not found" in str(error) else ""


def _end(pid: int, api: Any, container: Any, connected: list[Any]) -> None:
    try:
        if os.getpid() == pid:  # a fork of the opener only lets go of its copies
            remove(container)
    finally:
        for end in reversed(connected):
            end.close()
        api.close()
