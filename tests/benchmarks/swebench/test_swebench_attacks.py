"""No attack resolves a task, and what honest solutions do beside the point does not keep them from it."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from textwrap import indent

import pytest

from benchmarks.base import Grade
from benchmarks.swebench.benchmark import SWEBench
from tests.benchmarks.swebench.attacks import PYTEST, UNITTEST
from tests.benchmarks.swebench.conftest import FIXED, changed
from tests.benchmarks.swebench.twins import TWINS

FOUR, UNIT = "fixture__calc-4", "fixture__calc-u"
ATTACKS = {(FOUR, name): files for name, files in PYTEST.items()}
ATTACKS |= {(UNIT, name): files for name, files in UNITTEST.items()}
HONEST: dict[str, dict[str, str | None]] = {
    "nothing else": {},
    "own tests": {"tests/test_mine.py": "def test_a(): assert False\n", "unit/mine.py": "1\n"},
    "own configuration": {"conftest.py": "1 / 0\n", "pytest.ini": "[pytest]\naddopts = -x\n", "tox.ini": "[tox]\n"},
    "deleted tests": {"tests/test_core.py": None, "tests/__init__.py": None},
    "prints much": {"calc/core.py": FIXED["calc/core.py"] + "\nprint('FAILED tests/test_core.py::test_add' * 9999)\n"},
    "a thread that stays": {
        "calc/core.py": FIXED["calc/core.py"] + "\nimport threading, time\n"
        "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
    },
    "a child that stays": {
        "calc/core.py": FIXED["calc/core.py"] + "\nimport subprocess\nsubprocess.Popen(['sleep', '60'])\n"
    },
    "collects garbage, looks at frames": {
        "calc/core.py": FIXED["calc/core.py"] + "\nimport gc, sys\ngc.collect()\nsys._getframe().f_back\n"
    },
    "a module of its own named random": {"random.py": "X = 1\n"},
}


def by_code(attacks: dict[str, dict[str, str | None]]) -> list[str]:
    """The attacks that only change the code of the package."""
    return [name for name, files in attacks.items() if set(files) == {"calc/core.py"} and files["calc/core.py"]]


def twins(names: list[str]) -> dict[str, str | None]:
    """A right package that does what these twins do, when it is loaded and when it is first called."""
    parts = [f"def twin_{at}():\n{indent(TWINS[name], '    ')}\n\n\n" for at, name in enumerate(names)]
    calls = "def twins():\n" + "".join(f"    twin_{at}()\n" for at in range(len(names)))
    added = FIXED["calc/core.py"].replace("return a +", "CALLED or CALLED.append(twins())\n    return a +")
    return {"calc/core.py": "".join(parts) + f"{calls}\n\ntwins()\nCALLED = []\n\n\n{added}"}


# What twins do goes together, so they share a grade: an attack by files has its files under a right package.
_APART = ("a folder where the hidden test goes", "a file where the tests' folder goes", "the whole package removed")
TOGETHER: dict[tuple[str, str], dict[str, str | None]] = {}
for _row, _attacks in ((FOUR, PYTEST), (UNIT, UNITTEST)):
    _code = by_code(_attacks)
    TOGETHER[_row, "by code"] = twins(_code)
    _files = [name for name in _attacks if name not in (*_code, *_APART)]
    TOGETHER[_row, "by files"] = {path: text for name in _files for path, text in _attacks[name].items()} | dict(FIXED)
TOGETHER |= {(FOUR, f"right, and {name}"): PYTEST[name] | FIXED for name in _APART[:2]}
HABITS = {(name, habit): {**FIXED, **files} for name in (FOUR, UNIT) for habit, files in HONEST.items()} | TOGETHER
_NAMES = [f"{name[-1]}-{what}" for name, what in (*ATTACKS, *HABITS)]


@pytest.fixture(scope="module")
def grades(bench: SWEBench) -> dict[tuple[str, str], Future[Grade]]:
    """Every verdict, graded on two processors."""

    def grade(name: str, files: dict[str, str | None]) -> Grade:
        task = bench.task(name)
        return bench.grade(task, changed(task, files))

    with ThreadPoolExecutor(2) as pool:
        return {key: pool.submit(grade, key[0], files) for key, files in (ATTACKS | HABITS).items()}


def test_every_attack_by_code_has_a_twin() -> None:
    assert set(TWINS) == {*by_code(PYTEST), *by_code(UNITTEST)}


@pytest.mark.parametrize("key", ATTACKS, ids=_NAMES[: len(ATTACKS)])
def test_attack(grades: dict[tuple[str, str], Future[Grade]], key: tuple[str, str]):
    grade = grades[key].result()
    assert (grade.resolved, grade.infra_error) == (False, None)


@pytest.mark.parametrize("key", HABITS, ids=_NAMES[len(ATTACKS) :])
def test_honest(grades: dict[tuple[str, str], Future[Grade]], key: tuple[str, str]):
    grade = grades[key].result()
    assert grade.resolved, grade.details


def test_what_one_process_cannot_hide(bench: SWEBench):
    """A limit, and docs/swebench.md says so: the frame and the file of a calling test hold what it expects."""
    looks = "import linecache, re, sys\n\n\ndef add(a, b):\n    frame = sys._getframe(1)\n"
    looks += "    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)\n"
    looks += "    return int(re.search(r'== (\\d+)', line)[1])\n\n\ndef mul(a, b):\n    return a * b\n"
    task = bench.task(FOUR)
    assert bench.grade(task, changed(task, {"calc/core.py": looks})).resolved
