"""``codegym fetch NAME``: get a data set from the Hugging Face hub, once, as JSON lines below ``$CODEGYM_HOME``.

Needs ``pip install 'codegym[data]'`` and the network. Nothing else in the package downloads data.
"""

from __future__ import annotations

import argparse
import datetime
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.data import home


@dataclass(frozen=True)
class Source:
    """Where rows come from and which files they become.

    Attributes:
        hub: the data set's name on the hub.
        files: file below the home folder -> what ``datasets.load_dataset`` is asked for it: several are joined.
    """

    hub: str
    files: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)


def _splits(*names: str, **config: str) -> list[dict[str, Any]]:
    return [{"split": name, **config} for name in names]


def _raw(*files: str) -> list[dict[str, Any]]:
    """Files of a data set whose loader is a script, which is not run."""
    return [{"data_files": file, "split": "train"} for file in files]


_MBPP = ("prompt", "test", "validation", "train")
_BIGCODEBENCH = "v0.1.4"  # the newest version is a split
_LANGUAGES = ("python", "js", "java", "go", "cpp", "rust")
SOURCES: Mapping[str, Source] = {
    "humanevalfix": Source(
        "bigcode/humanevalpack",
        {
            f"humanevalfix/humanevalpack_{language}.jsonl": _raw(f"data/{language}/data/humanevalpack.jsonl")
            for language in _LANGUAGES
        },
    ),
    "humaneval-plus": Source("evalplus/humanevalplus", {"humaneval-plus.jsonl": _splits("test")}),
    "mbpp-plus": Source("evalplus/mbppplus", {"mbpp-plus.jsonl": _splits("test")}),
    "mbpp": Source("google-research-datasets/mbpp", {"mbpp.jsonl": _splits(*_MBPP, name="full")}),
    "mbpp-sanitized": Source(
        "google-research-datasets/mbpp", {"mbpp-sanitized.jsonl": _splits(*_MBPP, name="sanitized")}
    ),
    "bigcodebench": Source("bigcode/bigcodebench", {"bigcodebench.jsonl": _splits(_BIGCODEBENCH)}),
    "bigcodebench-hard": Source("bigcode/bigcodebench-hard", {"bigcodebench-hard.jsonl": _splits(_BIGCODEBENCH)}),
    "apps": Source("codeparrot/apps", {f"apps/{split}.jsonl": _raw(f"{split}.jsonl") for split in ("train", "test")}),
    "code-contests": Source(
        "deepmind/code_contests",
        {f"code-contests/{split}.jsonl": _splits(split) for split in ("train", "valid", "test")},
    ),
    "livecodebench": Source(
        "livecodebench/code_generation_lite",
        {"livecodebench/test.jsonl": _raw("test.jsonl", *(f"test{n}.jsonl" for n in range(2, 7)))},
    ),
}


def fetch(name: str, load: Callable[..., Iterable[Mapping[str, Any]]]) -> list[Path]:
    """Write the files of a data set, and say where they are. ``load`` is ``datasets.load_dataset``.

    A file appears under its name only when it is whole. Raises KeyError for an unknown name.
    """
    if name not in SOURCES:
        raise KeyError(f"no data set named {name!r}; there are: {', '.join(sorted(SOURCES))}")
    source, written = SOURCES[name], []
    for file, asked in source.files.items():
        path = home() / file
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        with part.open("w", encoding="utf-8") as out:
            for each in asked:
                options = dict(each)
                files = options.pop("data_files", None)
                rows = (
                    load("json", data_files=f"hf://datasets/{source.hub}/{files}", **options)
                    if files
                    else load(source.hub, **options)
                )
                for row in rows:
                    out.write(json.dumps(row, default=_text) + "\n")
        part.rename(path)
        written.append(path)
    return written


def add_parser(commands: Any) -> None:
    """Add the command."""
    each = commands.add_parser(
        "fetch", help="get a data set from the hub", description=f"Get a data set: {', '.join(sorted(SOURCES))}."
    )
    each.add_argument("name", choices=sorted(SOURCES), metavar="NAME", help="of those above")
    each.add_argument("--debug", action="store_true", help="show the traceback of an error")
    each.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> None:
    try:
        from datasets import load_dataset
    except ImportError as error:
        raise ImportError("codegym fetch needs the datasets package: pip install 'codegym[data]'") from error
    for path in fetch(args.name, load_dataset):
        print(path)


def _text(value: Any) -> str:
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON")
