"""What docs/sandbox.md shows runs, and the tests that it names exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "sandbox.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES)
def test_example(code, request):
    if '"docker"' in code:
        request.getfixturevalue("docker_works")
    exec(compile(code, "docs/sandbox.md", "exec"), {})


def test_every_promise_names_a_test_that_exists():
    source = "".join(path.read_text() for path in (ROOT / "tests" / "sandbox").glob("*.py"))
    named = set(re.findall(r"`(test_[a-z0-9_]+)`", TEXT))
    assert len(named) > 15
    assert {name for name in named if f"def {name}(" not in source} == set()


def test_doctor():
    result = subprocess.run([sys.executable, "-m", "sandbox", "doctor"], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout
    assert re.search(r"^  yes fs +mount namespace", result.stdout, re.MULTILINE)
