"""No attack resolves a task, and what honest solutions do beside the point does not keep them from it."""

from __future__ import annotations

import pytest

from benchmarks.swebench.benchmark import SWEBench
from tests.benchmarks.swebench.attacks import PYTEST, UNITTEST
from tests.benchmarks.swebench.conftest import FIXED, changed

ATTACKS = [("fixture__calc-4", name, files) for name, files in PYTEST.items()]
ATTACKS += [("fixture__calc-u", name, files) for name, files in UNITTEST.items()]
HONEST = {
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


@pytest.mark.parametrize(("name", "attack", "files"), ATTACKS, ids=[f"{n[-1]}-{a}" for n, a, _ in ATTACKS])
def test_attack(bench: SWEBench, name: str, attack: str, files: dict[str, str | None]):
    task = bench.task(name)
    grade = bench.grade(task, changed(task, files))
    assert not grade.resolved
    assert grade.infra_error is None


@pytest.mark.parametrize("name", ["fixture__calc-4", "fixture__calc-u"])
@pytest.mark.parametrize("habit", HONEST)
def test_honest(bench: SWEBench, name: str, habit: str):
    task = bench.task(name)
    grade = bench.grade(task, changed(task, {**FIXED, **HONEST[habit]}))
    assert grade.resolved, grade.details
