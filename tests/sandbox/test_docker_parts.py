"""The parts of the Docker backend that need no daemon: packed trees, the profile, the frames of the connection."""

from __future__ import annotations

import ast
import json
import os
import socket
import stat
import struct
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import SandboxError, WorkspaceError
from sandbox.docker import tree
from sandbox.docker.channel import Channel
from sandbox.docker.container import SHELL_MODULES, sources
from sandbox.docker.frames import DATA, DONE, FAIL, HEADER, PIECE
from sandbox.docker.profile import profile
from sandbox.namespaces import seccomp

NAMES = st.sampled_from(["a", "b", "-rf", "new\nline", "\udcff", "é"])
CONTENT = st.one_of(
    st.tuples(st.just("file"), st.binary(max_size=60), st.sampled_from([0o644, 0o755, 0o400, 0o000])),
    st.tuples(st.just("hole"), st.integers(0, 1 << 22), st.just(0o644)),
    st.tuples(st.just("link"), st.sampled_from(["a", "/etc/passwd", "../.."]), st.just(0)),
)
TREES = st.recursive(CONTENT, lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=12)


def make(root: str, content: dict) -> None:
    for name, what in content.items():
        path = os.path.join(root, name)
        if isinstance(what, dict):
            os.mkdir(path)
            make(path, what)
            os.utime(path, ns=(10**18, 10**18 + len(what)))
            continue
        kind, value, mode = what
        if kind == "link":
            os.symlink(value, path)
            continue
        with open(path, "wb") as file:
            file.truncate(value) if kind == "hole" else file.write(value)
        os.chmod(path, mode)


def state(root: str) -> list[tuple]:
    rows = []
    for top, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = os.path.join(top, name)
            status = os.lstat(path)
            body: object = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None
            if stat.S_ISREG(status.st_mode):
                os.chmod(path, 0o600)
                with open(path, "rb") as file:
                    body = file.read()
                os.chmod(path, stat.S_IMODE(status.st_mode))
            rows.append((os.path.relpath(path, root), status.st_mode, status.st_mtime_ns, body))
    return sorted(rows, key=lambda row: row[0])


@given(st.dictionaries(NAMES, TREES, max_size=4), st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_a_packed_tree_unpacks_to_itself_from_pieces_of_any_size(content, size):
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        make(one, content)
        before = state(one)
        descriptors = [os.open(folder, os.O_RDONLY) for folder in (one, two)]
        try:
            packed = b"".join(tree.pack(descriptors[0], 1 << 16))
            assert state(one) == before
            unpacker = tree.Unpacker(descriptors[1])
            for at in range(0, len(packed), size):
                assert not unpacker.complete
                unpacker.feed(packed[at : at + size])
            assert unpacker.complete
            assert state(two) == before
            tree.clear(descriptors[1])
            assert os.listdir(two) == []
        finally:
            for fd in descriptors:
                os.close(fd)


def test_holes_are_not_packed():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        make(folder, {"hole": ("hole", 1 << 40, 0o644)})
        fd = os.open(folder, os.O_RDONLY)
        try:
            assert sum(map(len, tree.pack(fd, 1 << 16))) < 1000
        finally:
            os.close(fd)


def test_the_profile_allows_nothing_that_the_filter_denies():
    rules = json.loads(profile())
    assert rules["defaultAction"] == "SCMP_ACT_ERRNO"
    always = {n for r in rules["syscalls"] if r["action"] == "SCMP_ACT_ALLOW" and not r.get("args") for n in r["names"]}
    assert {"read", "execve", "prctl", "seccomp"} <= always
    assert always & (set(seccomp._DENIED) | set(seccomp._ABSENT) | {"clone", "clone3", "socket", "socketpair"}) == set()


def test_what_runs_inside_is_of_old_pythons_too():
    """An image's Python may be 3.8. Of the syntax, as no old interpreter need be here."""
    for name, text in sources() + sources(SHELL_MODULES):
        ast.parse(text, name, feature_version=(3, 8))


class Peer:
    """The container's end of a connection."""

    def __init__(self) -> None:
        near, self.socket = socket.socketpair()
        self.channel = Channel(near)

    def say(self, number: int, kind: int, body: bytes = b"", stream: int = 1) -> None:
        frame = HEADER.pack(number, kind, len(body)) + body
        for part in (frame[:3], frame[3:]):  # frames may be cut anywhere
            self.socket.sendall(struct.pack(">BxxxI", stream, len(part)) + part)

    def close(self) -> None:
        self.channel.close()
        self.socket.close()


@pytest.fixture
def peer(nothing_left):
    opened = Peer()
    yield opened
    opened.close()


def test_frames_reach_the_call_they_answer(peer):
    first, second = peer.channel.call("one"), peer.channel.call("two")
    for number in (2, 1):
        peer.say(number, DATA, b"%d" % number)
        peer.say(number, DONE)
    peer.say(99, DATA, b"nobody asked")
    assert list(first) == [(DATA, b"1"), (DONE, b"")]
    assert list(second) == [(DATA, b"2"), (DONE, b"")]


@pytest.mark.parametrize(
    ("body", "kind"), [(b"Wfull", WorkspaceError), (b"Nnone", FileNotFoundError), (b"Mbroken", SandboxError)]
)
def test_failures_have_their_class(peer, body, kind):
    call = peer.channel.call("x")
    peer.say(1, FAIL, body)
    with pytest.raises(kind, match=body[1:].decode()):
        list(call)


def test_an_end_is_told_to_every_call_and_a_silence_too(peer):
    call = peer.channel.call("x", patience=0.05)
    with pytest.raises(SandboxError, match="did not answer"):
        list(call)
    waiting = peer.channel.call("x")
    peer.socket.sendall(struct.pack(">BxxxI", 2, 5) + b"trace")
    peer.socket.shutdown(socket.SHUT_RDWR)
    with pytest.raises(SandboxError, match=r"PID 1 is gone.*trace|connection"):
        list(waiting)
    with pytest.raises(SandboxError):
        list(peer.channel.call("y", data=[bytes(3 * PIECE)]))
