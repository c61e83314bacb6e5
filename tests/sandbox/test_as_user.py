"""The same contract as an ordinary user: the tests of this folder that a uid can change, run again under another one.

Every test that docs/sandbox.md names for a promise to a user is among them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
UID = 65534
FILES = (
    "test_contract.py",
    "test_isolation.py",
    "test_wheel.py",
    "test_runner.py",
    "test_snapshots.py",
    "test_shell.py",
    "test_pool.py",
    "test_controls.py",
    "test_leaks.py",
    "test_failures.py",
)
# Of the text protocol, of the host's own reading and counting, of arguments: the same for every user.
LEFT_OUT = (
    *("docker", "unsafe"),  # the daemon's socket is root's; without isolation a user is a user
    *("syntax_errors", "quoting", "sentinels", "reports", "long_commands", "exact_cap", "frames"),
    *("floods", "argv", "paths_outside", "however_a_program", "any_history", "many_layers", "compile"),
    *("do_not_work", "above_1023"),  # the one needs that no keeper runs
    *("unknown_backend", "limits_are", "import_is_light", "what_cannot_be_shown", "share_a_sandbox", "side_by_side"),
)
# Each is named beside one that shows the same for a user.
ONLY_AS_ROOT = {
    "test_a_process_is_out_of_reach_until_it_is_a_command",
    "test_a_process_is_out_of_reach_of_other_commands",
}


@pytest.mark.skipif(os.geteuid() != 0, reason="already an ordinary user: this whole run is that check")
def test_everything_holds_for_an_ordinary_user():
    files = [str(FOLDER / name) for name in FILES]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-rA",
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
    program = Path(tempfile.mkdtemp(prefix="codegym-setuid-", dir="/opt"), "id")
    try:
        program.write_bytes(Path("/usr/bin/id").read_bytes())
        program.chmod(0o4755)
        program.parent.chmod(0o755)
        result = subprocess.run(
            with_user,
            capture_output=True,
            text=True,
            cwd=FOLDER.parents[1],
            timeout=280,
            env=os.environ | {"CODEGYM_TEST_KEEPER": "1", "CODEGYM_TEST_SETUID": str(program), "CODEGYM_CYCLES": "8"},
        )
    finally:
        shutil.rmtree(program.parent)
        subprocess.run(["rm", "-rf", f"/tmp/codegym-test-{os.getpid()}"], check=True)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    passed = set(re.findall(r"^PASSED .*::(\w+)", result.stdout, re.MULTILINE))
    assert promised_to_a_user() - passed - ONLY_AS_ROOT == set(), (
        "docs/sandbox.md promises a user what did not run as one"
    )


def promised_to_a_user() -> set[str]:
    """The tests that the table of docs/sandbox.md names where a user is told "yes"."""
    text = (FOLDER.parents[1] / "docs" / "sandbox.md").read_text()
    rows = [row.split(" | ") for row in text.splitlines() if row.startswith("| ") and row.count(" | ") == 5]
    return {name for row in rows if row[2] == "yes" for name in re.findall(r"`(test_\w+)`", row[5])}
