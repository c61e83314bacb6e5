"""The files of a repository at a commit, from wherever it is on this machine.

::

    source = Repositories("/data/clones", cache="~/.cache/codegym")
    files = source.files("django/django", "c627226d05dd52aef59447dcfb29cec2c2b11b8a")

Places are asked in order: a folder of clones (bare or not, named ``django/django``, ``django__django``,
``django+django``, ``django``, each with or without ``.git``, or holding the git directory one level below), the cache,
then a URL to clone from. With ``url=None`` nothing is fetched.

A workspace is files only: nothing of the history comes along, so no later commit, tag or packed object can be found.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from benchmarks.swebench import URL
from sandbox import SandboxError

_FOLDERS = ("{owner}/{name}", "{owner}__{name}", "{owner}+{name}", "{name}", "swe-bench+{owner}__{name}")


class RepositoryError(SandboxError):
    """A repository, or a commit of it, that is not here; the message says where it was looked for."""


class Repositories:
    """Finds clones.

    Args:
        folder: where clones lie; None for none.
        cache: where clones are kept that are made from ``url``.
        url: what to clone from, with ``{owner}`` and ``{name}``; None forbids it.
    """

    def __init__(self, folder: str | Path | None, cache: str | Path, url: str | None = URL) -> None:
        self._folder = None if folder is None else Path(folder).expanduser()
        self._cache, self._url = Path(cache).expanduser() / "repositories", url
        self._lock = threading.Lock()

    def files(self, repo: str, commit: str) -> tuple[dict[str, bytes], tuple[str, ...]]:
        """The regular files at a commit, by path, and which of them are executable.

        A symlink to a file of the repository becomes a copy of it; other symlinks are left out.
        """
        return read_commit(self.find(repo, commit), commit)

    def find(self, repo: str, commit: str) -> Path:
        """A git directory that holds the commit. Raises :class:`RepositoryError`."""
        if not commit:
            raise RepositoryError(
                f"there is nothing to clone {repo} from: the row's files are in its image, use mode='docker' (--docker)"
            )
        owner, _, name = repo.partition("/")
        asked = []
        for place in (self._folder, self._cache):
            for git in () if place is None else _clones(place, owner, name):
                if _holds(git, commit):
                    return git
                asked.append(str(git))
        if self._url is None:
            where = f"the clones {', '.join(asked)} lack it" if asked else f"no clone in {self._folder or self._cache}"
            raise RepositoryError(f"{repo} at {commit[:12]} is not here ({where}): give repositories=FOLDER with one")
        with self._lock:
            git = self._cache / f"{owner}__{name}"
            if not _holds(git, commit):
                self._clone(self._url.format(owner=owner, name=name), git)
            if not _holds(git, commit):
                raise RepositoryError(f"{repo} at {commit[:12]} is not in {self._url.format(owner=owner, name=name)}")
        return git

    def _clone(self, url: str, git: Path) -> None:
        git.parent.mkdir(parents=True, exist_ok=True)
        if git.exists():
            command = ["git", "--git-dir", str(git), "fetch", "-q", "origin", "+refs/*:refs/*"]
        else:
            command = ["git", "clone", "-q", "--mirror", url, str(git)]
        done = subprocess.run(command, capture_output=True, env=_environment(), check=False)
        if done.returncode != 0:
            reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no reason given"]
            raise RepositoryError(
                f"{url} cannot be cloned ({reason[0]}): give repositories=FOLDER with a clone, or url=URL that works"
            )


def read_commit(git: Path, commit: str) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The files of a commit, and which of them are executable.

    Objects are read as they are stored: ``git archive`` would obey attributes that leave files out or rewrite them.
    """
    entries: list[tuple[str, bytes, bytes]] = []
    for entry in _git(git, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
        head, _, path = entry.partition(b"\t")
        if head and head.split()[1] == b"blob":  # not a submodule
            mode, _, sha = head.split()
            entries.append((os.fsdecode(path), mode, sha))
    blobs = _git(git, "cat-file", "--batch", stdin=b"".join(sha + b"\n" for _, _, sha in entries))
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    executable, place = [], 0
    for name, mode, _ in entries:
        line = blobs.index(b"\n", place)
        size = int(blobs[place:line].split()[2])
        data = blobs[line + 1 : line + 1 + size]
        place = line + 2 + size
        if mode == b"120000":
            links[name] = os.path.normpath(str(PurePosixPath(name).parent / os.fsdecode(data)))
            continue
        files[name] = data
        if mode == b"100755":
            executable.append(name)
    files.update({name: files[target] for name, target in links.items() if target in files})
    return dict(sorted(files.items())), tuple(sorted(executable))


def _clones(place: Path, owner: str, name: str) -> Iterator[Path]:
    for pattern in _FOLDERS:
        plain = place / pattern.format(owner=owner, name=name)
        for folder in (plain, Path(f"{plain}.git"), plain / "repo"):
            for git in (folder / ".git", folder):
                if (git / "HEAD").is_file() and (git / "objects").is_dir():
                    yield git
                    break


def _holds(git: Path, commit: str) -> bool:
    if not git.exists() or not commit:
        return False
    command = ["git", "--git-dir", str(git), "cat-file", "-e", f"{commit}^{{commit}}"]
    return subprocess.run(command, capture_output=True, env=_environment(), check=False).returncode == 0


def _git(git: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    command = ["git", "--git-dir", str(git), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, env=_environment(), check=False)
    if done.returncode != 0:
        raise RepositoryError(f"git {arguments[0]} failed in {git}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _environment() -> Mapping[str, str]:
    """Git's variables: no prompt for a password, a foreign owner's clone may be read, no fetch of missing objects."""
    return {
        **os.environ,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        "GIT_NO_LAZY_FETCH": "1",
    }
