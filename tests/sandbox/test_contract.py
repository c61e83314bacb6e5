"""What every backend does: results, time-outs, caps, files."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from sandbox import Limits, SandboxError, WorkspaceError, files, open_sandbox


def test_a_command_gives_its_status_and_output(box):
    result = box.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    assert not (result.timed_out)
    assert not (result.oom)
    assert not (result.truncated)


def test_a_signal_is_a_negative_status(box):
    assert box.run(["sh", "-c", "kill -SEGV $$"]).exit_code == -11


def test_python_inside_is_the_one_outside(box):
    result = box.run(["python3", "-c", "import sys; print(sys.version)"])
    assert result.stdout.decode().strip() == sys.version


def test_stdin_larger_than_any_pipe_that_nobody_reads(box):
    assert box.run(["true"], stdin=b"x" * (1 << 22)).exit_code == 0
    assert box.run(["wc", "-c"], stdin=b"x" * (1 << 22)).stdout.split() == [b"4194304"]
    assert box.run(["cat"]).stdout == b""


def test_environment_and_folder(box, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    box.write({"sub/x": b""})
    result = box.run(["sh", "-c", "env; ls"], cwd="sub", env={"GIVEN": "1"})
    assert b"GIVEN=1" in result.stdout
    assert result.stdout.endswith(b"x\n")
    assert b"hunter2" not in result.stdout


def test_paths_and_bytes_are_arguments(box):
    box.write({"sub/x": b"1"})
    assert box.run([Path("/bin/cat"), b"x"], cwd=Path("sub")).stdout == b"1"


def test_what_is_no_command_is_told(box):
    for argv in ([], "ls", b"ls"):
        with pytest.raises(ValueError, match="argv must be a non-empty list"):
            box.run(argv)
    with pytest.raises(ValueError, match="env must map strings to strings, and 'PORT' is 8000"):
        box.run(["true"], env={"PORT": 8000})
    assert box.run(["true"]).exit_code == 0


def test_a_program_is_looked_for_in_all_of_its_path(box):
    box.write({"a/tool": b"#!/bin/sh\necho a", "b/tool": b"#!/bin/sh\necho b"})
    box.run(["chmod", "755", "b/tool"])
    assert box.run(["tool"], env={"PATH": "none:a:b"}).stdout == b"b\n"
    assert [box.run(["tool"], env={"PATH": path}).exit_code for path in ("none:a", "none")] == [126, 127]


def test_a_command_that_cannot_start_is_a_result(box):
    missing = box.run(["no-such-program"])
    assert missing.exit_code == 127
    assert b"no-such-program" in missing.stderr
    box.write({"plain": b"not a program"})
    assert box.run(["./plain"]).exit_code == 126
    assert box.run(["true"], cwd="nowhere").exit_code == 127
    with pytest.raises(ValueError, match="argv"):
        box.run("ls")  # type: ignore[arg-type]


# B3
@pytest.mark.parametrize("command", ["sleep 60", "exit 3", "exec false", "kill -9 $$", "kill -9 -1"])
def test_the_sandbox_survives_its_commands(box, backend, command):
    if backend == "unsafe" and command == "kill -9 -1":
        return  # there it would end this machine's processes: exactly what it does not promise against
    box.run(["sh", "-c", command], timeout=0.3)
    assert box.run(["echo", "alive"]).stdout == b"alive\n"


# B2, B7: the main process decides, whoever still holds the pipes.
@pytest.mark.parametrize("left", ["(sleep 60 &)", "sleep 60 &", "trap '' TERM INT HUP; sleep 60 &"])
def test_return_when_the_main_process_ends(box, left):
    result = box.run(["sh", "-c", f"{left}\necho bg"], timeout=20)
    assert result.stdout == b"bg\n"
    assert not result.timed_out
    assert result.wall_s < 10


# B5
@pytest.mark.parametrize(("size", "truncated"), [(999, False), (1000, False), (1001, True), (300_000, True)])
@pytest.mark.parametrize("stream", [1, 2])
def test_truncation_is_exact(backend, size, truncated, stream):
    with open_sandbox(backend, Limits(output_bytes=1000)) as box:
        result = box.run(["sh", "-c", f"head -c {size} /dev/zero >&{stream}"])
    assert len((result.stdout, result.stderr)[stream - 1]) == min(size, 1000)
    assert result.truncated is truncated


def test_a_gigabyte_of_output_costs_no_memory(backend):
    def memory(row: str) -> int:
        """In KiB."""
        return int(next(r for r in Path("/proc/self/status").read_text().splitlines() if r.startswith(row)).split()[1])

    with open_sandbox(backend, Limits(output_bytes=1000)) as box:
        box.run(["head", "-c", "1000000", "/dev/zero"], timeout=60)
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        before = memory("VmRSS")
        result = box.run(["head", "-c", "1000000000", "/dev/zero"], timeout=60)
        assert memory("VmHWM") < before + 4096
    assert (result.exit_code, result.stdout, result.truncated) == (0, bytes(1000), True)


# All that ``unsafe`` promises of processes.
@pytest.mark.parametrize("end", ["sleep 300", "true", "kill -9 $$"])
def test_without_isolation_the_end_of_a_command_kills_its_process_group(end):
    with open_sandbox("unsafe") as box:
        nap = "sh -c 'trap \"\" TERM INT HUP; while :; do sleep 300; done' & echo $!"
        away = "setsid sh -c 'touch away; exec sleep 300' & echo $!; until [ -e away ]; do sleep 0.01; done"
        result = box.run(["sh", "-c", f"{nap}; {away}; {end}"], timeout=0.8)
    same_group, other_group = map(int, result.stdout.split())
    assert result.timed_out is (end == "sleep 300")
    try:
        for _ in range(600):
            if not lives(same_group):
                break
            time.sleep(0.01)
        else:
            pytest.fail("a process of the command's group is alive")
        assert lives(other_group), "it may promise more than the docs say"
    finally:
        for pid in (same_group, other_group):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False


def test_output_is_bytes_and_survives_a_time_out(box):
    result = box.run(["sh", "-c", r"printf '\377\376\000'; sleep 60"], timeout=0.5)
    assert result.stdout == b"\xff\xfe\x00"
    assert result.timed_out
    assert result.exit_code == -9


def test_cpu_time_counts_children(box):
    assert box.run(["sh", "-c", "python3 -c 'sum(range(4_000_000))'"]).cpu_s > 0.02


def test_write_read_export(box):
    box.write({"a.txt": b"1", "d/e/f": b"\0\xff", "-rf": b"", "new\nline": b"n", "\udcff": b"u"})
    assert box.read("d/e/f") == b"\0\xff"
    assert box.run(["cat", "d/e/f"]).stdout == b"\0\xff"
    box.write({"a.txt": b"2"})
    assert box.export() == {"-rf": b"", "a.txt": b"2", "d/e/f": b"\0\xff", "new\nline": b"n", "\udcff": b"u"}
    with pytest.raises(FileNotFoundError):
        box.read("nothing")


def test_what_the_host_wrote_belongs_to_the_code(box):
    box.write({"d/a": b"1"})
    result = box.run(["sh", "-c", "echo 2 > d/a && echo 3 > d/b && mv d/a c && rm -r d"])
    assert result.exit_code == 0, result.stderr
    assert box.export() == {"c": b"2\n"}


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "a\0b", "", ".", "a/"])
def test_paths_outside_are_refused(box, path):
    with pytest.raises(WorkspaceError):
        box.write({path: b""})
    with pytest.raises(WorkspaceError):
        box.read(path)
    assert box.export() == {}


@pytest.fixture
def secret(box):
    """A folder outside of the workspace with a file f, on the host and at the same place inside, so that it is in reach
    of the one who walks over the workspace: in Docker a process of the container."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder, "f").write_bytes(b"SECRET")
        made = box.run(["sh", "-c", f"mkdir -p {folder} && printf SECRET > {folder}/f && chmod 666 {folder}/f"])
        assert made.exit_code == 0
        yield folder
        assert Path(folder, "f").read_bytes() == box.run(["cat", f"{folder}/f"]).stdout == b"SECRET"


