"""Where data sets lie, and how to say that one does not.

Nothing is downloaded here (only SWE-bench gets rows and clones when they are first used, unless it is told where they
are: :mod:`benchmarks.swebench`). A data set is looked for at the path that the user gave, else in the folder
``$CODEGYM_HOME`` (``~/.cache/codegym`` if unset); a missing one is an error with the command that gets it::

    rows = read_rows(find("mbpp", "mbpp.jsonl", path, get="codegym fetch mbpp"))

A row knows its file and line, and what is wrong with it is told with them.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
ENDINGS = ".jsonl, .jsonl.gz, .json or .parquet"


class MissingData(FileNotFoundError):  # noqa: N818 - what the reader of the message needs to know
    """A data set is not on this machine; the message is the command that gets it."""


class MissingField(KeyError):  # noqa: N818 - likewise
    """A row lacks a field; the message says which row, and which field."""

    def __str__(self) -> str:
        return str(self.args[0])


class PlacedRow(dict[str, Any]):
    """A row that knows where it was read: ``place`` is a file and line, or a folder."""

    def __init__(self, fields: Mapping[str, Any], place: str) -> None:
        super().__init__(fields)
        self.place = place

    def __missing__(self, key: str) -> Any:
        raise MissingField(f"{self.place} has no {key!r}")


@contextlib.contextmanager
def reading(row: Row, benchmark: str) -> Iterator[None]:
    """Name the row in errors of the code that reads it: a field may be of another kind than the data set's."""
    try:
        yield
    except MissingField as error:
        raise MissingField(f"{error}, which rows of {benchmark} have: give path=... of its own data") from error
    except (AttributeError, LookupError, SyntaxError, TypeError, ValueError) as error:
        why = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        place = row.place if isinstance(row, PlacedRow) else "a row"
        raise ValueError(f"{place} cannot be read as one of {benchmark}: {why}") from error


def home() -> Path:
    """The folder of data sets and exclusion lists."""
    return Path(os.environ.get("CODEGYM_HOME") or "~/.cache/codegym").expanduser()


def find(name: str, default: str, path: str | Path | None, *, get: str) -> Path:
    """The file or folder of a data set.

    Args:
        name: of the benchmark, for the message.
        default: where it is looked for below :func:`home`.
        path: where the user says it is; it must be there.
        get: the command that puts it at its default place.

    Raises MissingData.
    """
    place = Path(path).expanduser() if path is not None else home() / default
    if place.exists():
        return place
    raise MissingData(f"the data of {name} is not at {place}: {get}, or give path=...")


def clone(url: str, folder: str) -> str:
    """The command that gets a data set which is a git repository, for the ``get`` of :func:`find`."""
    return f"run `git clone --depth 1 {url} {home() / folder}`"


def fetch(name: str) -> str:
    """The command that gets a data set from the hub, for the ``get`` of :func:`find`."""
    return f"run `codegym fetch {name}`"


def read_rows(path: Path) -> Iterator[PlacedRow]:
    """The rows of a ``.jsonl`` (or ``.jsonl.gz``), ``.json`` (a list, or an object of rows) or ``.parquet`` file.

    Raises MissingData; ValueError for another ending, a file without rows, and what is no row, with its line.
    """
    if not path.exists():
        raise MissingData(f"there is no file {path}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give a file that ends in {ENDINGS}")
    number = 0
    try:
        for place, row in _found(path):
            if not isinstance(row, Mapping):
                raise ValueError(f"{path}, {place}: a row is a JSON object")
            number += 1
            yield PlacedRow(row, f"{path}, {place}")
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} cannot be read after {number} rows ({error}): get it again") from error
    if not number:
        raise ValueError(f"{path} has no rows: get it again, or give another file")


def _found(path: Path) -> Iterator[tuple[str, Any]]:
    """Where a row stands in the file, and the row."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        for number, row in enumerate(_parquet(path), start=1):
            yield f"row {number}", row
        return
    if not name.endswith((".jsonl", ".json")):
        raise ValueError(f"{path}: a data file ends in {ENDINGS}")
    with gzip.open(path, "rt", encoding="utf-8") if path.name.endswith(".gz") else path.open(encoding="utf-8") as file:
        if name.endswith(".jsonl"):
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"line {number}", _json(line, f"{path}, line {number}")
            return
        whole = _json(file.read(), str(path))
    if not isinstance(whole, (list, dict)):
        raise ValueError(f"{path} holds no list of rows")
    rows = whole.values() if isinstance(whole, dict) else whole
    for number, row in enumerate(rows, start=1):
        yield f"row {number}", row


def _json(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{place} is no JSON ({error}): get the file again") from error


def _parquet(path: Path) -> list[dict[str, Any]]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"{path} needs pyarrow: pip install 'codegym[data]'") from error
    try:
        return list(pyarrow.parquet.read_table(path).to_pylist())
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is no parquet file ({str(error)[:80]}): get it again") from error
