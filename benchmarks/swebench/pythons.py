"""Which Pythons are on this machine, found by asking each: PATH, pyenv's folder, uv.

::

    find(("3.6", "3.7"))     # Python("3.6", "3.6.15", Path("/root/.pyenv/versions/3.6.15/bin/python3.6"), ...)
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox import SandboxError

_ASK = "import json,sys;print(json.dumps([sys.version.split()[0], sys.executable, sys.prefix, sys.base_prefix]))"


class PythonMissing(SandboxError):  # noqa: N818 - says what happened
    """No Python of a wanted version; the message says where it was looked for and how to get one."""


@dataclass(frozen=True)
class Python:
    """An interpreter: ``version`` such as 3.9, ``full`` such as 3.9.18, its real file and its installation's prefix."""

    version: str
    full: str
    path: Path
    prefix: Path


def find(versions: Sequence[str]) -> Python:
    """The first of these versions that is here. Raises :class:`PythonMissing`."""
    for version in versions:
        for path in _candidates(version):
            python = _ask(str(path))
            if python is not None and python.version == version:
                return python
    wanted = " or ".join(versions)
    raise PythonMissing(
        f"no Python {wanted} on PATH, in pyenv's folder ({_pyenv()}) or with uv: "
        f"pyenv install {versions[0]}, or uv python install {versions[0]}"
    )


def _pyenv() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()


def _candidates(version: str) -> Iterator[Path]:
    # not pyenv's shims: they start bash first and obey the folder's .python-version
    yield from sorted(_pyenv().glob(f"versions/{version}.*/bin/python{version}"), reverse=True)
    if sys.version.startswith(version + "."):
        yield Path(sys.executable)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder and Path(folder) != _pyenv() / "shims":
            yield Path(folder) / f"python{version}"
    if uv := shutil.which("uv"):
        found = subprocess.run(
            [uv, "python", "find", "--no-python-downloads", version], capture_output=True, check=False
        )
        if found.returncode == 0:
            yield Path(found.stdout.decode().strip())


@functools.cache
def _ask(path: str) -> Python | None:
    """What an interpreter says of itself; None when it is none. A virtual environment is taken for its base."""
    if not os.access(path, os.X_OK):
        return None
    try:
        done = subprocess.run([path, "-I", "-c", _ASK], capture_output=True, timeout=30, check=False)
        full, executable, prefix, base = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    version = ".".join(full.split(".")[:2])
    if prefix != base:
        return _ask(f"{base}/bin/python{version}")
    return Python(version, full, Path(executable).resolve(), Path(base).resolve())
