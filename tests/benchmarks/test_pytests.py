"""Warm runs of pytest: equal to cold ones, and nothing survives a run."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest

from benchmarks.grading.pytests import ARGUMENTS, PytestRunner
from sandbox import Limits, Sandbox, SandboxError, open_sandbox

_spec = importlib.util.spec_from_file_location("pytest_files", Path(__file__).with_name("pytest_files.py"))
assert _spec is not None
assert _spec.loader is not None
pytest_files = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pytest_files)

COUNT = int(os.environ.get("CODEGYM_PYTEST_FILES", "24"))  # 320 take about four minutes on two cores
LIMITS = Limits(wall_s=120)


@pytest.fixture(scope="module")
def runner():
    with PytestRunner(limits=LIMITS) as opened:
        yield opened


def plain(text: bytes) -> list[str]:
    """Output without what differs between any two runs: durations, addresses, process and thread ids."""
    lines = text.decode(errors="replace").splitlines()
    lines = [re.sub(r"\bin \d+\.\d+s( \(.*\))?", "in TIME", line) for line in lines]
    lines = [re.sub(r"0x[0-9a-f]+|Thread-\d+|pytest-of-\w+/pytest-\d+|\d{6,}", "X", line) for line in lines]
    return [re.sub(r"=+", "=", line) for line in lines]


def cold(box: Sandbox, files: dict[str, bytes]):
    box.write(files)
    return box.run(["python3", "-m", "pytest", *ARGUMENTS], timeout=120)


@pytest.mark.timeout(3600)
def test_warm_runs_equal_cold_ones(runner):
    different = []
    with open_sandbox("namespaces", LIMITS, packages=["pytest"]) as base, base.snapshot() as empty:
        for name, files in pytest_files.workspaces(COUNT):
            base.restore(empty)
            expected = cold(base, files)
            run = runner.run(files)
            got = (run.exec.exit_code, plain(run.exec.stdout))
            want = (expected.exit_code, plain(expected.stdout))
            if got != want:
                different.append((name, want, got, run.exec.stderr[-500:], expected.stderr[-500:]))
    assert different == []


INSPECTS = b"""
import _pytest.fixtures, os, sys
pytest_plugins = ["pytester"]
def test_names_of_pytest_are_whole(): assert [dir(m) for m in [_pytest.fixtures] if set(dir(m)) != set(vars(m))] == []
def test_nothing_of_a_run_before(): assert [m for m in sys.modules if "warm" in m] == []
def test_one_in_one(pytester):
    pytester.makepyfile("def test(): pass")
    assert pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider").ret == 0
def test_here(pytestconfig, request):
    print(sorted(os.environ.items()), sys.path, exit)
    assert str(pytestconfig.invocation_params.dir) == "/box/work" and 0
