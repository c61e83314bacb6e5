"""The same contract as an ordinary user: the other tests of this folder, run again under another uid."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
UID = 65534
FILES = (
    "test_contract.py",
    "test_isolation.py",
    "test_runner.py",
    "test_snapshots.py",
    "test_shell.py",
    "test_pool.py",
)


@pytest.mark.skipif(os.geteuid() != 0, reason="already an ordinary user: this whole run is that check")
def test_everything_holds_for_an_ordinary_user():
    files = [str(FOLDER / name) for name in FILES]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-o",
        "addopts=--import-mode=importlib",
        "-k",
        "not unsafe and not docker",  # the daemon's socket is root's
        "-p",
        "no:cacheprovider",
        "--basetemp",
    ]
    with_user = [
        sys.executable,
        str(FOLDER / "as_user.py"),
        str(UID),
        *command,
        f"/tmp/codegym-test-{os.getpid()}",
        *files,
    ]
    result = subprocess.run(with_user, capture_output=True, text=True, cwd=FOLDER.parents[1], timeout=280)
    subprocess.run(["rm", "-rf", f"/tmp/codegym-test-{os.getpid()}"], check=True)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
