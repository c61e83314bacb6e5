"""Every example runs, quickly, and says what it promises."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMISES = {
    "random_agent": "ended by",
    "feedback_agent": "20 tasks, 20 episodes",
    "gold_agent": "pass@1           100.0 %",
    "third_party_agent": "50 tasks, 50 episodes",
}


@pytest.mark.parametrize("name", PROMISES)
def test_example(name):
    done = subprocess.run(
        [sys.executable, f"examples/{name}.py"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert PROMISES[name] in done.stdout
    assert "infra errors     0" in done.stdout or name == "random_agent"


@pytest.mark.parametrize("name", PROMISES)
def test_example_is_short_and_says_what_it_shows(name):
    text = (ROOT / "examples" / f"{name}.py").read_text()
    assert len(text.splitlines()) < 60
    assert f"python examples/{name}.py" in (ast.get_docstring(ast.parse(text)) or "")
