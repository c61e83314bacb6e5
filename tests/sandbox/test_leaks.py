"""Nothing is left behind: after many cycles, and after a kill -9 of the process that opened everything.

``CODEGYM_CYCLES=10000 pytest tests/sandbox/test_leaks.py`` for the long run (minutes); the default is short.
"""

from __future__ import annotations

import gc
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import Pool, open_sandbox

CYCLES = int(os.environ.get("CODEGYM_CYCLES", "40"))


def state() -> dict[str, object]:
    """What could pile up on the machine for this process."""
    gc.collect()
    threads = len(os.listdir("/proc/self/task"))
    return {"descriptors": len(os.listdir("/proc/self/fd")), "threads": threads}


@pytest.mark.timeout(7200)
def test_many_cycles_of_everything(nothing_left):
    with Pool(2, "namespaces") as pool:
        pool.open().close()
        with pool.open() as box, box.shell() as shell:  # what is opened once and stays, such as a module's own files
            shell.run("true", timeout=60)
        before = wait_for_filler(pool)
        memory = resident()
        for i in range(CYCLES):
            with pool.open() as box:
                box.write({"f": b"%d" % i})
                assert box.run(["cat", "f"], timeout=60).stdout == b"%d" % i
                if i % 4 == 0:
                    with box.snapshot() as snapshot, box.fork() as fork, fork.shell() as shell:
                        assert shell.run("cat f; sleep 300 & true", timeout=60).stdout == b"%d" % i
                        box.restore(snapshot)
        assert wait_for_filler(pool) == before
    assert resident() < memory + (40 << 20)


def wait_for_filler(pool: Pool) -> dict[str, object]:
    """The state when the pool is full."""
    with pool._changed:
        assert pool._changed.wait_for(lambda: len(pool._ready) == 2, timeout=60)
    return state()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_unclosed_things_free_themselves(nothing_left):
    box = open_sandbox("namespaces")
    shell = box.shell()
    snapshot = box.snapshot()
    assert shell.run("echo 1", timeout=60).stdout == b"1\n"
    del shell, snapshot, box
    gc.collect()


HOST = """
import os, sys, threading
from sandbox import Pool, open_sandbox
pool = Pool(2, "namespaces")
box = pool.open()
box.write({"f": b"1"})
snapshot = box.snapshot()
fork = box.fork()
shell = fork.shell()
shell.run("sleep 300 & setsid sleep 300 &", timeout=60)
pids = []
for each in (box._box, fork._box, shell._ground.box):
    fields = dict(line.split(":", 1) for line in open(f"/proc/self/fdinfo/{each._pidfd}"))
    pids.append(fields["Pid"].strip())
groups = [str(folder) for each in (box, fork) if each._box.cgroup for folder in each._box.cgroup.folders.values()]
print(*pids, *groups, flush=True)
box.run(["sleep", "300"], timeout=300)
"""


def test_a_killed_host_leaves_no_process_and_its_groups_are_swept():
    host = subprocess.Popen([sys.executable, "-c", HOST], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert host.stdout is not None
    words = host.stdout.readline().decode().split()
    pids, groups = words[:3], words[3:]
    handles = [os.pidfd_open(int(pid)) for pid in pids]
    host.kill()
    host.wait()
    host.stdout.close()
    for handle in handles:
        assert select.select([handle], [], [], 30)[0]
        os.close(handle)
    sweep = "from sandbox import open_sandbox; open_sandbox('namespaces').close()"
    subprocess.run([sys.executable, "-c", sweep], check=True, cwd=Path(__file__).parents[2])
    assert [group for group in groups if os.path.exists(group)] == []
