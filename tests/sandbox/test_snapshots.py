"""Snapshots, restores and forks: the same results on every backend."""

from __future__ import annotations

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox import Limits, SandboxError, WorkspaceError, open_sandbox
from sandbox.namespaces import layers

# Everything that a snapshot keeps, as one text: kind, mode, time, contents or target.
LISTING = r"""
import os, stat
for top, folders, names in os.walk("."):
    folders.sort()
    for name in sorted(folders + names):
        path = os.path.join(top, name)
        s = os.lstat(path)
        kind = stat.S_IFMT(s.st_mode)
        if kind == stat.S_IFLNK:
            print(path, "link", os.readlink(path))
        elif kind == stat.S_IFDIR:
            print(path, "folder", oct(stat.S_IMODE(s.st_mode)))
        else:
            print(path, oct(stat.S_IMODE(s.st_mode)), s.st_mtime_ns, os.stat(path).st_size, open(path, "rb").read())
"""
FILL = r"""
mkdir -p a/b empty; echo 1 > a/one; echo 2 > a/b/two; printf '#!/bin/sh\nprintf ran' > tool; chmod 755 tool
ln -s a/one link; ln -s /nowhere dangling; ln -s .. a/up; chmod 700 empty; touch -d 2001-02-03 a/one
mkdir 'with space'; echo x > 'with space/-rf'; : > "$(printf 'new\nline')"
"""
CHANGE = r"""
rm -r a; echo new > a; rm link; mkdir link; echo l > link/l; chmod 644 tool; rm dangling; echo more >> 'with space/-rf'
mv 'with space' moved; rm -r empty; echo f > fresh
"""


def listing(box) -> bytes:
    result = box.run(["python3", "-c", LISTING], timeout=60)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def shell(box, text: str) -> None:
    result = box.run(["sh", "-ec", text], timeout=60)
    assert result.exit_code == 0, result.stderr


@pytest.fixture
def filled(box):
    shell(box, FILL)
    return box


def test_a_restore_brings_back_everything(filled):
    before = listing(filled)
    with filled.snapshot() as snapshot:
        assert listing(filled) == before
        for _ in range(3):
            shell(filled, CHANGE)
            assert listing(filled) != before
            filled.restore(snapshot)
            assert listing(filled) == before
    assert filled.run(["./tool"]).stdout == b"ran"
    filled.write({"a/one": b"host"})
    assert filled.read("a/one") == b"host"


def test_snapshots_of_snapshots_in_any_order(box):
    states = []
    for i in range(5):
        shell(box, f"echo {i} > n; echo {i} > only{i}; rm -f only{i - 2}")
        states.append((box.snapshot(), box.export()))
    for i in (0, 4, 2, 2, 1, 3):
        box.restore(states[i][0])
        assert box.export() == states[i][1]
        shell(box, "rm -rf n; mkdir n; echo x > n/x")
    for snapshot, _ in states:
        snapshot.close()


def test_a_fork_goes_its_own_way(filled):
    before = listing(filled)
    with filled.fork() as fork:
        assert listing(fork) == before
        shell(fork, CHANGE)
        assert listing(filled) == before
        shell(filled, "echo mine > mine")
        changed = listing(fork)
        filled.close()
        assert listing(fork) == changed
        with fork.fork() as second:
            assert listing(second) == changed


def test_a_snapshot_outlives_its_sandbox_and_goes_into_others(filled, backend):
    before = listing(filled)
    snapshot = filled.snapshot()
    shell(filled, CHANGE)
    filled.close()
    for _ in range(2):
        with open_sandbox(backend) as other:
            other.write({"old": b""})
            other.restore(snapshot)
            assert listing(other) == before
            shell(other, CHANGE)
    snapshot.close()


def test_tmp_is_no_part_of_it(box, backend):
    if backend == "unsafe":
        return  # its /tmp is the machine's
    shell(box, "echo 1 > /tmp/kept; echo 1 > /dev/shm/kept; echo 1 > f")
    with box.snapshot() as snapshot:
        shell(box, "echo 2 > /tmp/kept; rm f")
        box.restore(snapshot)
    assert box.run(["cat", "/tmp/kept", "/dev/shm/kept", "f"]).stdout == b"2\n1\n1\n"


def test_what_cannot_be_restored_is_refused_and_changes_nothing(box, backend):
    box.write({"f": b"1"})
    snapshot = box.snapshot()
    box.write({"f": b"2"})
    snapshot.close()
    snapshot.close()
    others = {"namespaces": "unsafe"}.get(backend, "namespaces")
    with open_sandbox(others) as other, other.snapshot() as foreign:
        for given in (snapshot, foreign):
            with pytest.raises(ValueError, match=r"snapshot"):
                box.restore(given)
    assert box.export() == {"f": b"2"}
    box.close()
    with pytest.raises(SandboxError, match="closed"):
        box.snapshot()
    with pytest.raises(SandboxError, match="closed"):
        box.fork()


