"""Virtual environments for recipes: built once, kept, and shown read-only inside sandboxes.

::

    store = Environments("~/.cache/codegym")
    made = store.get(recipe)                 # builds it if need be
    open_sandbox(read_only=made.shown).run([made.python, "-m", "pytest", ...])

One environment serves every row with the same Python and packages. Its record is written last, so an interrupted build
leaves nothing that could be taken for one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.swebench import pythons
from benchmarks.swebench.recipes import Recipe
from sandbox import SandboxError

RECORD = "codegym.json"  # in the environment: what it was made of
_LAST_FOR_36 = ("pip==21.3.1", "setuptools==59.6.0", "wheel==0.37.1")
_PIP_S = 1200.0  # of one pip; building numpy from source takes ten minutes


class BuildError(SandboxError):
    """An environment that could not be built; the message holds pip's last line."""


@dataclass(frozen=True)
class Environment:
    """A finished environment: its interpreter, and what a sandbox must show of the host, or which image, to run it.

    ``folder`` is None where it is an image's.
    """

    folder: Path | None
    python: str
    version: str
    shown: tuple[str, ...]
    image: str | None = None
    git: bool = True  # whether git is there


class Environments:
    """The environments of one cache folder. Safe to use from several threads and processes.

    Args:
        cache: the folder; made when needed.
        pip: more arguments for ``pip install``, such as ``("--no-index", "--find-links", FOLDER)``.
    """

    def __init__(self, cache: str | Path, pip: Sequence[str] = ()) -> None:
        self.folder = Path(cache).expanduser().absolute() / "environments"
        self._pip = tuple(pip)

    def get(self, recipe: Recipe) -> Environment:
        """The recipe's environment, built now if it is not there.

        Raises PythonMissing when none of its Pythons is here, :class:`BuildError` when pip fails.
        """
        if self.folder.parts[1:2] == ("tmp",) or self.folder.parts[1:3] == ("var", "tmp"):
            raise BuildError(
                f"{self.folder} cannot be shown in a sandbox, which has a /tmp of its own: give cache=FOLDER"
            )
        python = pythons.find(recipe.python)
        folder = self.place(recipe, python)
        if not (folder / RECORD).is_file():
            with _locked(folder.with_name(folder.name + ".lock")):
                if not (folder / RECORD).is_file():
                    self._build(recipe, python, folder)
        # The interpreter that runs us is shown already, and with its packages hidden.
        seen = python.prefix in (Path(sys.base_prefix).resolve(), Path("/usr"))
        shown = (str(folder),) if seen else (str(folder), str(python.prefix))
        return Environment(folder, str(folder / "bin" / "python"), python.version, shown)

    def place(self, recipe: Recipe, python: pythons.Python) -> Path:
        """Where an environment is kept: its name tells repository and Python, and a hash of all it holds."""
        made_of = json.dumps([python.full, str(python.path), sorted(recipe.packages)])
        digest = hashlib.sha256(made_of.encode()).hexdigest()[:10]
        return self.folder / f"{recipe.repo.replace('/', '__')}-py{python.version}-{digest}"

    def _build(self, recipe: Recipe, python: pythons.Python, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        # Built in its own place, since scripts hold absolute paths; the record is written last.
        with tempfile.TemporaryFile() as log:
            try:
                bare = [] if recipe.packages else ["--without-pip"]
                self._run([str(python.path), "-I", "-m", "venv", *bare, str(folder)], log.fileno())
                pip = [
                    str(folder / "bin" / "python"),
                    "-I",
                    "-m",
                    "pip",
                    "install",
                    "-q",
                    "--disable-pip-version-check",
                ]
                if recipe.packages:
                    if python.version == "3.6":  # the pip it brings (18) does not know manylinux2014 wheels
                        self._run([*pip, *self._pip, *_LAST_FOR_36], log.fileno())
                    self._run([*pip, *self._pip, *recipe.packages], log.fileno())
            except (OSError, subprocess.SubprocessError) as error:
                log.seek(0)
                lines = log.read().decode(errors="replace").strip().splitlines()
                reason = next(
                    (line for line in reversed(lines) if "ERROR" in line.upper()), (lines or [str(error)])[-1]
                )
                shutil.rmtree(folder, ignore_errors=True)
                raise BuildError(
                    f"the environment of {recipe.repo} {recipe.versions[0]} (Python {python.full}) could not be built: "
                    f"{reason.strip()[:300]}"
                ) from error
        record = {"repo": recipe.repo, "versions": recipe.versions, "python": python.full, "packages": recipe.packages}
        (folder / RECORD).write_text(json.dumps(record) + "\n")

    def _run(self, command: Sequence[str], log: int) -> None:
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
        # a constraint of this machine's own Python must not bind another one's packages
        environment["PIP_CONSTRAINT"] = "/dev/null"
        subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, timeout=_PIP_S, check=True
        )


def size(folder: Path) -> int:
    """Bytes on disk below a folder; a file with several names counts once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            status = os.lstat(os.path.join(root, name))
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * 512
    return total


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