"""


def test_what_was_made_in_advance_does_not_show_and_other_arguments_are_taken(runner):
    """Beside the cold run: with the arguments that runs are prepared for, with others, and with a plugin left out."""
    with open_sandbox("namespaces", LIMITS, packages=["pytest"]) as box:
        box.write({"test_a.py": INSPECTS})
        for arguments in (
            ARGUMENTS,
            ("-rA", "-p", "no:cacheprovider"),
            ("-p", "no:logging", "-k", "here"),
        ):
            want = box.run(["python3", "-m", "pytest", *arguments], timeout=120)
            run = runner.run({"test_a.py": INSPECTS}, arguments)
            assert (run.exec.exit_code, plain(run.exec.stdout)) == (want.exit_code, plain(want.stdout))
            assert b"1 failed" in want.stdout


@pytest.mark.parametrize(
    ("text", "code", "outcome"),
    [
        ("def test(): pass", 0, "passed"),
        ("def test(): assert 0, 'why'", 1, "failed"),
        ("import pytest\n@pytest.fixture\ndef f(): 1 // 0\ndef test(f): pass", 1, "error"),
        ("import pytest\n@pytest.fixture\ndef f():\n    yield\n    1 // 0\ndef test(f): pass", 1, "error"),
        ("import pytest\ndef test(): pytest.skip('no')", 0, "skipped"),
        ("import pytest\n@pytest.mark.xfail\ndef test(): assert 0", 0, "xfailed"),
        ("import pytest\n@pytest.mark.xfail\ndef test(): pass", 0, "xpassed"),
    ],
)
def test_outcomes(runner, text, code, outcome):
    run = runner.run({"test_a.py": text.encode()})
    assert (run.exit_code, run.finished, dict(run.outcomes)) == (code, True, {"test_a.py::test": outcome})
    assert set(run.reasons) == (set() if outcome == "passed" else {"test_a.py::test"})


def test_a_file_that_cannot_be_collected_is_an_error(runner):
    run = runner.run({"test_a.py": b"def", "test_b.py": b"def test(): pass"})
    assert (run.exit_code, dict(run.outcomes)) == (2, {"test_a.py": "error"})
    assert "SyntaxError" in run.reasons["test_a.py"]


def test_a_run_that_dies_says_what_it_had(runner):
    run = runner.run({"test_a.py": b"import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): pass"})
    assert (run.exit_code, run.finished, dict(run.outcomes)) == (0, False, {"test_a.py::test_a": "passed"})


def test_a_run_that_hangs_is_ended(runner):
    run = runner.run({"test_a.py": b"def test():\n    while True: pass"}, timeout=3)
    assert run.exec.timed_out
    assert not run.finished
    assert runner.run({"test_a.py": b"def test(): pass"}).exit_code == 0


def test_runs_do_not_see_each_other(runner):
    first = b"""
import os, socket, subprocess, sys
def test():
    for place in ('.', '/tmp', '/dev/shm'):
        open(f'{place}/left', 'w').close()
    sys.modules['left'] = os
    import _pytest.config
    _pytest.config.left = 1
    subprocess.Popen(['sleep', '300'], start_new_session=True)
    server = socket.create_server(('127.0.0.1', 4711))
    if os.fork() == 0:
        os.setsid()
        server.accept()
"""
    second = b"""
import os, socket, pytest
def test():
    assert [os.path.exists(f'{place}/left') for place in ('.', '/tmp', '/dev/shm')] == [False] * 3
    with pytest.raises(ImportError):
        import left
    import _pytest.config
    assert not hasattr(_pytest.config, 'left')
    with pytest.raises(OSError):
        socket.create_connection(('127.0.0.1', 4711), 1)
    assert sorted(int(p) for p in os.listdir('/proc') if p.isdigit()) == [1, os.getpid()]
"""
    assert runner.run({"test_a.py": first}).exit_code == 0
    run = runner.run({"test_a.py": second})
    assert run.exit_code == 0, run.exec.stdout.decode()


def test_only_the_named_packages_can_be_imported(runner):
    text = (
        b"import importlib.util as u\n"
        b"def test(): assert [n for n in ('numpy', 'sandbox', 'pluggy') if u.find_spec(n)] == ['pluggy']"
    )
    assert runner.run({"test_a.py": text}).exit_code == 0
    with pytest.raises(ValueError, match="pip install no-such"):
        PytestRunner(packages=("pytest", "no-such"))


def test_bytes_of_the_tests_are_no_messages(runner):
    text = b"import os\ndef test():\n    os.write(3, b'\\x04\\0\\0\\0junk' + b'\\x02\\0\\0\\0[]'); assert 0"
    run = runner.run({"test_a.py": text})
    assert dict(run.outcomes) == {"test_a.py::test": "failed"}


def test_a_runner_whose_pytest_does_not_start_says_so(runner, monkeypatch):
    monkeypatch.setattr("benchmarks.grading.pytests._PROGRAM", "raise SystemExit(4)")
    with pytest.raises(SandboxError, match="did not start"):
        runner.run({})
