"""Rows of SWE-bench and of data sets of its shape: read, made alike, refused where they cannot be judged.

::

    rows = load_rows("SWE-bench/SWE-bench_Lite", "test")        # the hub, through the optional `datasets` package
    rows = load_rows("rows.jsonl", "test")                      # or .json, .parquet
    rows["django__django-15790"].fail_to_pass

Both generations are read: 4.x rows, whose environment is known by (repo, version), and 5.x rows, which carry
``image``, ``log_parser``, ``eval_type`` and ``eval_script``. SWE-Gym, SWE-smith and SWE-rebench rows use other names
for some columns; a :class:`Row` has one name for each. Those of R2E-Gym are of a kind of their own
(:mod:`benchmarks.swebench.r2e`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.data import read_rows

EVAL_TYPES = ("pass_and_fail", "fail_only")
# Not a test: the end of a progress line that an old log parser took for one (pytest-5262 and -7521 list it).
ARTEFACTS = frozenset({"[100%]"})
_ALIKE = {  # our name -> the names of the data sets, best first
    "instance_id": ("instance_id",),
    "repo": ("repo",),
    "base_commit": ("base_commit",),
    "patch": ("patch",),
    "test_patch": ("test_patch",),
    "problem_statement": ("problem_statement",),
    "version": ("version",),
    "image": ("image", "image_name", "docker_image"),
    "log_parser": ("log_parser",),
    "eval_type": ("eval_type",),
    "eval_script": ("eval_script",),
}


class RowError(ValueError):
    """A row that cannot be judged; the message says why."""


@dataclass(frozen=True)
class Row:
    """One instance.

    Attributes:
        base_commit: "" when the repository is only in an image (SWE-smith, R2E-Gym).
        reversed_patch: the patch makes the bug, so its reverse is the solution (SWE-smith: rows without a test patch).
        fail_to_pass, pass_to_pass: test ids as stored, which may be cut (see :mod:`benchmarks.swebench.ids`).
        image: the container image; "" when the row names none.
        install: SWE-rebench's ``install_config``: python, packages, test command.
        expected: R2E-Gym's: the status that each test must have, and no other test may have one of these. Such a row
            has no fail-to-pass tests.
    """

    instance_id: str
    repo: str
    base_commit: str
    patch: str
    test_patch: str
    problem_statement: str
    version: str
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    image: str = ""
    log_parser: str = ""
    eval_type: str = "pass_and_fail"
    eval_script: str = ""
    reversed_patch: bool = False
    install: Mapping[str, Any] = field(default_factory=dict)
    expected: Mapping[str, str] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id once, fail-to-pass first."""
        return tuple(dict.fromkeys((*self.fail_to_pass, *self.pass_to_pass)))

    @property
    def generation(self) -> int:
        """5 for a row that carries its evaluation script, else 4."""
        return 5 if self.eval_script else 4


def read_row(raw: Mapping[str, Any]) -> Row:
    """A row of any of the data sets. Raises :class:`RowError` when it cannot be judged."""
    if "expected_output_json" in raw:
        from benchmarks.swebench import r2e  # late: it needs this module

        return r2e.read(raw)
    known: dict[str, Any] = {
        ours: next((str(raw[name]) for name in names if raw.get(name)), "") for ours, names in _ALIKE.items()
    }
    name = known["instance_id"]
    if not name:
        raise RowError("it has no instance_id")
    if not known["repo"]:
        raise RowError(f"{name} names no repo")
    fail_to_pass, pass_to_pass = (_ids(raw.get(key), name, key) for key in ("FAIL_TO_PASS", "PASS_TO_PASS"))
    if not fail_to_pass:
        raise RowError(f"{name} lists no test that must go from failing to passing, so nothing could be judged")
    if len(set(fail_to_pass) | set(pass_to_pass)) < len(fail_to_pass) + len(pass_to_pass):
        raise RowError(f"{name} lists a test twice")
    known["eval_type"] = known["eval_type"] or EVAL_TYPES[0]
    if known["eval_type"] not in EVAL_TYPES:
        raise RowError(f"{name}: eval_type={known['eval_type']!r} is unknown; there are: {', '.join(EVAL_TYPES)}")
    install = _object(raw.get("install_config"), name, "install_config")
    if raw.get("requirements"):
        install = {**install, "requirements": str(raw["requirements"])}
    known["log_parser"] = known["log_parser"] or str(install.get("log_parser") or "")
    return Row(
        **{**known, "instance_id": name},
        fail_to_pass=fail_to_pass,
        pass_to_pass=pass_to_pass,
        reversed_patch=raw.get("test_patch") is None,
        install=install,
    )


def _ids(value: Any, name: str, key: str) -> tuple[str, ...]:
    """A list of ids, or the JSON text of one."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise RowError(f"{name}: {key} is no JSON list") from None
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise RowError(f"{name}: {key} is no list")
    found = [str(each) for each in value]
    return tuple(dict.fromkeys(each for each in found if each not in ARTEFACTS))


def _object(value: Any, name: str, key: str) -> Mapping[str, Any]:
    """A JSON object, or the text of one."""
    try:
        found = json.loads(value) if isinstance(value, str) and value else value or {}
    except ValueError:
        found = None
    if not isinstance(found, Mapping):
        raise RowError(f"{name}: {key} is no JSON object")
    return found


def load_rows(source: str | Path, split: str) -> tuple[dict[str, Row], dict[str, str]]:
    """The rows of a local file or of a data set of the hub, and why others were refused, both by instance id.

    Raises ValueError for a file of another kind, and one of which no row can be judged; FileNotFoundError; ImportError
    or ConnectionError, with what to do, when the hub is asked and cannot be reached.
    """
    rows: dict[str, Row] = {}
    refused: dict[str, str] = {}
    for number, raw in enumerate(_raw(source, split), start=1):
        try:
            row = read_row(raw)
        except RowError as error:
            refused[str(raw.get("instance_id") or f"row {number}")] = str(error)
            continue
        if row.instance_id in rows:
            raise ValueError(f"{source} holds {row.instance_id} twice")
        rows[row.instance_id] = row
    if not rows:
        first = next(iter(refused.items()), ("it", "it is empty"))
        raise ValueError(f"no row of {source} can be judged; of {first[0]}: {first[1]}")
    return rows, refused


def _raw(source: str | Path, split: str) -> Iterable[Mapping[str, Any]]:
    path = Path(source).expanduser()
    if path.suffix in (".json", ".jsonl", ".gz", ".parquet"):
        return read_rows(path)
    if path.exists() or str(source).count("/") != 1:
        raise ValueError(f"rows={str(source)!r}: give a .json, .jsonl or .parquet file, or a data set OWNER/NAME")
    return _hub(str(source), split)


def _hub(name: str, split: str) -> Iterable[Mapping[str, Any]]:
    try:
        from datasets import load_dataset
    except ImportError:
        raise ImportError(
            f"{name} is read by the `datasets` package: pip install 'codegym[data]', or give rows=FILE.jsonl"
        ) from None
    try:
        return list(load_dataset(name, split=split))
    except Exception as error:  # its kinds of failure are many and change
        raise ConnectionError(
            f"{name} could not be loaded ({type(error).__name__}: {str(error)[:200]}): give rows=FILE.jsonl"
        ) from error
