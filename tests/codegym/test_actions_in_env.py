"""Every format in the environment: a scripted agent solves a task, and what it wrote lies on its reply's bytes."""

import gymnasium
import pytest

from codegym import actions
from codegym.actions import base
from codegym.agents import GoldAgent, gold
from codegym.edits import apply_edits
from codegym.env import CodeEnv
from codegym.spaces import ReplySpace
from codegym.spans import reply_bytes
from sandbox.base import ExecResult

NAMES = ["apply_patch", "bash", "search_replace", "tool_call", "udiff", "xml"]
FIX = {
    "apply_patch": "*** Begin Patch\n*** Update File: a.py\n@@ def add(a, b):\n-    return a - b\n+    return a + b\n"
    "*** End Patch",
    "bash": "```bash\nsed -i 's/a - b/a + b/' a.py\n```",
    "search_replace": "a.py\n```\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```",
    "tool_call": '<tool_call>{"name": "edit", "arguments": "{\\"path\\": \\"a.py\\", \\"search\\": \\"a - b\\", '
    '\\"replace\\": \\"a + b\\"}"}</tool_call>',
    "udiff": "```diff\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n"
    " def add(a, b):\n-    return a - b\n+    return a + b\n```",
    "xml": '<edit path="a.py"><search>a - b</search><replace>a + b</replace></edit>',
}


