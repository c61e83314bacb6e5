"""Anchors of saved trajectories in the terminal."""

from __future__ import annotations

import re

import numpy as np
import pytest

from algorithms.core.runfolder import RunFolder
from algorithms.core.trajectory import Credit
from algorithms.didpo.anchors import find_anchors
from algorithms.didpo.show import main, read_groups
from tests.algorithms.groups_for_tests import block, trajectory, turn

SHARED = b"\n".join(block(1, 9))


def saved(tmp_path):
    group = [trajectory(k, [turn([("a.py", b"x = %d\n" % k + SHARED)], reward=float(k))]) for k in range(3)]
    nothing = Credit([[np.zeros(len(made.response_ids)) for made in own.turns] for own in group])
    RunFolder(str(tmp_path)).save_groups(3, [(group, nothing)])
    return group, tmp_path / "trajectories" / "step_000003.jsonl"


def test_saved_groups_have_the_same_anchors(tmp_path):
    group, path = saved(tmp_path)
    (again,) = read_groups(path)
    assert find_anchors(again) == find_anchors(group) != []


def test_the_command_shows_them(tmp_path, capsys):
    _, path = saved(tmp_path)
    assert main([str(path)]) == 0
    out = capsys.readouterr().out
    assert "in 3 trajectories" in out
    assert SHARED.split(b"\n")[0].strip().decode() in out
    assert "trajectory 2, turn 0, bytes" in out
    assert "return 2.000" in out


@pytest.mark.parametrize(
    "line",
    [
        b'{"a": 1}',
        b"[",
        b"\xff",
        b'{"task_id": "a", "trajectories": []}',
        b'{"task_id": "a", "trajectories": [{"member": 0, "turns": [null]}]}',
    ],
)
def test_what_is_no_group_is_named(tmp_path, capsys, line):
    (tmp_path / "x.jsonl").write_bytes(line + b"\n")
    assert main([str(tmp_path / "x.jsonl")]) == 2
    assert "x.jsonl, line 1: no saved group" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new"), [(rb'"reply": ?"[^"]*"', b'"reply": null'), (rb'"version": ?\d+', b'"version": 0')]
)
def test_a_group_that_was_damaged_is_named(tmp_path, capsys, old, new):
    _, path = saved(tmp_path)
    content, count = re.subn(old, new, path.read_bytes())
    assert count
    path.write_bytes(content)
    assert main([str(path)]) == 2
    assert "line 1: no saved group" in capsys.readouterr().err
