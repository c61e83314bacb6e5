"""APPS, CodeContests and LiveCodeBench: programs that read input and write output, and functions that are called.

============== ================================== ====== ===========================================================
name           hub                                splits paper
============== ================================== ====== ===========================================================
apps           codeparrot/apps                    2      Hendrycks et al. 2021, https://arxiv.org/abs/2105.09938
code-contests  deepmind/code_contests             3      Li et al. 2022, https://arxiv.org/abs/2203.07814
livecodebench  livecodebench/code_generation_lite 1      Jain et al. 2024, https://arxiv.org/abs/2403.07974
============== ================================== ====== ===========================================================

``codegym fetch NAME`` gets the rows; ``path`` may be a file, or a folder with ``<split>.jsonl``. Problems that call a
function (APPS rows with ``fn_name``, LiveCodeBench's from LeetCode) start from the row's own starter. A model may have
seen problems that are older than it is: ``livecodebench`` takes ``since`` and ``until``, ISO dates of the contest::

    bench = benchmarks.load("livecodebench", since="2025-01-01")
"""

from __future__ import annotations

import abc
import base64
import datetime
import io
import json
import os
import pickle
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.base import register
from benchmarks.data import PlacedRow, Row, fetch, find, read_rows, reading
from benchmarks.stdio import StdioBenchmark
from sandbox.base import Limits

_PYTHON_3 = 3  # of CodeContests' enumeration of languages


class _Contest(StdioBenchmark):
    def rows(self, split: str) -> Iterable[Row]:
        place = find(self.name, self.name, self.path, get=fetch(self.name))
        if place.is_dir():
            place = find(self.name, "", place / f"{split}.jsonl", get=fetch(self.name))
        for raw in read_rows(place):
            with reading(raw, self.name):
                row = self.read(raw)
            if row is not None:
                yield PlacedRow(row, raw.place)

    @abc.abstractmethod
    def read(self, raw: Row) -> Row | None:
        """The row as :mod:`benchmarks.stdio` wants it; None for a problem that is none of its kind."""


@register("apps")
class Apps(_Contest):
    """APPS: 10,000 problems, half of them for training."""

    name = "apps"
    splits = ("train", "test")

    def read(self, raw: Row) -> Row | None:
        try:
            cases = _json(raw["input_output"]) or {}
        except _TooLongError:
            return None
        if not cases.get("inputs"):
            return None
        function, starter = cases.get("fn_name"), raw.get("starter_code") or ""
        if starter and not function:
            return None  # a function without its name
        solutions = _json(raw["solutions"]) or [None]
        # the arguments of a call as they are, the input of a program as text
        made = (lambda value: value) if function else _text
        pairs = list(zip(map(made, cases["inputs"]), map(made, cases["outputs"]), strict=True))
        return {
            "id": f"apps/{raw.get('problem_id', raw.get('id'))}",
            "statement": raw["question"],
            "cases": pairs,
            "public": pairs[:1],
            "solution": _with_typing(solutions[0]) if function and solutions[0] else solutions[0],
            "function": function,
            "wrapped": True,
            "starter": _with_typing(starter) if function else "",
        }


@register("code-contests")
class CodeContests(_Contest):
    """CodeContests: problems with public, private and generated cases. ``test`` is what the paper reports on.

    Outputs are compared as its own tester does, by words; of several right answers only the listed one counts.
    """

    name = "code-contests"
    loose = True
    splits = ("train", "valid", "test")

    def read(self, raw: Row) -> Row | None:
        pairs = {
            kind: list(zip(found["input"], found["output"], strict=True))
            for kind in ("public", "private", "generated")
            if (found := raw[f"{kind}_tests"])
        }
        if not any(pairs.values()):
            return None
        known = raw.get("solutions") or {"language": [], "solution": []}
        right = [
            text for language, text in zip(known["language"], known["solution"], strict=True) if language == _PYTHON_3
        ]
        limit = raw.get("time_limit") or {}
        seconds = limit.get("seconds", 0) + limit.get("nanos", 0) / 1e9
        return {
            "id": raw["name"],
            "statement": raw["description"],
            "cases": [*pairs.get("private", ()), *pairs.get("generated", ())],
            "public": pairs.get("public", []),
            "solution": right[0] if right else None,
            "time_limit": 3 * seconds,  # the limits are for C++; 0 means that none is given
        }