def test_a_written_file_wins_over_what_stands_there(box, secret):
    box.run(["sh", "-c", f"ln -s {secret} d; ln -s {secret}/f f; mkdir -p g/h; touch g/h/i; touch j; mkfifo k"])
    box.write({"d/f": b"1", "f": b"2", "g": b"3", "j/k": b"4", "k": b"5"})
    assert box.export() == {"d/f": b"1", "f": b"2", "g": b"3", "j/k": b"4", "k": b"5"}


def test_code_cannot_lock_the_host_out(box):
    box.write({"d/a": b"1", "b": b"2"})
    box.run(["sh", "-c", "chmod 000 d/a d b ."])
    assert box.export() == {"b": b"2", "d/a": b"1"}
    box.write({"d/c": b"3"})
    assert box.read("d/c") == b"3"
    box.run(["sh", "-c", "mkdir e; touch e/f; chmod 555 d e"])
    box.write({"d/g": b"4", "e": b"5"})
    assert box.export() == {"b": b"2", "d/a": b"1", "d/c": b"3", "d/g": b"4", "e": b"5"}
    assert box.run(["echo", "alive"]).stdout == b"alive\n"


# B9
def test_strange_files_are_left_out_and_do_not_hang(box):
    box.run(["sh", "-c", "mkfifo fifo; ln -s /etc/passwd link; ln -s . loop; ln -s /dev/zero zero; echo 1 > real"])
    box.run(["python3", "-c", "import socket; socket.socket(socket.AF_UNIX).bind('socket')"])
    deep = "/".join(["d"] * 200)
    box.run(["sh", "-c", f"mkdir -p {deep} && echo 2 > {deep}/leaf"])
    assert box.export() == {"real": b"1\n", f"{deep}/leaf": b"2\n"}
    for path in ("fifo", "socket", "link", "loop/real", "zero", "d"):
        with pytest.raises(FileNotFoundError):
            box.read(path)
    box.write({"socket": b"3"})
    assert box.read("socket") == b"3"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_left_out_and_not_opened(tmp_path, monkeypatch):
    """Code inside cannot make one; should the workspace have one, it is not even opened, as with some that acts."""
    opened = set()

    def watched(name: str, flags: int, parent: int) -> int:
        if not flags & os.O_DIRECTORY:  # which opens no device
            opened.add(name)
        return real(name, flags, parent)

    real = files._open
    monkeypatch.setattr(files, "_open", watched)
    for name, number in (("zero", (1, 5)), ("full", (1, 7)), ("terminal", (5, 0)), ("none", (200, 200))):
        os.mknod(tmp_path / name, stat.S_IFCHR | 0o666, os.makedev(*number))
    os.mknod(tmp_path / "disk", stat.S_IFBLK | 0o666, os.makedev(7, 0))
    (tmp_path / "real").write_bytes(b"1")
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        assert files.export(root, 1 << 20, 100) == {"real": b"1"}
        for name in ("zero", "full", "terminal", "none", "disk"):
            with pytest.raises(FileNotFoundError):
                files.read(root, name, 1 << 20)
        assert opened == {"real"}
    finally:
        os.close(root)