@pytest.mark.parametrize("backend", ["namespaces"])
def test_a_failed_restore_leaves_the_old_state(backend):
    with open_sandbox(backend, Limits(disk_bytes=1 << 20)) as big, open_sandbox(backend, Limits(files=20)) as small:
        shell(big, "for i in $(seq 30); do echo $i > $i; done")
        copy = big._files._saved()
        small.write({"kept": b"1"})
        with pytest.raises(WorkspaceError, match=r"Limits\.files"):
            small.restore(layers.NamespaceSnapshot(copy=copy))
        assert small.export() == {"kept": b"1"}
        shell(small, "echo 2 > again")
        assert set(small.export()) == {"kept", "again"}


def test_a_full_workspace_can_still_be_restored(backend):
    if backend == "unsafe":
        return  # it has no limit
    with open_sandbox(backend, Limits(disk_bytes=1 << 20)) as box:
        box.write({"f": b"1"})
        with box.snapshot() as snapshot:
            assert box.run(["sh", "-c", "head -c 5000000 /dev/zero > full"]).exit_code != 0
            box.restore(snapshot)
            assert box.export() == {"f": b"1"}
            shell(box, "head -c 700000 /dev/zero > full")


def test_dropped_snapshots_give_their_room_back(backend):
    with open_sandbox(backend, Limits(disk_bytes=4 << 20)) as box:
        with box.snapshot() as empty:
            for _ in range(12):
                shell(box, "head -c 1000000 /dev/zero > f; mkdir -p d/e/f/g; : > d/e/f/g/h; ln -s /etc d/l")
                box.snapshot().close()
                box.restore(empty)
        assert box.export() == {}


def test_many_layers_are_flattened(box):
    kept = []
    for i in range(40):
        shell(box, f"echo {i} > f{i % 7}")
        kept.append(box.snapshot())
    expected = box.export()
    shell(box, "rm -rf *")
    box.restore(kept[-1])
    assert box.export() == expected
    box.restore(kept[0])
    assert box.export() == {"f0": b"0\n"}


def test_a_high_stack_is_made_one_layer_unless_that_would_change_files(jail):
    def stacked(times: int) -> int:
        for i in range(times):
            jail.write({"f": b"%d" % i})
            jail.snapshot().close()
        return len(jail._files._below)

    shell(jail, FILL)
    before = listing(jail)
    assert stacked(20) < 16
    shell(jail, "rm f")
    assert listing(jail) == before
    shell(jail, "mkfifo pipe; echo 1 > one; ln one two")
    assert stacked(20) == 16
    assert jail.run(["stat", "-c", "%h %F", "pipe", "two"]).stdout == b"1 fifo\n2 regular file\n"


def test_where_layers_cannot_be_borrowed_a_fork_copies(monkeypatch):
    def refuse(*_: object) -> None:
        raise SandboxError("move_mount: Invalid argument")

    monkeypatch.setattr(layers.Workspace, "_stack", refuse)
    with open_sandbox("namespaces") as box:
        shell(box, FILL)
        with box.fork() as fork:
            assert listing(fork) == listing(box)


def test_reading_while_another_thread_restores(box):
    box.write({f"d/{i}": b"%d" % i for i in range(20)})
    expected = box.export()
    with box.snapshot() as snapshot:
        stop = threading.Event()

        def restore() -> None:
            while not stop.is_set():
                box.restore(snapshot)

        thread = threading.Thread(target=restore)
        thread.start()
        try:
            for _ in range(20):
                assert box.export() == expected
        finally:
            stop.set()
            thread.join()


names = st.sampled_from(["a", "b", "c/d", "c/e", "c/f/g"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), names, st.binary(max_size=4)),
        st.tuples(st.just("delete"), names),
        st.tuples(st.just("snapshot")),
        st.tuples(st.just("restore"), st.integers(0, 9)),
    ),
    max_size=12,
)


@given(steps)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_history_agrees_with_a_model(jail, given_steps):
    with jail.fork() as box:
        model: dict[str, bytes] = {}
        taken = []
        for step in given_steps:
            if step[0] == "write":
                box.write({step[1]: step[2]})
                model = {**model, step[1]: step[2]}
            elif step[0] == "delete":
                box.run(["rm", "-f", step[1]], timeout=60)
                model = {k: v for k, v in model.items() if k != step[1]}
            elif step[0] == "snapshot":
                taken.append((box.snapshot(), model))
            elif taken:
                snapshot, model = taken[step[1] % len(taken)]
                box.restore(snapshot)
            assert box.export() == model