@register("livecodebench")
class LiveCodeBench(_Contest):
    """LiveCodeBench's problems (AtCoder, Codeforces, LeetCode) in a window of contest dates.

    Args:
        since, until: ISO dates; contests before ``since`` or after ``until`` are left out.
        path, tolerance, workers, limits: see :class:`benchmarks.stdio.StdioBenchmark`.
    """

    name = "livecodebench"

    def __init__(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        path: str | Path | None = None,
        tolerance: float = 1e-6,
        workers: int = os.cpu_count() or 1,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(path=path, tolerance=tolerance, workers=workers, limits=limits)
        self._since = _date("since", since) if since else datetime.date.min
        self._until = _date("until", until) if until else datetime.date.max
        if self._since > self._until:
            raise ValueError(f"since={since} is after until={until}")

    def read(self, raw: Row) -> Row | None:
        date = datetime.datetime.fromisoformat(raw["contest_date"]).date()
        if not self._since <= date <= self._until:
            return None
        public, private = json.loads(raw["public_test_cases"]), private_cases(raw["private_test_cases"])
        kinds = {each["testtype"] for each in (*public, *private)}
        if kinds not in ({"stdin"}, {"functional"}):
            raise ValueError(f"{raw['question_id']} has cases of kinds {sorted(kinds)}: stdin or functional is known")
        function = None if kinds == {"stdin"} else str(_json(raw["metadata"])["func_name"])
        made = _call if function else _case
        return {
            "id": f"livecodebench/{raw['question_id']}",
            "statement": f"{raw['question_title']}\n\n{raw['question_content']}",
            "cases": [made(each) for each in private],
            "public": [made(each) for each in public],
            "date": date.isoformat(),
            "function": function,
            "starter": _with_typing(raw["starter_code"]) if function else "",
        }


class _TextOnly(pickle.Unpickler):
    """Unpickles text: a data file must not run code here."""

    def find_class(self, module: str, name: str) -> Any:
        raise ValueError(f"test cases that hold {module}.{name} instead of text")


def private_cases(text: str) -> list[dict[str, Any]]:
    """LiveCodeBench's hidden cases: JSON, or JSON that is pickled, compressed and written in base64."""
    try:
        found = json.loads(text)
    except ValueError:
        packed = _TextOnly(io.BytesIO(zlib.decompress(base64.b64decode(text)))).load()
        found = json.loads(packed)
    return list(found)


def _date(name: str, value: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name}={value!r}: write a date, such as {name}='2025-01-31'") from None


def _case(each: Row) -> tuple[str, str]:
    return each["input"], each["output"]


def _call(each: Row) -> tuple[list[Any], Any]:
    """A call's arguments, one JSON value a line, and its result."""
    return [json.loads(line) for line in each["input"].splitlines() if line.strip()], json.loads(each["output"])


def _with_typing(code: str) -> str:
    """LeetCode's code names types without importing them, and both harnesses put imports above it."""
    return f"from typing import *\n\n{code}"


class _TooLongError(ValueError):
    """A number that Python neither reads nor writes as text; some results of APPS are."""


def _int(text: str) -> int:
    if len(text) > sys.int_info.default_max_str_digits:
        raise _TooLongError(f"a number of {len(text)} digits")
    return int(text)


def _json(value: Any) -> Any:
    return json.loads(value, parse_int=_int) if isinstance(value, str) and value else value


def _text(value: Any) -> str:
    """APPS writes some inputs and outputs as lists of lines."""
    return value if isinstance(value, str) else "\n".join(map(str, value)) + "\n"
