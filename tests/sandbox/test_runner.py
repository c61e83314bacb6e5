"""The light runner: results, and that nothing survives a job."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import Limits, SandboxError, SandboxUnavailable, WorkspaceError, open_runner
from sandbox.runner import frames


@pytest.fixture(params=["namespaces", "unsafe"])
def backend(request):
    """The runner's backends."""
    return request.param


@pytest.fixture
def runner(backend, nothing_left):
    with open_runner(backend=backend) as opened:
        yield opened


@pytest.fixture
def jailed(nothing_left):
    with open_runner(backend="namespaces") as opened:
        yield opened


def test_a_program_gets_files_and_data_and_emits(runner):
    program = "import a.b; emit(a.b.f(data)); emit(__name__.encode()); print(open('c').read())"
    job = runner.run(program, files={"a/b.py": b"f = bytes.upper", "c": b"text"}, data=b"xyz")
    assert job.output == b"XYZ__main__"
    assert job.messages == (b"XYZ", b"__main__")
    assert job.exec.exit_code == 0
    assert job.exec.stdout == b"text\n"
    assert job.exec.stderr == b""


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("emit(b'x')", 0),
        ("emit(b'x'); raise SystemExit", 0),
        ("emit(b'x'); raise SystemExit(3)", 3),
        ("emit(b'x'); import sys; sys.exit('why')", 1),
        ("emit(b'x'); 1 / 0", 1),
        ("emit(b'x'); import os; os._exit(0)", 0),
        ("emit(b'x'); import os; os.kill(os.getpid(), 9)", -9),
        ("emit(b'x'); import os; os.abort()", -6),
        ("emit(b'x'); import os; os.closerange(0, 1000)", 0),
        ("emit(b'x'); import os; os.closerange(3, 9); os._exit(4)", 4),
        ("emit(b'x'); import sys; sys.stdout = None; sys.excepthook = None; 1 / 0", 1),
    ],
)
def test_however_a_program_ends_what_it_sent_is_there(runner, program, code):
    job = runner.run(program)
    assert job.output == b"x"
    assert job.exec.exit_code == code
    assert runner.run("emit(b'next')").output == b"next"


def test_an_error_shows_the_programs_own_lines(runner):
    job = runner.run("import a\na.f()", files={"a.py": b"def f():\n    raise KeyError(1)\n"})
    assert b"KeyError: 1" in job.exec.stderr
    assert b"a.py" in job.exec.stderr
    assert b"<init>" not in job.exec.stderr


def test_junk_on_the_descriptor_of_emit_spoils_only_its_own_job(jailed):
    job = jailed.run("import os; emit(b'x'); os.write(3, b'\\xff' * 9); emit(b'y')")
    assert job.messages == (b"x",)
    assert jailed.run("emit(b'next')").messages == (b"next",)


def test_time_out_keeps_what_was_sent(runner):
    job = runner.run("emit(b'first')\nwhile True: pass", timeout=0.4)
    assert job.exec.timed_out
    assert job.output == b"first"
    assert job.exec.exit_code == -9


def test_floods_are_capped(backend):
    with open_runner(Limits(output_bytes=1000), backend=backend) as runner:
        job = runner.run("print('y' * 5000)\nfor _ in range(20): emit(b'z' * 96)")
        assert job.exec.stdout == b"y" * 1000
        assert job.exec.truncated
        assert set(job.messages) == {b"z" * 96}
        assert len(job.messages) == 10
        assert not runner.run("print('y' * 999)").exec.truncated


def test_paths_and_sizes_of_files_are_checked(runner, backend):
    for path in ("../x", "/x", ""):
        with pytest.raises(WorkspaceError):
            runner.run("pass", files={path: b""})
    if backend == "namespaces":
        with pytest.raises(WorkspaceError, match=r"Limits\.disk_bytes"):
            runner.run("pass", files={"big": bytes(65 << 20)})
        with pytest.raises(WorkspaceError):
            runner.run("pass", files={"a": b"", "a/b": b""})
    assert runner.run("emit(b'fine')").output == b"fine"


def test_a_program_that_does_not_compile_is_the_callers_mistake(runner):
    with pytest.raises(SyntaxError):
        runner.run("def")


def test_workers_run_side_by_side(backend):
    with open_runner(workers=2, backend=backend) as runner:
        found = {}

        def ask(i: int) -> None:
            found[i] = runner.run("emit(bytes(reversed(data)))", data=b"%d!" % i).output

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {i: (b"%d!" % i)[::-1] for i in range(12)}


