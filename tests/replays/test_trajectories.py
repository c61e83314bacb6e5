"""Real runs of other agents: every reply that edits a file is read, applied to the file as far as the run showed it,
and compared with what the run shows next. What could not be used is printed, with the reason.
"""

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from codegym.actions.base import get
from codegym.edits import apply_edits
from codegym.spans import reply_bytes
from tests.replays.swe_agent import Editor, WindowCommands, function_calls, windows

DATA = Path(__file__).parents[3] / "shared" / "data" / "trajectories"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no trajectories in {DATA}")
RUNS = sorted(path.name for path in (DATA / "swe-agent").glob("*.traj")) if DATA.is_dir() else []


def turns(name: str):
    """Reply and observation of each turn, demonstrations left out. Function calls stand as JSON after their words."""
    run = json.loads((DATA / "swe-agent" / name).read_text())
    end = {"content": run["trajectory"][-1]["observation"] if "trajectory" in run else ""}
    for said, seen in zip(run["history"], [*run["history"][1:], end], strict=True):
        if said["role"] != "assistant" or said.get("is_demo"):
            continue
        observation = seen["content"] if isinstance(seen["content"], str) else seen["content"][0]["text"]
        calls = said.get("tool_calls")
        reply = said["content"] or ""
        yield (f"{reply}\n{json.dumps({'tool_calls': calls})}" if calls else reply), observation, bool(calls)


def short(path: str) -> str:
    """A path in the workspace: SWE-agent shows absolute ones at times."""
    return re.sub(r"^/(testbed|[^/]+__[^/]+)/", "", path).lstrip("/")


def check_sources(reply, applied):
    raw = reply_bytes(reply)
    for path, origins in applied.origins.items():
        for origin in origins:
            if origin.exact:
                assert raw[slice(*origin.source)] == applied.files[path][slice(*origin.new)]


def differing(ours: bytes, theirs: bytes) -> list[bytes]:
    """Our lines that are others than theirs, where the run showed both."""
    pairs = zip(ours.split(b"\n"), theirs.split(b"\n"), strict=True)
    return [a for a, b in pairs if a != b and not a.startswith(b"<line ") and not b.startswith(b"<line ")]


@pytest.mark.parametrize("name", RUNS)
def test_swe_agent(name, capsys):
    editor, log, compared = Editor(), [], 0
    first: dict[str, bytes] = {}  # files as shown before their first edit
    edited: set[str] = set()
    for number, (reply, observation, calls) in enumerate(turns(name), 1):
        action = (function_calls(editor) if calls else WindowCommands(editor)).parse(reply)
        assert action.error is None, (number, action.error)
        seen = windows(observation)
        refused = "Your proposed edit has introduced new syntax error" in observation
        if action.kind == "shell":
            if cursors := re.match(r"set_cursors (\d+) (\d+)", action.command):
                editor.cursors = (int(cursors[1]), int(cursors[2]))
            if removed := re.match(r"rm (\S+)", action.command):
                editor.shown.pop(removed[1], None)
        if action.kind == "edit":
            (edit,) = action.edits
            applied = apply_edits({path: editor.content(path) for path in editor.shown}, action.edits)
            check_sources(reply, applied)
            theirs = Editor()
            theirs.see(seen[0], edit.path)
            assert differing(applied.files[edit.path], theirs.content(edit.path)) == []
            compared += 1
            if refused:
                log.append(
                    f"turn {number}: its linter refused the edit, so it is compared with the preview and dropped"
                )
            else:
                edited.add(edit.path)
                editor.take(edit.path, applied.files[edit.path])
        for window in seen[refused:]:
            editor.see(window, short(window.path))
            if short(window.path) not in edited:
                first[short(window.path)] = editor.content(short(window.path))
        if action.kind == "submit":
            final = re.search(r"^diff --git.*?(?=^\(Open file|\Z)", observation.replace("\r\n", "\n"), re.M | re.S)
            if final is None:
                log.append(f"turn {number}: the run does not show its final diff")
                continue
            # Fenced, because the run shows it without the blanks at its end.
            diff = get("udiff").parse(f"```diff\n{final[0].strip()}\n```")
            assert diff.error is None
            new = apply_edits(first, diff.edits).files
            for edit in diff.edits:
                assert differing(new[edit.path], editor.content(edit.path)) == []
            compared += 1
    with capsys.disabled():
        sys.stdout.write(
            f"\n{name}: {compared} edits and final diffs applied and compared" + "".join(f"\n  {line}" for line in log)
        )
    assert compared


def test_mini_swe_agent(tmp_path, capsys):
    """Its edits are commands: they run on the file that the run showed, and must give what it showed next."""
    path, log, shown = "tests/missing_colon.py", [], []
    target = tmp_path / path
    for run in ("github_issue", "local"):
        messages = json.loads((DATA / "mini" / f"{run}.traj.json").read_text())
        replies = [(a, b) for a, b in itertools.pairwise(messages) if a["role"] == "assistant"]
        for number, (said, seen) in enumerate(replies, 1):
            action = get("bash").parse(said["content"])
            assert action.error is None
            assert action.kind == ("submit" if number == len(replies) else "shell")
            if action.command == f"cat {path}":
                output = seen["content"].split("<output>\n")[1].removesuffix("</output>")
                shown.append(output)
                if len(shown) == 1:
                    target.parent.mkdir()
                    target.write_text(output)
                assert target.read_text() == output
            elif path in action.command and action.command.startswith(("sed ", "cat >")):
                before = {path: target.read_bytes()}
                subprocess.run(["sh", "-c", action.command], cwd=tmp_path, check=True)
                assert target.read_bytes() != before[path]
            else:
                log.append(f"{run}, turn {number}: {action.kind} {action.command[:50]!r} edits no file")
            if action.kind == "submit" and "diff --git" in seen["content"]:
                diff = get("udiff").parse(seen["content"])
                assert apply_edits({path: shown[0].encode()}, diff.edits).files == {path: target.read_bytes()}
    with capsys.disabled():
        sys.stdout.write("\nmini-swe-agent:" + "".join(f"\n  {line}" for line in log))
    assert len(shown) == 2
