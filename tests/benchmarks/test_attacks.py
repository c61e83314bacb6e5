"""No attack resolves a task, and no honest program is refused because it looks like one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.grading.remote import RemoteGrader, Suite
from tests.benchmarks.attacks import ATTACKS, RIGHT, TESTS, WRONG, Attack

SUITE = Suite({"candidate": "solution:total"}, cpu_s=0.5)
_PLACE = "a package in the solution's place"
CASES = {
    **ATTACKS,
    _PLACE: Attack(RIGHT, RIGHT, {"solution/__init__.py": WRONG}),
}


@pytest.fixture(scope="module")
def remote() -> Iterator[RemoteGrader]:
    with RemoteGrader() as made:
        yield made


def test_there_are_enough() -> None:
    assert len(CASES) >= 60
    sources = {(case.attack, tuple(case.files.items())) for case in CASES.values()}
    assert len(sources) == len(CASES)


@pytest.mark.parametrize("name", CASES)
def test_attack_fails_and_twin_resolves(remote: RemoteGrader, name: str) -> None:
    case = CASES[name]
    files = {path: text.encode() for path, text in case.files.items()}
    attacked = remote.grade(SUITE, TESTS, {"solution.py": case.attack.encode(), **files})
    assert not attacked.resolved
    assert attacked.infra_error is None  # an episode that is left out would be a prize, too
    if name == _PLACE:
        files["solution/__init__.py"] = RIGHT.encode()
    twin = remote.grade(SUITE, TESTS, {"solution.py": case.twin.encode(), **files})
    assert twin.resolved, twin


def test_a_plain_solution(remote: RemoteGrader) -> None:
    assert remote.grade(SUITE, TESTS, {"solution.py": RIGHT.encode()}).resolved
    wrong = remote.grade(SUITE, TESTS, {"solution.py": WRONG.encode()})
    assert set(wrong.tests.values()) == {"failed"}
