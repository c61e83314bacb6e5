"""The same verdicts in an image that the test makes: this machine's Python, pytest, and the repository at /testbed."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import re
import sysconfig
import tarfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from benchmarks.base import Grade, reference
from benchmarks.swebench import images
from benchmarks.swebench.benchmark import SWEBench
from codegym.workspace import EpisodeFiles
from tests.benchmarks.swebench.attacks import PYTEST, UNITTEST
from tests.benchmarks.swebench.conftest import World, changed, git, options

FOUR, FIVE, UNIT = "fixture__calc-4", "fixture__calc-5", "fixture__calc-u"
ALL = os.environ.get("CODEGYM_TEST_DOCKER") == "all"  # every attack: a container each, one or two minutes


def _tar(clone: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(clone, "testbed")
        place = sysconfig.get_path("purelib", vars={"base": os.path.realpath(sys_prefix())}).lstrip("/")
        for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
            for file in importlib.metadata.distribution(name).files or ():
                if not str(file).startswith("..") and not str(file).endswith(".pyc"):
                    tar.add(str(file.locate()), f"{place}/{file}")
    return buffer.getvalue()


def sys_prefix() -> str:
    import sys

    return sys.base_prefix


@pytest.fixture(scope="module")
def docker_bench(world: World, docker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SWEBench]:
    from sandbox.docker import daemon, image

    clone = tmp_path_factory.mktemp("testbed") / "clone"
    git(world.folder, "clone", "-q", str(world.clones / "fixture__calc"), str(clone))
    git(clone, "checkout", "-q", SWEBench("swe-lite", **options(world)).row(FIVE).base_commit)
    container = docker.containers.create(image.find(docker, None), ["-"], entrypoint=["-"], network_mode="none")
    try:
        container.put_archive("/", _tar(clone))
        container.commit("fixture/calc", "latest")
        names = ["fixture/calc:latest", "swebench/sweb.eval.x86_64.fixture_1776_calc-4:latest"]
        assert docker.images.get(names[0]).tag(*names[1].split(":"))  # a row of 4.x names no image: swebench's name
    finally:
        daemon.remove(container)
    raw = [json.loads(line) for line in world.rows.read_text().splitlines()]
    given = [each | {"image": names[0]} if each["instance_id"] == UNIT else each for each in raw]
    rows = clone.parent / "rows.json"
    rows.write_text(json.dumps(given))
    yield SWEBench("swe-lite", **{**options(world), "rows": str(rows), "mode": "docker", "repositories": None})
    tag = images.prepared("fixture/calc:latest")
    images.prepared.cache_clear()
    for name in (tag, *names):
        docker.images.remove(name, force=True)


@pytest.mark.parametrize("row", [FOUR, FIVE, UNIT])
def test_gold_resolves_and_empty_does_not(docker_bench: SWEBench, row: str):
    task = docker_bench.task(row)
    empty = docker_bench.grade(task, task.workspace)
    assert (empty.resolved, empty.infra_error) == (False, None)
    assert [status for status in empty.tests.values() if status == "passed"] == ["passed"]
    gold = docker_bench.grade(task, reference(task) or {})
    assert gold.resolved, (gold.details, gold.infra_error)


# One of each kind; natively all are tried (test_swebench_attacks.py), and here, too, if asked for.
SOME = {
    (FIVE, "root conftest"),
    (FIVE, "exit at import"),
    (FIVE, "the supervisor's output"),
    (FIVE, "everything killed"),
    (FIVE, "records without the key"),
    (FIVE, "test functions not called"),
    (FIVE, "the hidden test file written"),
    (FIVE, "the items' runtest replaced"),
    (UNIT, "a failure called expected"),
    (UNIT, "successes told by hand"),
    (UNIT, "the supervisor killed"),
}
EVERY = [(FIVE, name) for name in PYTEST] + [(UNIT, name) for name in UNITTEST]
CHOSEN = [each for each in EVERY if ALL or each in SOME]


@pytest.fixture(scope="module")
def grades(docker_bench: SWEBench) -> dict[tuple[str, str], Future[Grade]]:
    """The verdicts, two containers at a time."""

    def grade(row: str, name: str) -> Grade:
        task = docker_bench.task(row)
        return docker_bench.grade(task, changed(task, (PYTEST if row == FIVE else UNITTEST)[name]))

    with ThreadPoolExecutor(2) as pool:
        return {each: pool.submit(grade, *each) for each in CHOSEN}


@pytest.mark.parametrize("attack", CHOSEN, ids=[f"{row[-1]}-{name}" for row, name in CHOSEN])
def test_attack(grades: dict[tuple[str, str], Future[Grade]], attack: tuple[str, str]):
    grade = grades[attack].result()
    assert (grade.resolved, grade.infra_error) == (False, None)


def test_commands_find_the_environment_and_no_history(docker_bench: SWEBench):
    task = docker_bench.task(FIVE)
    assert not any(".git" in path.split("/") for path in task.workspace)
    with contextlib.closing(EpisodeFiles(task)) as files:
        result = files.shell("python3 -c 'import pytest, calc; print(calc.__file__)'; ls -a /testbed")
    lines = result.stdout.decode().split()
    assert lines[0] == "/box/work/calc/__init__.py", result
    assert ".git" not in lines


PRINTS = """
from calc import add, mul
for name, good in (("TestAdd", add(1, 2) == 3), ("TestMul", mul(2, 3) == 6)):
    print("---", "PASS:" if good else "FAIL:", name, "(0.00s)")
"""


def test_a_printed_log_is_judged(
    docker_bench: SWEBench, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.swebench.printed.parser_of", lambda row: parse)
    raw = next(row for row in map(json.loads, world.rows.read_text().splitlines()) if row["instance_id"] == FIVE)
    raw |= {"log_parser": "parse_log_gotest", "FAIL_TO_PASS": ["TestAdd"], "PASS_TO_PASS": ["TestMul"]}
    run = f"python3 - <<'END'\n{PRINTS}END\nls -l link"
    raw["eval_script"] = (
        f"cd /testbed\nln -s README.md link\n: '>>>>> Start Test Output'\n{run}\n: '>>>>> End Test Output'\n"
    )
    (tmp_path / "rows.jsonl").write_text(json.dumps(raw) + "\n")
    bench = SWEBench("swe-multilingual", rows=str(tmp_path / "rows.jsonl"), mode="docker", timeout=60.0)
    task = bench.task(FIVE)
    before = bench.grade(task, task.workspace)
    assert (before.tests, before.infra_error) == ({"TestAdd": "failed", "TestMul": "passed"}, None)
    assert bench.grade(task, reference(task) or {}).resolved
    printed = "--- PASS: TestAdd (0.00s)\\n--- PASS: TestMul (0.00s)"
    ends = {"calc/__init__.py": f"import os\nprint('{printed}', flush=True)\nos.kill(os.getppid(), 9)"}
    assert not bench.grade(task, changed(task, ends)).resolved


def parse(log: str, spec: object) -> dict[str, str]:
    words = {"PASS": "PASSED", "FAIL": "FAILED"}
    return {name: words[word] for word, name in re.findall(r"^--- (\w+): (\S+) ", log, re.M)}


def test_a_missing_image_is_named(world: World):
    row = SWEBench("swe-lite", **options(world)).row(FOUR)
    assert images.name_of(row) == "swebench/sweb.eval.x86_64.fixture_1776_calc-4:latest"