def test_folders_nested_too_deeply_are_an_error_that_ends_nothing(box):
    deep = "/".join(["d"] * 300)
    assert box.run(["mkdir", "-p", deep]).exit_code == 0
    box.write({"f": b"1"})
    with pytest.raises(WorkspaceError, match="nests folders deeper than 256"):
        box.export()
    with pytest.raises(WorkspaceError, match="nested deeper than 256"):
        box.write({"d": b""})
    assert box.read("f") == b"1"
    box.run(["rm", "-r", "d"])
    assert box.export() == {"f": b"1"}


def test_a_sparse_file_is_refused_or_bounded(box, backend):
    result = box.run(["python3", "-c", "open('sparse', 'wb').truncate(1 << 40)"])
    if backend != "unsafe":
        assert result.exit_code != 0
        assert box.export() == {"sparse": b""}
    else:
        with pytest.raises(WorkspaceError, match="disk_bytes"):
            box.export()


def test_export_has_a_budget_of_entries(backend):
    with open_sandbox(backend, Limits(files=60)) as box:
        box.run(["python3", "-c", "import os\nfor i in range(40): os.mkdir(str(i))"])
        assert box.export() == {}
    with open_sandbox("unsafe", Limits(files=60)) as box:
        box.run(["python3", "-c", "for i in range(80): open(str(i), 'w')"])
        with pytest.raises(WorkspaceError, match=r"Limits\.files"):
            box.export()


