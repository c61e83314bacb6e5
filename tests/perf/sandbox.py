"""How fast the sandbox is, beside a plain subprocess and, where a daemon answers, ``docker exec``.

    python -m tests.perf.sandbox [--times 60] [--seconds 10] [--workers 2]

Every figure is a median, with the fastest tenth in brackets: on a busy machine that is nearer to what the act itself
takes. What is compared is measured in turns, so that a busy machine slows all alike and the ratios stay true.

The last column says what the median must reach, and whether it does; the programme ends with 1 if one does not. Times
are for a machine on which a plain subprocess of ``true`` takes ``PLAIN_MS``, as on two quiet cores. Where it takes
longer, measured in turns with the figure, the target is as many times longer. What is to be reached beside ``docker
exec`` is, without a daemon, named at the end as not measured, which is no miss.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.grading.pytests import ARGUMENTS, PytestRunner
from sandbox import Limits, Pool, Sandbox, SandboxUnavailable, open_sandbox
from sandbox.namespaces import bwrap
from sandbox.packages import places

LIMITS = Limits(wall_s=300)
FILES = {f"d{i % 20}/f{i}.py": b"x = %d\n" % i for i in range(1000)}
TEST = b"def test_a():\n    assert 1 + 1 == 2\n"
PLAIN_MS = 1.0  # `true` as a plain subprocess on a quiet machine with two cores, for which the targets are
# Between acts: a sandbox tidies up after it has answered, which takes it a millisecond or two. After a longer rest
# (30 ms) the cores are asleep, and even a plain subprocess takes twice as long.
_REST_S = 0.004
Run = Callable[[], object]
_missed: list[str] = []
_unmeasured: list[str] = []


@dataclass(frozen=True)
class Latency:
    """Of many measurements, in milliseconds: the median and the fastest tenth."""

    median: float
    fast: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.fast:.2f}) ms"


def latencies(spent: dict[str, list[float]]) -> dict[str, Latency]:
    """Of seconds by name."""
    found = {}
    for name, seconds in spent.items():
        row = sorted(1000 * value for value in seconds)
        found[name] = Latency(statistics.median(row), row[len(row) // 10])
    return found


def in_turns(times: int, ways: dict[str, Run]) -> dict[str, Latency]:
    """The latency of each way."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(times):
        for name, act in ways.items():
            started = time.perf_counter()
            act()
            spent[name].append(time.perf_counter() - started)
            time.sleep(_REST_S)
    return latencies(spent)


def per_second(seconds: float, workers: int, act: Run) -> float:
    """How many a second, by so many threads."""
    stop = time.monotonic() + seconds
    counts = [0] * workers

    def work(number: int) -> None:
        while time.monotonic() < stop:
            act()
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - started)


def say(figure: str, value: str, against: str, target: str = "", met: bool = True) -> None:
    verdict = f"{target}: {'met' if met else 'MISSED'}" if target else ""
    print(f"{figure:38}{value:>22}   {against:62}{verdict}", flush=True)
    if not met:
        _missed.append(figure)


def say_time(figure: str, middle: Latency, plain: Latency, target: float | None = None) -> None:
    """A time, which must reach a target in ms on a machine as fast as the one the target is for."""
    scaled = (target or 0.0) * max(1.0, plain.median / PLAIN_MS)
    words = f"<= {target:g} ms, here {scaled:.1f}" if target else ""
    against = f"{middle.median / plain.median:.2f} x plain {plain}"
    say(figure, str(middle), against, words, middle.median <= scaled if target else True)


def plain_true() -> None:
    subprocess.run(["/usr/bin/true"], env={}, capture_output=True)


def beside(times: int, act: Callable[[], float]) -> tuple[Latency, Latency]:
    """Of an act that says how many seconds it took, and of a plain subprocess in turns with it."""
    spent: dict[str, list[float]] = {"act": [], "plain": []}
    for _ in range(times):
        spent["act"].append(act())
        time.sleep(_REST_S)
        spent["plain"].append(_timed(plain_true))
        time.sleep(_REST_S)
    found = latencies(spent)
    return found["act"], found["plain"]


def _timed(act: Run) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def _opened(open_one: Callable[[], Sandbox], rest: float = 0.0) -> float:
    """Seconds that it takes to open a sandbox."""
    started = time.perf_counter()
    box = open_one()
    spent = time.perf_counter() - started
    box.close()
    time.sleep(rest)
    return spent


def opening(times: int) -> None:
    def own() -> Sandbox:
        return open_sandbox("namespaces", LIMITS)

    with Pool(4, "namespaces", LIMITS) as pool:
        # The next one must be ready: takers of a pool come at intervals.
        say_time("open, from a pool", *beside(times, lambda: _opened(pool.open, 0.05)), 2)
    say_time("open, the first", *beside(times, lambda: _opened(own)), 25)
    with own():
        say_time("open, while another is open", *beside(times, lambda: _opened(own)))