def test_two_jobs_talk_over_a_link(backend):
    with open_runner(workers=2, backend=backend) as runner:
        asking, answering = socket.socketpair()
        upper = "import os\nwhile given := os.read(link, 99): os.write(link, given.upper())"
        answer = threading.Thread(target=runner.run, args=(upper,), kwargs={"link": answering.detach()})
        answer.start()
        ask = "import os\nfor word in (b'ab', b'cd'): os.write(link, word); emit(os.read(link, 99))"
        job = runner.run(ask, link=asking.detach())
        answer.join()  # it saw the end of the link
    assert job.messages == (b"AB", b"CD")


def test_a_link_ends_with_its_job(backend):
    with open_runner(backend=backend) as runner:
        here, there = socket.socketpair()
        with here:
            assert runner.run("import os; os.write(link, b'x')", link=there.detach()).exec.exit_code == 0
            assert (here.recv(9), here.recv(9)) == (b"x", b"")
        assert runner.run("emit(repr(link).encode())").output == b"None"
        here, there = socket.socketpair()
        with here, pytest.raises(SyntaxError):
            runner.run("def", link=there.detach())


def test_the_same_job_twice_gives_the_same_bytes(runner):
    program = "print({str(i) for i in range(50)}, hash('a'))"
    assert runner.run(program).exec.stdout == runner.run(program).exec.stdout


def test_random_differs_between_jobs(runner):
    program = "import random; emit(random.randbytes(8))"
    assert runner.run(program).output != runner.run(program).output


def test_a_closed_runner_says_so(backend):
    runner = open_runner(backend=backend)
    runner.close()
    runner.close()
    with pytest.raises(SandboxError, match="closed"):
        runner.run("pass")
    with pytest.raises(ValueError, match="workers"):
        open_runner(workers=0, backend=backend)
    with pytest.raises(ValueError, match="unsafe"):
        open_runner(backend="none")


@given(st.lists(st.binary(max_size=20), max_size=6), st.integers(0, 200))
@settings(max_examples=60, deadline=None)
def test_frames_read_back_whole_messages_of_any_prefix(messages, cut):
    raw = b"".join(struct.pack("<I", len(m)) + m for m in messages)
    found = frames(raw[:cut])
    assert found == tuple(messages[: len(found)])
    assert frames(raw) == tuple(messages)


def test_a_warm_program_runs_once_and_leaves_modules_but_no_files(nothing_left):
    warm = "import json, os\njson.kept = os.getcwd(); open('left', 'w').close(); open('/tmp/left', 'w').close()"
    with open_runner(backend="namespaces", warm=warm) as runner:
        program = "import json, os; emit(json.kept.encode()); emit(b'%d' % len(os.listdir('.') + os.listdir('/tmp')))"
        for _ in range(2):
            assert runner.run(program).messages == (b"/box/work", b"0")
    with pytest.raises(SandboxUnavailable, match="ZeroDivisionError"):
        open_runner(backend="namespaces", warm="1 / 0")
    with pytest.raises(ValueError, match="warm"):
        open_runner(backend="unsafe", warm=warm)


# Nothing survives a job.
def test_processes_and_files_are_gone(jailed):
    jailed.run(
        "import os, subprocess\n"
        "for f in ('left', '/tmp/left', '/dev/shm/left'): open(f, 'w').close()\n"
        "subprocess.Popen(['setsid', 'sleep', '300'])\n"
        "if os.fork() == 0: os.setsid(); os.fork(); import time; time.sleep(300)\n"
    )
    job = jailed.run(
        "import os\n"
        "emit(repr([p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1, os.getpid())]).encode())\n"
        "emit(repr([os.listdir(f) for f in ('.', '/tmp', '/dev/shm')]).encode())\n"
    )
    assert job.messages == (b"[]", b"[[], [], []]")


def test_mounts_do_not_pile_up(jailed):
    count = "emit(str(len(open('/proc/self/mounts').readlines())).encode())"
    first = jailed.run(count).output
    for _ in range(5):
        jailed.run("open('f', 'w').write('x')")
    assert jailed.run(count).output == first


def test_no_memory_that_outlives_processes(jailed):
    job = jailed.run(
        "import ctypes, socket\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "emit(repr([libc.shmget(1, 4096, 0o1666), libc.semget(1, 1, 0o1666), libc.msgget(1, 0o1666)]).encode())\n"
        "try: socket.socket(socket.AF_INET)\n"
        "except OSError as e: emit(b'no socket')\n"
        "a, b = socket.socketpair(); a.send(b'pair'); emit(b.recv(9))\n"
    )
    assert job.messages == (b"[-1, -1, -1]", b"no socket", b"pair")


