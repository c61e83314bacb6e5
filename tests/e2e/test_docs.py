"""Every command of the README and of the pages on training runs, with a run made small."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from algorithms.core.model import BUILT_IN
from tests.e2e.commands import ROOT, SMALL, succeed

PAGES = ("README.md", "docs/training.md", "docs/study.md")
BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: What is run elsewhere: installing, this suite, two ranks (test_built_in_run.py), and published rows, which may come
#: out otherwise on another machine (test_study.py repeats rows of its own).
ELSEWHERE = (
    "pip install",
    "python -m pytest",
    "python -m algorithms.didpo.train trainer.ray=true distributed.ranks=2",
    "python -m algorithms.study repeat",
)


def commands(page: str) -> list[str]:
    """The commands of a page, one a line, without what has a test of its own."""
    lines = [
        part.split("#")[0].strip()
        for block in BLOCK.findall((ROOT / page).read_text())
        for line in block.splitlines()
        for part in line.split("&&")
    ]
    return [line for line in lines if line and not line.startswith(ELSEWHERE)]


def small(arguments: list[str], folder: Path) -> list[str]:
    """The same command with fewer steps, in a folder that vanishes. No hub can be reached: a model of one is ours."""
    arguments = [f"model.path={BUILT_IN['tiny']}" if "model.path=" in argument else argument for argument in arguments]
    module = arguments[1]
    if {"--help", "--dry-run"} & set(arguments):
        return arguments
    if module == "algorithms.sft.train":
        return [*arguments, "--steps", "2", "--out", str(folder)]
    if arguments[1:3] == ["algorithms.study", "report"]:
        return [*arguments, "--page", str(folder / "page.md")]
    if module == "algorithms.study":
        own = ["--methods", "grpo", "--seeds", "0", "--out", str(folder), "--rows", str(folder / "rows.jsonl")]
        return [*arguments, *own, *SMALL, "trainer.steps=1"]
    assert re.fullmatch(r"algorithms\.\w+\.train", module), f"no small form of {module} is known here"
    return [*arguments, *SMALL, "trainer.steps=1", f"trainer.run_dir={folder}"]


#: Pages may show a command more than once, or forms of it that are the same when they are small.
COMMANDS = {
    frozenset(small(shlex.split(command)[1:], Path("folder"))): command for page in PAGES for command in commands(page)
}


@pytest.mark.parametrize("command", list(COMMANDS.values()), ids=str)
def test_command(command: str, tmp_path: Path) -> None:
    succeed([sys.executable, *small(shlex.split(command)[1:], tmp_path)])


def test_readme_example() -> None:
    (code,) = PYTHON.findall((ROOT / "README.md").read_text())
    namespace: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), namespace)
    namespace["env"].close()  # type: ignore[attr-defined]


def test_links_lead_to_files() -> None:
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            assert target.startswith("https://") or (page.parent / target).exists(), (page.name, target)
