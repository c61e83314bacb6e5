"""Images for containers of the sandbox: found by name or in a local tar, prepared once, or made of this machine.

``find`` gives the id of an image whose /tmp and /var/tmp are symlinks into the sandbox's one sized tmpfs; where an
image has folders there, a thin layer on top of it, made once and tagged, changes that. ``build`` (``python -m sandbox
image``) makes an image with this interpreter and the usual text tools, for machines that reach no registry.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox.base import SandboxUnavailable
from sandbox.docker.daemon import BUILT, LABEL, LOADED, PREPARED, maker, remove
from sandbox.namespaces import bwrap

VARIABLE = "CODEGYM_DOCKER_IMAGE"
_LAYOUT = "codegym.layout"  # label: the symlinks are there
_LINKS = {"tmp": "/box/tmp", "var/tmp": "/box/tmp"}
_PROGRAMS = """
    [ awk base64 basename bash cat chgrp chmod chown cksum cmp comm cp cut date dd df diff dirname du echo env
    expand expr false find fmt fold getconf grep egrep fgrep gzip head hostname id install join kill ln ls
    md5sum mkdir mkfifo mknod mktemp mv nl nohup nproc od paste patch pr printenv printf ps pwd readlink
    realpath rev rm rmdir sed seq setsid sh sha256sum shuf sleep sort split stat stty sum sync tac tail tar tee
    test timeout touch tr true truncate tsort tty uname unexpand uniq unlink wc which whoami xargs yes
"""
_WHEELS = ("libgcc_s.so.1", "libstdc++.so.6")  # what compiled packages take for granted
_LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idlelib", "turtledemo", "ensurepip", "tkinter"}
_ETC = {
    "etc/passwd": b"root:x:0:0::/:/bin/sh\n",
    "etc/group": b"root:x:0:\n",
    "etc/nsswitch.conf": b"passwd: files\ngroup: files\nhosts: files\n",
}


def default() -> str:
    """The image taken when none is named."""
    return os.environ.get(VARIABLE) or BUILT


def find(api: Any, image: str | None) -> str:
    """The id of the prepared image.

    Args:
        image: a name known to the daemon, or the path of a tar (of ``docker save``, or of a root file system); None for
            the name in CODEGYM_DOCKER_IMAGE, else for the one that ``python -m sandbox image`` makes.

    Raises:
        SandboxUnavailable: there is no such image; nothing is pulled.
    """
    from docker.errors import DockerException, ImageNotFound

    name = image or default()
    try:
        if os.path.isfile(name):
            name = _load(api, name)
        try:
            found = api.images.get(name)
        except ImageNotFound:
            remedy = "python -m sandbox image" if name == BUILT else f"docker pull {name}, or give the path of its tar"
            raise SandboxUnavailable(f"Docker has no image {name!r} (nothing is pulled unasked): {remedy}") from None
        return str(found.id if _LAYOUT in (found.labels or {}) else _prepare(api, found))
    except DockerException as error:
        raise SandboxUnavailable(f"Docker cannot use the image {name!r}: {error}") from None


def _load(api: Any, path: str) -> str:
    """The tag of the image in a tar file, which is sent to the daemon unless this very file was before."""
    from docker.errors import ImageNotFound

    status = os.stat(path)
    key = f"{os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}"
    tag = f"{LOADED}:{hashlib.sha256(key.encode(errors='surrogateescape')).hexdigest()[:32]}"
    try:
        api.images.get(tag)
        return tag
    except ImageNotFound:
        pass
    try:
        with tarfile.open(path) as tar:
            saved = "manifest.json" in tar.getnames()
    except tarfile.TarError as error:
        raise SandboxUnavailable(
            f"{path} is no tar of an image ({error}): use docker save, or a root file system"
        ) from None
    if saved:
        with open(path, "rb") as file:
            loaded = api.images.load(file)
        loaded[0].tag(*tag.split(":"))
    else:
        api.api.import_image_from_file(path, tag)  # podman takes no tag of its own argument
    return tag


def _links() -> bytes:
    """A tar of the symlinks; each replaces a folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, target in _LINKS.items():
            tar.addfile(_symlink(name, target))
    return buffer.getvalue()


def _symlink(name: str, target: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
    return entry


def _prepare(api: Any, base: Any) -> str:
    from docker.errors import ImageNotFound

    tag = f"{PREPARED}:{base.id.split(':')[-1][:32]}"
    try:
        return str(api.images.get(tag).id)
    except ImageNotFound:
        pass
    container = api.containers.create(base.id, ["-"], entrypoint=["-"], labels={LABEL: maker()}, network_mode="none")
    try:
        container.put_archive("/", _links())
        changes = [f"LABEL {_LAYOUT}=1 {LABEL}=image"]  # not the maker of the container it was made of
        return str(container.commit(*tag.split(":"), changes=changes).id)
    finally:
        remove(container)


def build(api: Any) -> str:
    """Make ``BUILT`` of this machine's interpreter, its standard library and the usual text tools; its id.

    Raises:
        SandboxUnavailable: this is not Linux, whose programs a container needs.
    """
    if sys.platform != "linux":
        raise SandboxUnavailable(
            f"an image of Linux programs cannot be made of {sys.platform}'s: docker pull one with Python"
        )
    changes = [f"LABEL {_LAYOUT}=1", f"ENV PATH={bwrap.search_path()}"]
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            _fill(tar)
        file.flush()
        api.api.import_image_from_file(file.name, BUILT, "latest", changes=changes)
    return str(api.images.get(BUILT).id)


def _fill(tar: tarfile.TarFile) -> None:
    added: set[str] = set()

    def add(source: str, name: str) -> None:
        """A regular file under a name, owned by root; what the source's symlinks lead to."""
        name = name.lstrip("/")
        if name in added:
            return
        added.add(name)
        entry = tar.gettarinfo(os.path.realpath(source), name)
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.type, entry.linkname = tarfile.REGTYPE, ""  # a second name of one file is a file too
        entry.size = os.path.getsize(source)
        with open(source, "rb") as content:
            tar.addfile(entry, content)

    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        if os.path.islink(f"/{name}"):
            tar.addfile(_symlink(name, os.readlink(f"/{name}")))
    for name, target in _LINKS.items():
        tar.addfile(_symlink(name, target))
    for name, data in _ETC.items():
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = len(data), 0o644
        tar.addfile(entry, io.BytesIO(data))
    programs = [
        found for name in _PROGRAMS.split() if (found := shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin"))
    ]
    for program in programs:
        add(program, _real_folder(program))
    python = bwrap.interpreter()
    add(python, python)
    library = Path(sysconfig.get_path("stdlib", vars={"base": sys.base_prefix, "installed_base": sys.base_prefix}))
    for path in _library(library):
        add(str(path), str(path))
    prefix = os.path.realpath(sys.base_prefix)
    tar.addfile(_symlink(f"{prefix}/bin/python3".lstrip("/"), python))
    extensions = [str(p) for p in (library / "lib-dynload").glob("*.so")]
    for shared in _shared([*programs, python, *extensions]):
        add(shared, _real_folder(shared))
    for optional in ("/etc/ld.so.cache", *map(str, Path("/usr/lib/locale").glob("C.*/**/*"))):
        if os.path.isfile(optional):
            add(optional, optional)


def _library(folder: Path) -> Iterator[Path]:
    """The standard library's files, compiled ones too: nothing can be compiled into a read-only image later."""
    for top, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if f not in _LEFT_OUT and not f.startswith("config-")]
        yield from (Path(top, name) for name in sorted(names))


def _real_folder(path: str) -> str:
    """/lib/x.so where /lib is a symlink to usr/lib: the place that both names lead to."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _shared(binaries: list[str]) -> set[str]:
    """The libraries that these files load, the loader, and those of ``_WHEELS``."""
    text = subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=False).stdout
    found = {path for path in re.findall(r"(/\S+) \(0x", text) if os.path.exists(path)}
    beside = {os.path.join(os.path.dirname(path), name) for path in found for name in _WHEELS}
    return found | {path for path in beside if os.path.exists(path)}