def test_all_formats_are_here():
    assert [name for name in base.names() if name in NAMES] == NAMES
    assert sorted(name for name in vars(actions) if name in NAMES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_solved_and_sources_are_exact(name, toy, local_box):
    env = gymnasium.make("toy/Toy-v0", benchmark=toy, action_format=name)
    observation, _ = env.reset(options={"task_id": "toy/add"})
    assert observation.startswith(base.get(name).prompt)
    reply = "é I see.\n" + FIX[name]
    observation, reward, terminated, _, info = env.step(reply)
    assert (reward, terminated, info["stop_reason"], info["action"]["error"]) == (1.0, True, "solved", None)
    (file,) = info["diff"].files
    raw = reply_bytes(reply)
    (change,) = file.changes
    assert change.kind == "update"
    assert change.symbol == "add"
    written = [raw[slice(*span)] for span in change.source]
    assert written == ([] if name == "bash" else [b"a + b"])
    for hunk in file.hunks:
        said = b"".join(raw[slice(*span)] for span in hunk.source)
        assert said == (b"" if name == "bash" else hunk.text)
    env.close()


@pytest.mark.parametrize("name", NAMES)
def test_the_gold_agent_and_the_space_speak_every_format(name):
    env = gymnasium.make("codegym/Repair-v0", level="tiny", n_bugs=1, action_format=name, max_turns=2)
    agent = GoldAgent(env.unwrapped.benchmark, action_format=name)
    observation, info = env.reset(options={"index": 3})
    task = env.unwrapped.task
    action = base.get(name).parse(agent(observation, info))
    if name == "bash":
        assert action.kind == "shell"
    else:
        fixed = {"m.py": task.meta["fixed"].encode()} if isinstance(task.meta["fixed"], str) else task.meta["fixed"]
        assert list(apply_edits(task.workspace, action.edits).files.values()) == list(fixed.values())
    info["turn"] = 1
    assert base.get(name).parse(agent(observation, info)) == base.Action("submit")
    space = ReplySpace(name, seed=1)
    kinds = {base.get(name).parse(space.sample()).kind for _ in range(60)}
    assert kinds >= {"shell", "submit", "invalid"}
    assert ("edit" in kinds) == (name != "bash")
    env.close()


def test_the_gold_agent_runs_in_bash(toy, local_box, monkeypatch):
    monkeypatch.setattr(
        gold, "fixed_files", lambda task: {"a.py": b"def add(a, b):\n    return a + b", "d/e": b"\0\xff", "x": None}
    )
    env = gymnasium.make("toy/Toy-v0", benchmark=toy, action_format="bash")
    observation, info = env.reset(options={"task_id": "toy/add"})
    *_, info = env.step(GoldAgent(toy, action_format="bash")(observation, info))
    assert info["stop_reason"] == "solved"
    assert env.unwrapped.files["d/e"] == b"\0\xff"


def test_tolerance_is_an_option_and_is_told(toy):
    reply = '<edit path="a.py"><search>return a - b\n</search><replace>return a + b\n</replace></edit>'.replace(
        "<search>", "<search>\ndef add(a, b):  \n    "
    ).replace("<replace>", "<replace>\ndef add(a, b):\n    ")
    env = gymnasium.make("toy/Toy-v0", benchmark=toy)
    env.reset(options={"task_id": "toy/add"})
    observation, *_ = env.step(reply)
    assert "differs only in trailing blanks is at lines 1-2" in observation
    env = gymnasium.make("toy/Toy-v0", benchmark=toy, tolerant=True)
    env.reset(options={"task_id": "toy/add"})
    observation, *_, info = env.step(reply)
    assert observation.splitlines()[:2] == [
        "applied",
        "note: a.py: matched at lines 1-2 although trailing blanks differ",
    ]
    assert info["stop_reason"] == "solved"


def test_files_removed_by_edits_are_gone_for_commands(toy, local_box):
    env = CodeEnv(benchmark=toy, feedback="exec")
    env.reset(options={"task_id": "toy/add"})
    env.step('<write path="b/c.py">1</write><write path="-f">2</write>')
    env.step("<shell>ls</shell>")
    *_, info = env.step('<delete path="-f"/><rename path="b/c.py" to="d.py"/>')
    assert info["action"]["error"] is None
    assert sorted(env.files) == ["a.py", "d.py", "keep.py"]
    observation, *_ = env.step("<shell>find . -type f | sort</shell>")
    assert observation == "exit code: 0\n./a.py\n./d.py\n./keep.py"
    *_, info = env.step('<delete path="keep.py"/>')
    assert "protected" in info["action"]["error"]
    *_, info = env.step('<rename path="keep.py" to="k.py"/>')
    assert "protected" in info["action"]["error"]
    assert len(local_box) == 1


def test_the_diff_is_against_the_task_whatever_git_says(toy, local_box):
    env = CodeEnv(benchmark=toy, feedback="exec", max_turns=20)
    env.reset(options={"task_id": "toy/add"})
    git = "git -c user.name=a -c user.email=a@b.c"
    *_, info = env.step(f"<shell>git init -q . && git add -A && {git} commit -qm base</shell>")
    assert info["state"] == info["state_before"]
    assert (info["diff"].files, info["patch"]) == ((), "")
    env.step('<edit path="a.py"><search>a - b</search><replace>a * b</replace></edit>')
    *_, info = env.step(f"<shell>{git} commit -qam work && echo 1 > new.txt</shell>")
    assert [file.path for file in info["diff"].files] == ["new.txt"]
    assert all(hunk.source == () for file in info["diff"].files for hunk in file.hunks)
    assert "+    return a * b" in info["patch"]
    *_, info = env.step("<shell>git reset -q --hard HEAD~1 && git log --oneline | wc -l</shell>")
    assert [file.path for file in info["diff"].files] == ["a.py"]  # the reset took the change back
    assert "a.py" not in info["patch"]
    assert "new.txt" in info["patch"]
    *_, info = env.step('<write path=".git/config">x</write>')
    assert "belongs to git" in info["action"]["error"]
    assert set(env.files) == {"a.py", "keep.py", "new.txt"}


@pytest.mark.parametrize("target", ["outside", "sub", "nowhere"])
def test_an_edit_never_crosses_a_link(toy, local_box, tmp_path, target):
    env = gymnasium.make("toy/Toy-v0", benchmark=toy, feedback="exec", max_turns=20)
    env.reset(options={"task_id": "toy/add"})
    target = str(tmp_path) if target == "outside" else target
    env.step(
        f"<shell>mkdir -p sub/deep; touch sub/deep/f; ln -s {target} d; ln -s ../d sub/-l; ln -s {target}/g f</shell>"
    )
    before = dict(env.unwrapped.files)
    assert set(before) == {"a.py", "keep.py", "sub/deep/f"}  # links are no files
    for path, link in (("d/e.txt", "d"), ("d/new/e.txt", "d"), ("sub/-l/e.txt", "sub/-l"), ("f", "f"), ("d", "d")):
        for action in (f'<write path="{path}">x</write>', f'<rename path="a.py" to="{path}"/>'):
            *_, info = env.step('<write path="fine.txt">x</write>' + action)
            assert f"{link} is a symbolic link; nothing was applied" in info["action"]["error"]
            assert env.unwrapped.files == before
    *_, info = env.step('<write path="sub/deep/e.txt">x</write>')
    assert info["action"]["error"] is None
    observation, *_ = env.step("<shell>readlink d sub/-l f; cat sub/deep/e.txt; rm d</shell>")
    assert observation == f"exit code: 0\n{target}\n../d\n{target}/g\nx"
    *_, info = env.step('<write path="d/e.txt">x</write>')
    assert info["action"]["error"] is None
    assert not list(tmp_path.iterdir())
    env.close()


def test_a_link_in_the_place_of_a_file_is_its_deletion():
    env = gymnasium.make("codegym/Repair-v0", level="tiny", feedback="exec")
    env.reset(seed=0)
    (path,) = env.unwrapped.files
    *_, info = env.step(f"<shell>echo outside > /tmp/g; ln -sf /tmp/g {path}</shell>")
    assert [(file.path, file.status) for file in info["diff"].files] == [(path, "deleted")]
    *_, info = env.step(f'<write path="{path}">x</write>')
    assert f"{path} is a symbolic link" in info["action"]["error"]
    observation, *_ = env.step(f"<shell>cat {path}</shell>")
    assert observation == "exit code: 0\noutside"
    env.close()


def test_where_links_cannot_be_looked_for_nothing_is_written(toy, local_box, monkeypatch):
    env = gymnasium.make("toy/Toy-v0", benchmark=toy, feedback="exec")
    env.reset(options={"task_id": "toy/add"})
    env.step("<shell>true</shell>")
    full = ExecResult(2, b"", b"sh: cannot fork\n", False, False, False, 0.0, 0.0)
    monkeypatch.setattr(local_box[0], "run", lambda *args, **kwargs: full)
    *_, info = env.step('<write path="new.py">x</write>')
    assert "links cannot be looked for (sh: cannot fork); nothing was applied" in info["action"]["error"]
    assert set(env.unwrapped.files) == {"a.py", "keep.py"}
    env.close()


def test_a_file_that_was_renamed_and_written_anew_is_one_file(toy, local_box):
    env = gymnasium.make("toy/Toy-v0", benchmark=toy)
    env.reset(options={"task_id": "toy/add"})
    *_, info = env.step('<rename path="a.py" to="b.py"/>\n<write path="b.py">\nnothing = "alike"\n</write>')
    assert info["action"]["error"] is None
    (file,) = info["diff"].files
    assert (file.status, file.old_path, file.path) == ("renamed", "a.py", "b.py")
