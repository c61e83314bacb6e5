"""Where data sets lie, and how to say that one does not.

Nothing is downloaded here. A data set is looked for at the path that the user gave, else in the folder
``$CODEGYM_HOME`` (``~/.cache/codegym`` if unset); a missing one is an error with the command that gets it::

    rows = read_rows(find("mbpp", "mbpp.jsonl", path, get="codegym fetch mbpp"))
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


class MissingData(FileNotFoundError):  # noqa: N818 - what the reader of the message needs to know
    """A data set is not on this machine; the message is the command that gets it."""


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


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a ``.jsonl`` (or ``.jsonl.gz``), ``.json`` (a list) or ``.parquet`` file, in order.

    Raises ValueError for another ending, and with the line's number for a line that is no JSON object.
    """
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        yield from _parquet(path)
        return
    with gzip.open(path, "rt", encoding="utf-8") if path.name.endswith(".gz") else path.open(encoding="utf-8") as file:
        if name.endswith(".json"):
            yield from json.load(file)
            return
        if not name.endswith(".jsonl"):
            raise ValueError(f"{path}: a data file ends in .jsonl, .jsonl.gz, .json or .parquet")
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: a row is a JSON object")
            yield row


def _parquet(path: Path) -> Iterator[Row]:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(f"{path} needs pyarrow: pip install 'codegym[data]'") from error
    yield from pyarrow.parquet.read_table(path).to_pylist()