# B8
def test_export_cannot_be_raced(box, secret):
    box.write({"real/f": b"mine"})
    swap = f"""
import os, time
os.symlink({secret!r}, "link")
end = time.monotonic() + 0.7
while time.monotonic() < end:
    os.rename("real", "d"); os.rename("d", "real")
    os.rename("link", "d"); os.rename("d", "link")
"""
    thread = threading.Thread(target=box.run, args=(["python3", "-c", swap],))
    thread.start()
    exports = 0
    while thread.is_alive():
        assert b"SECRET" not in box.export().values()
        with contextlib.suppress(FileNotFoundError):
            assert box.read("d/f") == b"mine"
        exports += 1
    thread.join()
    assert exports > 3


def test_a_closed_sandbox_says_so(backend):
    box = open_sandbox(backend)
    box.close()
    box.close()
    for act in (lambda: box.run(["true"]), box.export, lambda: box.write({}), lambda: box.read("a")):
        with pytest.raises(SandboxError, match="closed"):
            act()


def test_two_threads_share_a_sandbox(box):
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda i=i: found.append(box.run(["echo", str(i)]).stdout)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [b"%d\n" % i for i in range(6)]


def test_a_sandbox_outlives_the_thread_that_opened_it(backend):
    opened = []
    thread = threading.Thread(target=lambda: opened.append(open_sandbox(backend)))
    thread.start()
    thread.join()
    with opened[0] as box:
        assert box.run(["echo", "1"]).stdout == b"1\n"


def test_unknown_backend_and_guarantee():
    with pytest.raises(ValueError, match="auto, namespaces, docker, unsafe"):
        open_sandbox("dokcer")
    with pytest.raises(ValueError, match="kill_tree"):
        open_sandbox("namespaces", require={"fast"})


def test_limits_are_positive():
    with pytest.raises(ValueError, match=r"Limits\.pids must be positive"):
        Limits(pids=0)


def test_time_out_zero_returns_at_once(box):
    started = time.monotonic()
    assert box.run(["sleep", "60"], timeout=0).timed_out
    assert time.monotonic() - started < 10


def test_a_fork_is_refused_at_once_and_spoils_nothing(box):
    """Also while other threads of the opener hold all locks."""
    found = []
    with box.shell() as shell:
        started = [shell.run("true", timeout=60)]
        threads = [
            threading.Thread(target=lambda: found.append(box.run(["sh", "-c", "sleep 1; echo a"], timeout=60))),
            threading.Thread(target=lambda: found.append(shell.run("sleep 1; echo a", timeout=60))),
        ]
        for thread in threads:
            thread.start()
        time.sleep(0.3)  # for both to run; if they did not, the fork would be refused all the same
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            refused = 0
            for act in (lambda: box.run(["true"]), box.export, box.snapshot, box.fork, lambda: shell.run("true")):
                try:
                    act()
                except SandboxError:
                    refused += 1
            shell.close()
            box.close()
            os._exit(refused)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        for thread in threads:
            thread.join()
        assert [(r.exit_code, r.stdout) for r in found] == [(0, b"a\n")] * 2, started
        box.write({"f": b"1"})
        assert shell.run("cat f", timeout=60).stdout == b"1"


def test_a_long_command_line_runs_as_anywhere(box):
    assert len(box.run(["printf", "%s", *["x" * 100_000] * 4]).stdout) == 400_000
    found = box.run(["true", "x" * 200_000])  # one argument may have 128 KiB
    assert (found.exit_code, b"Argument list too long" in found.stderr) == (126, True)
    assert box.run(["true"]).exit_code == 0
