"""Which record belongs to a stored test id, and what its status means. The rules are swebench's, point by point.

Stored ids were read off logs, so they are not always what the test runner calls a test:

* pytest: cut at the first space (``test_x[a`` of ``test_x[a b]``), paths in parameters reduced to their last part;
* Django: ``test_x (mod.Cls)``, which newer Pythons print as ``test_x (mod.Cls.test_x)``, or a docstring's first line;
* sympy: the bare name of a function;
* R2E-Gym: pytest's without the file, see :func:`without_file`.

::

    book = Book("pytest")
    book.add("tests/test_a.py::test_x[a b]", "PASSED")
    book.find("tests/test_a.py::test_x[a")       # "PASSED"
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PASSING = frozenset({"PASSED", "XFAIL"})
LISTED = ("PASSED", "FAILED", "ERROR")  # what R2E-Gym lists tests with
_PARAMETER = re.compile(r"(.*?)\[(.*)\]", re.S)
_UNITTEST = re.compile(r"(\w+) \(([\w.]+)\)$")


@dataclass
class Book:
    """What was recorded in one run, by test. ``names``: how ids are written (pytest, unittest, bare, r2e)."""

    names: str
    exact: dict[str, str] = field(default_factory=dict)
    also: dict[str, str] = field(default_factory=dict)  # spellings that several tests may share

    def add(self, name: str, status: str, doc: str = "") -> None:
        """Record the status of a test; ``doc`` is the first line of its docstring."""
        if self.names == "bare":
            self._share(name.split("::")[-1].split("[")[0], status)
        elif self.names == "r2e":
            if status not in ("SKIPPED", "XFAIL", "XPASS"):  # it has no word for these
                self._share(without_file(name), status)
        elif self.names == "unittest":
            self.exact[plain(name)] = status
            if doc:
                self._share(doc, status)
        else:
            self.exact[name] = status
            self._share(_short_parameter(name), status)

    def _share(self, name: str, status: str) -> None:
        # In a log the last one counts; here one that fails, so that no later test can speak for an earlier one.
        before = self.also.get(name)
        if before is None or before == "SKIPPED" or (before in PASSING and status != "SKIPPED"):
            self.also[name] = status

    def find(self, wanted: str) -> str | None:
        """The status of the test that a stored id means; None when there is no record, or not one meaning."""
        name = plain(wanted) if self.names == "unittest" else wanted
        if name in self.exact:
            return self.exact[name]
        if self.names == "pytest":
            open_bracket = name.count("[") > name.count("]")
            found = [
                status
                for known, status in self.exact.items()
                if known.split(maxsplit=1)[:1] == [name] or (open_bracket and known.startswith(name))
            ]
            if found:
                return found[0] if len({status in PASSING for status in found}) == 1 else None
        return self.also.get(name)


def plain(name: str) -> str:
    """``test_x (mod.Cls.test_x)`` as older Pythons print it: ``test_x (mod.Cls)``."""
    match = _UNITTEST.match(name)
    if match and match[2].endswith("." + match[1]):
        return f"{match[1]} ({match[2][: -len(match[1]) - 1]})"
    return name


def without_file(name: str) -> str:
    """``r2e_tests/test_1.py::TestA::test_x[b - c]`` as R2E-Gym stores it: ``TestA.test_x[b``."""
    file, separator, test = name.partition("::")
    return (test if separator else file).replace("::", ".").split(" - ")[0]


def _short_parameter(name: str) -> str:
    match = _PARAMETER.search(name)
    if match and match[2].startswith("/") and not match[2].startswith("//") and "*" not in match[2]:
        return f"{match[1]}[/{match[2].split('/')[-1]}]"
    return name


@dataclass(frozen=True)
class Lists:
    """The stored ids by list and by whether they came out as they must: what a report holds."""

    fail_to_pass: Mapping[str, bool]
    pass_to_pass: Mapping[str, bool]

    @property
    def resolved(self) -> bool:
        """Every fail-to-pass test passes and every pass-to-pass test is maintained."""
        return all(self.fail_to_pass.values()) and all(self.pass_to_pass.values())

    @property
    def score(self) -> float:
        """The share of tests that came out as they must."""
        results = [*self.fail_to_pass.values(), *self.pass_to_pass.values()]
        return sum(results) / len(results)


def judge(
    fail_to_pass: Sequence[str], pass_to_pass: Sequence[str], status: Mapping[str, str | None], eval_type: str
) -> Lists:
    """The verdict on both lists. ``status``: stored id -> its status, None when it has no record.

    A skipped test is maintained, but does not go from failing to passing. ``fail_only`` is for logs that name failing
    tests only: there nothing but an explicit FAILED fails.
    """
    if eval_type == "fail_only":
        return Lists(
            {name: status[name] != "FAILED" for name in fail_to_pass},
            {name: status[name] != "FAILED" for name in pass_to_pass},
        )
    return Lists(
        {name: status[name] in PASSING for name in fail_to_pass},
        {name: status[name] in PASSING or status[name] == "SKIPPED" for name in pass_to_pass},
    )
