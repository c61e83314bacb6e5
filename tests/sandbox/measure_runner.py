"""CPU time of a job of the runner against a plain interpreter start: ``python tests/sandbox/measure_runner.py [jobs]``.

CPU time, not wall time, so that a busy machine changes little. A job counts on the host, in PID 1 and in itself.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from sandbox import open_runner
from sandbox.namespaces import bwrap
from sandbox.runner import _NamespaceWorker

PROGRAM = "import a\nemit(repr([a.f(x) for x in range(20)]).encode())"
FILES = {"a.py": b"def f(x):\n    return sum(range(x))\n"}


def main(jobs: int) -> None:
    start = time.process_time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(jobs):
        subprocess.run([bwrap.interpreter(), "-I", "-S", "-c", "pass"], check=True)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    host = time.process_time() - start[0]
    used = children.ru_utime + children.ru_stime - start[1].ru_utime - start[1].ru_stime
    plain = (host + used) / jobs
    with open_runner() as runner:
        worker = runner._free.get()
        runner._free.put(worker)
        assert isinstance(worker, _NamespaceWorker)
        pidfd = worker._box._pidfd
        pid = dict(line.split(":", 1) for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines())[
            "Pid"
        ].strip()
        schedstat = Path(f"/proc/{pid}/schedstat")
        runner.run(PROGRAM, files=FILES)
        before, host_before = int(schedstat.read_text().split()[0]), time.process_time()
        inside = sum(runner.run(PROGRAM, files=FILES).exec.cpu_s for _ in range(jobs))
        host = time.process_time() - host_before
        pid1 = (int(schedstat.read_text().split()[0]) - before) / 1e9
    total = (host + pid1 + inside) / jobs
    print(f"plain interpreter   {plain * 1e3:6.2f} ms CPU")
    print(
        f"job of the runner   {total * 1e3:6.2f} ms CPU "
        f"(host {host / jobs * 1e3:.2f}, PID 1 {pid1 / jobs * 1e3:.2f}, job {inside / jobs * 1e3:.2f})"
    )
    print(f"ratio               {total / plain:6.2f}   on {os.cpu_count()} cores, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
