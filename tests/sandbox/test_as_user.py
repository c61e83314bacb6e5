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
    "test_controls.py",
)
# Of the text protocol, of the host's own reading and counting, of arguments: the same for every user.
LEFT_OUT = (
    *("docker", "unsafe"),  # the daemon's socket is root's; without isolation a user is a user
    *("syntax_errors", "quoting", "sentinels", "reports", "long_commands", "truncation", "exact_cap", "frames"),
    *("gigabyte", "floods", "argv", "paths_outside", "however_a_program", "any_history", "many_layers", "compile"),
    "do_not_work",  # needs that no keeper runs
    *("unknown_backend", "limits_are", "import_is_light", "what_cannot_be_shown", "share_a_sandbox", "side_by_side"),
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
        " and ".join(f"not {name}" for name in LEFT_OUT),
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
    environment = os.environ | {"CODEGYM_TEST_KEEPER": "1"}
    result = subprocess.run(
        with_user,
        capture_output=True,
        text=True,
        cwd=FOLDER.parents[1],
        timeout=280,
        env=environment,
    )
    subprocess.run(["rm", "-rf", f"/tmp/codegym-test-{os.getpid()}"], check=True)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
