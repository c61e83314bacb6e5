"""``docker exec`` as agent stacks use it, one container that sleeps and an exec per command, to compare with.

``python -m tests.perf.docker_exec [times]`` prints its median latency beside a plain subprocess and the two sandboxes,
in turns of one run, so that a busy machine slows all alike. It needs a daemon and the image that ``python -m sandbox
image`` makes.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from sandbox import open_sandbox
from sandbox.docker import daemon, image
from sandbox.namespaces import bwrap

Execute = Callable[[Sequence[str]], int]


@contextlib.contextmanager
def docker_exec(shown: Sequence[str] = (), environment: dict[str, str] | None = None) -> Iterator[Execute]:
    """A function that runs a command by ``docker exec`` and gives its exit code.

    Args:
        shown: host paths to mount, each at its own place, read-only.
        environment: more variables for every command.

    Raises:
        SandboxUnavailable: no daemon, or no image.
    """
    with contextlib.closing(daemon.client()) as api:
        container = api.containers.create(
            image.find(api, None),
            ["1000000"],
            entrypoint=["sleep"],
            network_mode="none",
            labels={daemon.LABEL: daemon.maker()},
            tmpfs={"/box": "rw,exec,mode=1777"},
            volumes={path: {"bind": path, "mode": "ro"} for path in shown},
        )
        try:
            container.start()
            container.exec_run(["mkdir", "-p", "/box/tmp", "/box/work"])
            yield (
                lambda argv: (
                    container.exec_run(list(argv), workdir="/box/work", environment=environment, demux=True).exit_code
                )
            )
        finally:
            daemon.remove(container)


def main(times: int) -> None:
    import pytest

    packages = str(Path(pytest.__file__).parents[1])
    python = bwrap.interpreter()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir="/opt"))
        test = f"{folder}/test_a.py"
        Path(test).write_text("def test_a():\n    assert 1 + 1 == 2\n")
        Path(folder).chmod(0o755)
        variables = {"PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        shown = [packages, folder]
        execute = stack.enter_context(docker_exec(shown, variables))
        boxes = [stack.enter_context(open_sandbox(name, read_only=shown)) for name in ("docker", "namespaces")]
        ways: dict[str, Execute] = {
            "plain subprocess": lambda argv: subprocess.run(argv, env=variables, capture_output=True).returncode,
            "docker exec": execute,
            "sandbox, docker": lambda argv: boxes[0].run(argv, env=variables).exit_code,
            "sandbox, namespaces": lambda argv: boxes[1].run(argv, env=variables).exit_code,
        }
        commands = {
            "true": ["/usr/bin/true"],
            "python -c pass": [python, "-c", "pass"],
            "pytest": [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        }
        for name, argv in commands.items():
            spent: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(times):
                for way, run in ways.items():
                    started = time.perf_counter()
                    code = run(argv)
                    spent[way].append(time.perf_counter() - started)
                    assert code == 0, (name, way, code)
            against = statistics.median(spent["docker exec"])
            for way, seconds in spent.items():
                middle = statistics.median(seconds)
                print(f"{name:16}{way:22}{middle * 1e3:8.1f} ms   docker exec / this = {against / middle:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
