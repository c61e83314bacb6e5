"""What docs/environment.md and docs/evaluate.md show runs as it stands there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["environment.md", "evaluate.md"])
def test_every_block_runs(page, tmp_path):
    blocks = BLOCK.findall((DOCS / page).read_text())
    assert {kind for kind, _ in blocks} == {"python", "bash"}
    for kind, text in blocks:
        if kind == "python":
            name = re.match(r"# (\w+\.py)\n", text)
            (tmp_path / (name[1] if name else "block.py")).write_text(text)
            commands = [] if name else [[sys.executable, "block.py"]]
        else:
            commands = [shlex.split(line) for line in text.splitlines()]
            assert all(command[0] == "codegym" for command in commands)
            commands = [[sys.executable, "-m", "codegym.cli", *command[1:]] for command in commands]
        for command in commands:
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            assert "infra errors     0" in done.stdout or "infra" not in done.stdout


def test_the_tables_name_every_option_and_key():
    import inspect
    from typing import get_type_hints

    from codegym.env import CodeEnv
    from codegym.info import Info

    text = (DOCS / "environment.md").read_text()
    for name, parameter in inspect.signature(CodeEnv).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and name != "benchmark":
            assert f"| `{name}` | " in text, name
    for key in get_type_hints(Info):
        assert f"`{key}`" in text, key
