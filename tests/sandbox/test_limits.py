"""Limits and time-outs that mean nothing are refused, by name, before anything is started."""

from __future__ import annotations

import math

import pytest

from sandbox import Limits, open_runner, open_sandbox
from sandbox.namespaces.cgroup import Cgroup


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("wall_s", math.nan, "from 0.001 to 1000000"),
        ("wall_s", math.inf, "from 0.001 to 1000000"),
        ("wall_s", "3", "a number"),
        ("wall_s", True, "a number"),
        ("wall_s", None, "a number"),
        ("cpu_s", math.inf, "from 0.001 to 1000000"),
        ("cpu_s", -1, "positive"),
        ("memory_bytes", "1G", "a whole number"),
        ("memory_bytes", 1, "from 16777216"),
        ("memory_bytes", 1e9, "a whole number"),
        ("memory_bytes", 1 << 80, "to 4611686018427387904"),
        ("pids", 1.5, "a whole number"),
        ("pids", 0, "positive"),
        ("pids", 1 << 30, "to 4194304"),
        ("disk_bytes", True, "a whole number"),
        ("disk_bytes", 1, "from 4096"),
        ("disk_bytes", 1 << 63, "to 4611686018427387904"),
        ("files", 1, "from 16"),
        ("files", 1 << 62, "to 4294967296"),
        ("output_bytes", math.nan, "a whole number"),
        ("cpus", 1e9, "from 0.01 to 10000"),
        ("cpus", 0.001, "from 0.01"),
        ("cpus", math.nan, "from 0.01"),
        ("cpus", "2", "a number"),
    ],
)
def test_a_limit_that_means_nothing(name, value, why):
    with pytest.raises(ValueError, match=rf"^Limits\.{name} must be .*{why}.*, not {value!r}$"):
        Limits(**{name: value})


LEAST = {"memory_bytes": 16 << 20, "pids": 1, "disk_bytes": 4096, "files": 16, "output_bytes": 1, "cpu_s": 0.001}
MOST = {
    **{"wall_s": 1e6, "cpu_s": 1e6, "memory_bytes": 1 << 62, "pids": 1 << 22, "disk_bytes": 1 << 62},
    **{"files": 1 << 32, "output_bytes": 1 << 62},
}


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("bounds", [LEAST, MOST])
def test_the_bounds_themselves_work(bounds, grouped, monkeypatch):
    if not grouped:
        monkeypatch.setattr(Cgroup, "create", lambda _: (_ for _ in ()).throw(OSError("none")))
    with open_sandbox("namespaces", Limits(**bounds)) as box:
        assert box.run(["echo", "1"]).stdout[:1] == b"1"
        assert box.run(["python3", "-S", "-c", "print(2)"]).stdout[:1] == b"2"
        with box.snapshot() as taken:
            box.restore(taken)
    with open_runner(Limits(**bounds | {"output_bytes": 100})) as runner:
        assert runner.run("emit(b'3')").output == b"3"


@pytest.mark.parametrize("cpus", [0.01, 10_000.0])
def test_the_bounds_of_a_share_work(cpus):
    try:
        Cgroup.create(Limits()).remove()
    except OSError:
        pytest.skip("no control groups for us here")
    with open_sandbox("namespaces", Limits(cpus=cpus)) as box:
        assert box.run(["echo", "1"], timeout=60).stdout == b"1\n"


BAD = [math.inf, 1e18, math.nan, "3", -1, True, b"1"]


def test_a_time_out_that_means_nothing_ends_nothing(box):
    with box.shell() as shell:
        for run, what in ((box.run, ["true"]), (shell.run, "true")):
            for timeout in BAD:
                with pytest.raises(ValueError, match=r"timeout=.* must be a number of seconds from 0 to 1000000"):
                    run(what, timeout=timeout)
        assert shell.run("echo lives", timeout=1e6).stdout == b"lives\n"
    assert box.run(["echo", "lives"], timeout=1_000_000).stdout == b"lives\n"


@pytest.mark.parametrize("backend", ["namespaces", "unsafe"])
def test_a_time_out_of_a_job_that_means_nothing(backend):
    with open_runner(backend=backend) as runner:
        for timeout in BAD:
            with pytest.raises(ValueError, match="timeout="):
                runner.run("pass", timeout=timeout)
        assert runner.run("emit(b'1')", timeout=1e6).output == b"1"


def test_a_command_for_whose_start_memory_is_short_has_not_succeeded(monkeypatch):
    """Without a control group the limit counts before the command starts. The least that is allowed is above that."""
    monkeypatch.setattr(Cgroup, "create", lambda _: (_ for _ in ()).throw(OSError("none")))
    limits = Limits()
    object.__setattr__(limits, "memory_bytes", 4 << 20)
    with open_sandbox("namespaces", limits) as box:
        for _ in range(2):
            result = box.run(["true"])
            assert (result.exit_code, result.stdout) == (-9, b"")