def commands(times: int, box: Sandbox, execute: Callable[[Sequence[str]], int] | None) -> None:
    for name, argv in (
        ("run true", ["/usr/bin/true"]),
        # -S, as site-packages are hidden inside and outside hold what this machine has installed.
        ("run python -S -c pass", [bwrap.interpreter(), "-S", "-c", "pass"]),
    ):
        ways: dict[str, Run] = {
            "sandbox": lambda argv=argv: box.run(argv),  # type: ignore[misc]
            "plain": lambda argv=argv: subprocess.run(argv, env={}, capture_output=True),  # type: ignore[misc]
        }
        middle = in_turns(times, ways)
        if name == "run true":
            say_time(name, middle["sandbox"], middle["plain"], 2)
        else:
            ratio = middle["sandbox"].median / middle["plain"].median
            against = f"{ratio:.2f} x plain {middle['plain']}"
            say(name, str(middle["sandbox"]), against, "<= 1.3 x plain", ratio <= 1.3)
        if execute is not None:  # apart: what its daemon does afterwards would count against who comes next
            apart = in_turns(times, {"docker exec": lambda argv=argv: execute(argv)})  # type: ignore[misc]
            say("    docker exec", str(apart["docker exec"]), "")
    with box.shell() as shell:
        say_time("a command of a persistent shell", *beside(times, lambda: _timed(lambda: shell.run("true"))))


def snapshots(times: int, pool: Pool) -> None:
    with pool.open() as box:
        box.write(FILES)
        box.snapshot().close()

        def restore() -> float:
            box.write({"d1/f1.py": b"2"})
            started = time.perf_counter()
            with box.snapshot() as snapshot:
                box.restore(snapshot)
            return time.perf_counter() - started

        say_time("snapshot + restore of 1,000 files", *beside(times, restore), 5)
        say_time("fork of 1,000 files", *beside(times, lambda: _opened(box.fork, 0.05)), 5)


def grading(seconds: float, workers: int, execute: Callable[[Sequence[str]], int] | None, shown: str) -> None:
    test = f"{shown}/test_a.py"
    argv = [bwrap.interpreter(), "-m", "pytest", *ARGUMENTS]

    def plain() -> None:
        subprocess.run([*argv, test], cwd=shown, env=variables(shown), check=True, capture_output=True)

    with PytestRunner(workers=workers, limits=LIMITS) as runner:

        def warm() -> None:
            assert runner.run({"test_a.py": TEST}).exit_code == 0

        ways = {"warm": warm, "plain": plain}
        if execute is not None:
            ways["docker exec"] = lambda: execute([*argv, test])  # type: ignore[assignment, return-value]
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(3):
            for name, act in ways.items():
                rates[name].append(per_second(seconds / 3, workers, act))
    rate = {name: statistics.median(found) for name, found in rates.items()}
    against, target = f"{rate['warm'] / rate['plain']:.1f} x plain ({rate['plain']:.1f})", ">= 4 x plain"
    if execute is not None:
        against += f", {rate['warm'] / rate['docker exec']:.1f} x docker exec ({rate['docker exec']:.1f})"
        target = ">= 4 x plain, >= 8 x docker exec"
    met = rate["warm"] >= 4 * rate["plain"] and rate["warm"] >= 8 * rate.get("docker exec", 0.0)
    say("graded pytest runs a second, warm", f"{rate['warm']:.1f}", against, target, met)
    if execute is None:
        say("    docker exec", "not measured", "")
        _unmeasured.append("graded pytest runs a second >= 8 x docker exec")


def variables(shown: str) -> dict[str, str]:
    """For those who run without the sandbox. They load what it loads: plugins of this machine would slow them down."""
    return {
        "PYTHONPATH": f"{shown}/packages",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


@contextlib.contextmanager
def folder_with_pytest() -> Iterator[str]:
    """A folder with a test and with pytest's packages, compiled ones too."""
    with tempfile.TemporaryDirectory(dir="/opt" if os.access("/opt", os.W_OK) else None) as folder:
        Path(folder).chmod(0o755)
        Path(folder, "test_a.py").write_bytes(TEST)
        Path(folder, "packages").mkdir()
        for place in places(("pytest",)):
            subprocess.run(["cp", "-a", place, f"{folder}/packages/"], check=True)
        yield folder


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=60, help="of each latency (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10, help="of each throughput (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="graded runs at once (default: %(default)s)")
    options = parser.parse_args(argv)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    with contextlib.ExitStack() as stack:
        shown = stack.enter_context(folder_with_pytest())
        execute = None
        try:
            from tests.perf.docker_exec import docker_exec

            execute = stack.enter_context(docker_exec([shown], variables(shown)))
        except SandboxUnavailable as error:
            print(f"no docker exec to compare with: {error}")
        opening(options.times)
        with open_sandbox("namespaces", LIMITS) as box:
            commands(options.times, box, execute)
        with Pool(4, "namespaces", LIMITS) as pool:
            snapshots(options.times, pool)
        grading(options.seconds, options.workers, execute, shown)
    if _unmeasured:
        print(f"NOT MEASURED: {', '.join(_unmeasured)}", file=sys.stderr)
    if _missed:
        print(f"MISSED: {', '.join(_missed)}", file=sys.stderr)
    return 1 if _missed else 0


if __name__ == "__main__":
    sys.exit(main())
