"""The example of docs/add_a_benchmark.md runs as it stands, and is short."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium

import codegym  # noqa: F401 - registers the environments
from tests.benchmarks.test_attacks import CASES

DOCS = Path(__file__).parents[2] / "docs"


def test_the_example_of_a_benchmark(tmp_path: Path) -> None:
    page = (DOCS / "add_a_benchmark.md").read_text()
    source = re.search(r"```python\n(.*?)```", page, re.S)
    assert source is not None
    assert len(source[1].splitlines()) < 60
    (tmp_path / "rhymes.py").write_text(source[1])
    environment = {**os.environ, "CODEGYM_HOME": str(tmp_path), "PYTHONPATH": str(DOCS.parent)}
    done = subprocess.run(
        [sys.executable, "rhymes.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[True, True]"
    assert "pass@1" in done.stdout


def test_the_page_of_benchmarks_is_true() -> None:
    page = (DOCS / "benchmarks.md").read_text()
    for name in re.findall(r"`(codegym/[\w-]+-v0)`", page):
        assert name in gymnasium.registry
    assert f"{len(CASES)} named attacks" in page
