"""The built-in training as a person starts it, small enough for a test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: Of the built-in run; the real one has 40 steps of 8 tasks x 16 trajectories and 256 held-out tasks.
SMALL = ("rollout.tasks=2", "rollout.n=4", "trainer.eval_tasks=4", "trainer.threads=1", "env.workers=1")


def train(run_dir: Path, *overrides: str, algorithm: str = "didpo") -> list[str]:
    """The command of a small run."""
    return [sys.executable, "-m", f"algorithms.{algorithm}.train", *SMALL, f"trainer.run_dir={run_dir}", *overrides]


def succeed(command: list[str], timeout: float = 240) -> str:
    """Run it; what it printed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a .jsonl file."""
    return [json.loads(line) for line in path.read_text().splitlines()]