def test_a_job_cannot_find_another_jobs_data(jailed):
    """Memory of PID 1 is copied into every job: what one job got or sent must never have been in it."""
    scan = """
shift = bytes((i + 1) % 256 for i in range(256))
regions = [line.split() for line in open("/proc/self/maps")]
found = 0
with open("/proc/self/mem", "rb", buffering=0) as memory:
    for row in regions:
        if not row[1].startswith("r") or row[-1] in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
            continue
        start, end = (int(x, 16) for x in row[0].split("-"))
        memory.seek(start)
        try:
            found += data in memory.read(end - start).translate(shift)
        except OSError:
            pass
emit(str(found).encode())
"""
    marker = b"a marker that is nowhere else: 4711"
    shifted = bytes((b + 1) % 256 for b in marker)
    unshift = "marker = bytes((b - 1) % 256 for b in data)\n"
    assert int(jailed.run(unshift + scan, data=shifted).output) > 0  # the scan does find what is there
    jailed.run("emit(data); print(data); open('f', 'wb').write(data)", data=marker, files={"m": marker})
    assert jailed.run(scan, data=shifted).output == b"0"


def test_pid_1_survives_its_jobs(jailed):
    attack = """
import os, resource, signal
for n in range(1, 65):
    try: os.kill(1, n)
    except OSError: pass
for act in (lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (0, 0)), lambda: os.setpriority(os.PRIO_USER, 0, 19),
            lambda: open('/proc/1/mem', 'rb'), lambda: open('/proc/1/oom_score_adj', 'w'),
            lambda: os.listdir('/proc/1/fd')):
    try:
        act()
        emit(b'accepted')
    except OSError:
        pass
os.kill(-1, signal.SIGKILL)
"""
    assert jailed.run(attack).messages == ()
    priority = b"%d" % os.getpriority(os.PRIO_PROCESS, 0)
    assert jailed.run("import os; emit(str(os.getpriority(os.PRIO_PROCESS, 0)).encode())").output == priority


def test_rights_are_dropped_before_code_runs(jailed):
    program = """
import os
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status"))
emit(repr([int(status[s], 16) for s in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")]).encode())
emit(status["Seccomp"].strip().encode() + status["NoNewPrivs"].strip().encode())
emit(repr(0 in os.getresuid() + os.getresgid() + tuple(os.getgroups())).encode())
emit(repr(sorted(os.listdir("/proc/self/fd"))[:4]).encode())
"""
    job = jailed.run(program)
    assert job.messages == (b"[0, 0, 0, 0, 0]", b"21", b"False", b"['0', '1', '2', '3']"), job.exec.stderr


def test_descriptors_of_the_sandbox_are_closed(jailed):
    job = jailed.run(
        "import os; emit(repr([fd for fd in range(4, 200) if os.path.exists(f'/proc/self/fd/{fd}')]).encode())"
    )
    assert job.output == b"[]"


def test_budgets_of_a_job():
    with open_runner(
        Limits(memory_bytes=100 << 20, pids=10, disk_bytes=1 << 20, cpu_s=1), backend="namespaces"
    ) as runner:
        memory = runner.run("x = b'x' * (1 << 29)").exec
        assert memory.oom or b"MemoryError" in memory.stderr
        forks = runner.run("import os, signal\nfor _ in range(50):\n    if os.fork() == 0: signal.pause()")
        assert b"BlockingIOError" in forks.exec.stderr
        disk = runner.run("open('/tmp/f', 'wb').write(bytes(2 << 20))")
        assert b"OSError" in disk.exec.stderr
        spin = runner.run("while True: pass", timeout=120)
        assert spin.exec.timed_out
        assert spin.exec.cpu_s < 5
        assert runner.run("emit(b'fine')").output == b"fine"


def test_a_dead_worker_is_the_machines_failure_and_is_replaced(jailed):
    worker = jailed._free.get()
    jailed._free.put(worker)
    signal.pidfd_send_signal(worker._box._pidfd, signal.SIGKILL)
    with pytest.raises(SandboxError):
        jailed.run("emit(b'x')")
    assert jailed.run("emit(b'x')").output == b"x"


def test_import_is_light():
    code = (
        "import sys, sandbox; print(*(m for m in sys.modules if m in ('torch', 'numpy', 'asyncio', 'multiprocessing')))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=Path(__file__).parents[2], check=True
    )
    assert result.stdout == b"\n"


def test_a_fork_of_the_host_does_not_wait_for_workers_that_were_busy(jailed):
    worker = jailed._free.get()  # as while another thread runs a job
    child = os.fork()
    if child == 0:
        jailed.close()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    jailed._free.put(worker)
    assert jailed.run("emit(b'x')").output == b"x"
