"""Pairs of files to measure the diff engine on: real ones, files of a given length, and hard inputs."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from codegym.diff.languages import language_of

ROOT = Path(__file__).parents[2]
CACHE = Path.home() / ".cache" / "codegym-perf"
Pair = tuple[str, bytes, bytes]

#: Consecutive releases, small and in several languages.
RELEASES = [
    ("pip", "click", "8.1.7", "8.1.8"),
    ("pip", "attrs", "23.2.0", "24.2.0"),
    ("pip", "requests", "2.31.0", "2.32.3"),
    ("pip", "psutil", "5.9.8", "6.0.0"),
    ("pip", "tiktoken", "0.7.0", "0.8.0"),
    ("pip", "pybind11", "2.12.0", "2.13.1"),
    ("npm", "zod", "3.22.3", "3.22.4"),
    ("npm", "express", "4.18.2", "4.19.2"),
]


def folder_pairs(folder: Path, limit: int) -> list[Pair]:
    before, after = folder / "before", folder / "after"
    files = sorted(path for path in before.rglob("*.*") if language_of(path.name))
    files = [path for path in files if (after / path.relative_to(before)).exists()]
    random.Random(0).shuffle(files)
    return [
        (str(path.relative_to(before)), path.read_bytes(), (after / path.relative_to(before)).read_bytes())
        for path in files[:limit]
    ]


def history_pairs(limit: int) -> list[Pair]:
    """Files before and after the last commits of this repository."""

    def git(*argv: str) -> bytes:
        return subprocess.run(["git", "-C", str(ROOT), *argv], capture_output=True, check=True).stdout

    pairs: list[Pair] = []
    log = git("log", "--no-merges", "--diff-filter=M", "--raw", "--no-abbrev", "--format=", "-n", "400")
    for row in log.decode("utf-8", "surrogateescape").splitlines():
        fields, _, path = row.partition("\t")
        if language_of(path) and len(pairs) < limit:
            blobs = fields.split(" ")[2:4]
            pairs.append((path, *(git("cat-file", "blob", blob) for blob in blobs)))  # type: ignore[arg-type]
    return pairs


def library_pairs(limit: int) -> list[Pair]:
    """Modules of the standard library in each two consecutive versions of Python that are installed beside this one."""
    folders = [*Path(sys.base_prefix).parent.glob("*/lib/python3.*[0-9]"), *Path("/usr/lib").glob("python3.*[0-9]")]
    versions = {int(folder.name.partition(".")[2]): folder for folder in folders if (folder / "ast.py").exists()}
    found = sorted(versions.items())
    pairs: list[Pair] = []
    for (_, old), (_, new) in pairwise(found):
        for path in sorted(old.rglob("*.py")):
            name = path.relative_to(old)
            if "site-packages" in name.parts or "test" in name.parts or not (new / name).exists():
                continue
            texts = path.read_bytes(), (new / name).read_bytes()
            if texts[0] != texts[1]:
                pairs.append((str(name), *texts))
    random.Random(0).shuffle(pairs)
    return pairs[:limit]


def release_pairs() -> Iterator[tuple[str, list[Pair]]]:
    """Files of each two releases that differ. Raises RuntimeError where a release cannot be fetched."""
    for client, name, old, new in RELEASES:
        texts = [_sources(client, name, version) for version in (old, new)]
        common = sorted(path for path in texts[0].keys() & texts[1].keys() if texts[0][path] != texts[1][path])
        yield f"{name} {old} to {new}", [(path, texts[0][path], texts[1][path]) for path in common]


def _sources(client: str, name: str, version: str) -> dict[str, bytes]:
    folder = CACHE / f"{client}-{name}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    archives = [*folder.glob("*.tar.gz"), *folder.glob("*.tgz")]
    if not archives:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, f"{name}=={version}"]
        command = pip if client == "pip" else ["npm", "pack", f"{name}@{version}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True)
        archives = [*folder.glob("*.tar.gz"), *folder.glob("*.tgz")]
        if not archives:
            raise RuntimeError(f"{' '.join(command[-3:])}: {done.stderr.strip()[-200:]}")
    with tarfile.open(fileobj=io.BytesIO(archives[0].read_bytes())) as archive:
        members = [member for member in archive if member.isfile() and language_of(member.name)]
        return {member.name.partition("/")[2]: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]


def long_file(lines: int) -> bytes:
    """The standard library's modules, one after the other, up to a number of lines."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    rows: list[bytes] = []
    for path in sorted(folder.glob("*.py")):
        rows += path.read_bytes().rstrip(b"\n").split(b"\n")
        if len(rows) >= lines + 300:
            break
    end = next((k for k in range(lines, len(rows)) if rows[k].startswith((b"def ", b"class ", b"@"))), len(rows))
    return b"\n".join(rows[:end]) + b"\n"


def edited(text: bytes, edits: int, rng: random.Random) -> bytes:
    """Small edits that parse: a name replaced, a statement doubled, a statement taken out beside another."""
    rows = text.split(b"\n")
    plain = [
        k
        for k, row in enumerate(rows)
        if row.startswith(b"        ")
        and b"(" in row
        and row.count(b"(") == row.count(b")")
        and row.strip()[:1].isalpha()
        and row.strip().endswith(b")")
        and not rows[k + 1].startswith(row[: len(row) - len(row.lstrip())] + b" ")
    ]
    for k in sorted(rng.sample(plain, edits), reverse=True):
        kind = rng.randrange(3)
        indent = rows[k][: len(rows[k]) - len(rows[k].lstrip())]
        if kind == 0:
            rows[k] = rows[k].replace(b"(", b"(changed, ", 1).replace(b", )", b")")
        elif kind == 1:
            rows[k : k + 1] = [rows[k], indent + b"value = compute(1, [2, 3])"]
        else:
            rows[k] = indent + b"pass"
    return b"\n".join(rows)


def hard(n: int) -> dict[str, tuple[bytes, bytes]]:
    """Inputs of a size that goes with ``n``; 1 is full size."""
    deep = b"x = " + b"(" * (5_000 * n // 10) + b"1" + b")" * (5_000 * n // 10) + b"\n"
    chain = b"x = " + b"a + " * (5_000 * n // 10) + b"1\n"
    equal = b"x = 1\n" * (10_000 * n // 10)
    half = long_file(1_000 * n // 10) + b"def half(a,\n"
    return {
        "half-written function": (half, half.replace(b"self", b"this")),
        "mixed tabs": (b"if x:\n\ty = 1\n" * (2_000 * n // 10), b"if x:\n        y = 1\n\tz = 2\n" * (2_000 * n // 10)),
        "equal lines, one less": (equal, equal[:-6]),
        "equal lines, all others": (equal, equal.replace(b"x", b"y")),
        "equal lines, every second new": (equal, b"x = 1\ny = 2\n" * (5_000 * n // 10)),
        "one line of 1 MB": (b"s = '" + b"x" * (100_000 * n) + b"'\n", b"s = '" + b"y" * (100_000 * n) + b"'\n"),
        "one list of 300,000": (b"x = [" + b"1," * (30_000 * n) + b"]\n", b"x = [" + b"2," * (30_000 * n) + b"]\n"),
        "expression 5,000 deep": (deep, deep.replace(b"1", b"2")),
        "chain of 5,000 sums": (chain, chain.replace(b"1", b"2")),
    }
