"""What a failing or crowded machine does to sandboxes: one is lost, and says so; the others live."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sandbox import Limits, SandboxError, WorkspaceError, archive, open_sandbox
from sandbox import session as sessions
from sandbox.namespaces import box as boxes
from sandbox.namespaces import family


def test_an_answer_that_comes_late_is_not_taken_for_the_next_one(monkeypatch):
    with open_sandbox("namespaces") as other, open_sandbox("namespaces") as box:
        signal.pidfd_send_signal(box._box._pidfd, signal.SIGSTOP)
        monkeypatch.setattr(boxes, "_ANSWER_S", 0.1)
        with pytest.raises(SandboxError, match="no answer from PID 1"):
            box.snapshot()
        monkeypatch.undo()
        with pytest.raises(SandboxError, match="this sandbox is dead"):
            box.run(["true"])
        assert other.run(["echo", "lives"]).stdout == b"lives\n"


def test_the_process_that_waits_for_the_next_command_may_die():
    def waiting() -> list[str]:
        return children.read_text().split()

    with open_sandbox("namespaces") as box:
        text = Path(f"/proc/self/fdinfo/{box._box._pidfd}").read_text()
        pid = dict(line.split(":\t", 1) for line in text.splitlines())["Pid"]
        children = Path(f"/proc/{pid}/task/{pid}/children")
        for _ in range(3):
            assert box.run(["echo", "lives"]).stdout == b"lives\n"
            while not (found := waiting()):
                pass  # it is forked after the answer
            os.kill(int(found[0]), signal.SIGKILL)
            while found == waiting():
                pass
        with box.snapshot():  # what PID 1 said of its end is not taken for the answer
            assert box.run(["echo", "lives"]).stdout == b"lives\n"


def _first_child(box) -> int:
    text = Path(f"/proc/self/fdinfo/{box._box._pidfd}").read_text()
    pid = dict(line.split(":\t", 1) for line in text.splitlines())["Pid"]
    while not (found := Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        pass
    return int(found[0])


@pytest.mark.skipif(os.geteuid() != 0, reason="without root a user namespace of its own keeps others out")
def test_a_process_is_out_of_reach_until_it_is_a_command():
    """Code of the same uid that has found it, by a descriptor of /proc, must not change its memory."""
    with open_sandbox("namespaces") as box:
        box.run(["true"])
        memory = Path(f"/proc/{_first_child(box)}/mem")
        while "Seccomp:\t2" not in (memory.parent / "status").read_text():
            assert memory.stat().st_uid == 0
        assert memory.stat().st_uid == 0
        running = threading.Thread(target=box.run, args=(["sleep", "0.3"],))
        running.start()
        while "sleep" not in (memory.parent / "cmdline").read_text():
            pass
        assert memory.stat().st_uid == box._box.uid, "a command has its own /proc files"
        running.join()


def test_a_failed_restore_leaves_the_old_files(backend, monkeypatch):
    """Shells have ended by then: what runs in them would write on, into the files that are put in place."""

    put = archive._put

    def full(root: int, entry: archive.Entry, owner: tuple[int, int] | None) -> None:
        if entry.path == "15":
            raise OSError(28, "No space left on device")
        put(root, entry, owner)

    with open_sandbox(backend) as big, open_sandbox(backend, Limits(files=20)) as small:
        with big.shell() as shell:  # with one open a snapshot is a copy, whose files count where they go
            shell.run("for i in $(seq 30); do echo $i > $i; done")
            taken = big.snapshot()
        small.run(["sh", "-c", "mkdir -p a/b; echo 1 > a/b/kept; chmod 600 a/b/kept; ln -s a link"])
        working = small.shell()
        working.run("cd a; (while :; do date > b/busy; done) &")
        if backend == "unsafe":
            monkeypatch.setattr(archive, "_put", full)  # it has no limits
        with (
            taken,
            pytest.raises((WorkspaceError, SandboxError), match=r"No space|Limits\.files|not restored"),
        ):
            small.restore(taken)
        files = small.export()
        assert (files.pop("a/b/kept"), [*files]) in ((b"1\n", []), (b"1\n", ["a/b/busy"]))
        seen = small.run(
            ["sh", "-c", "stat -c %a a/b/kept; readlink link; rm -f a/b/busy; echo 2 > again; sleep 0.1; ls a/b"]
        )
        assert seen.stdout == b"600\na\nkept\n"
        with pytest.raises(SandboxError, match="this shell is closed"):
            working.run("true")
        with small.shell() as another:
            assert another.run("cat again").stdout == b"2\n"


def test_a_command_that_was_interrupted_does_not_answer_the_next(monkeypatch):
    with open_sandbox("namespaces") as box:
        with monkeypatch.context() as patch:
            patch.setattr(boxes, "collect", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                box.run(["sh", "-c", "exit 77"])
        with pytest.raises(SandboxError, match="a command was interrupted"):
            box.run(["sh", "-c", "exit 5"])
        with pytest.raises(SandboxError, match="open another"):
            box.run(["true"])


def test_a_shell_command_that_was_interrupted_ends_its_shell(monkeypatch):
    with open_sandbox("namespaces") as box:
        shell = box.shell()
        with monkeypatch.context() as patch:
            patch.setattr(sessions, "collect", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                shell.run("echo OLD")
        with pytest.raises(SandboxError, match="this shell is closed"):
            shell.run("echo NEW")
        assert box.run(["echo", "lives"]).stdout == b"lives\n"


def test_a_sandbox_closed_by_another_thread_says_so():
    with open_sandbox("namespaces") as box:
        closing = threading.Timer(0.2, box.close)
        closing.start()
        with pytest.raises(SandboxError):
            box.run(["sleep", "30"])
        closing.join()


def test_a_kill_that_comes_late_is_not_for_the_next_command():
    with open_sandbox("namespaces") as box:
        for number in (1, 2):
            control = box._box._socket
            control.send(b"kill" + struct.pack("<i", number - 1))
            assert box._box._waiting.number == number
            assert box.run(["sh", "-c", "sleep 0.1; echo lives"]).stdout == b"lives\n"


def test_a_machine_without_room_for_another_process_is_said_and_the_sandbox_lives():
    with open_sandbox("namespaces") as box:
        box._box._waiting.close()  # as where its fork failed
        box._box.request = lambda request: (None, [])  # and fails again
        with pytest.raises(SandboxError, match="no process can be started inside: the machine is full"):
            box.run(["true"])
        del box._box.request
        assert box.run(["echo", "lives"]).stdout == b"lives\n"


def test_one_that_does_not_start_beside_others_is_the_machines_failure(monkeypatch):
    with open_sandbox("namespaces") as box:
        monkeypatch.setattr(family, "START_S", 0.0)
        with pytest.raises(SandboxError, match="did not start"):
            open_sandbox("namespaces")
        monkeypatch.undo()
        assert box.run(["echo", "lives"]).stdout == b"lives\n"


def test_a_fork_opens_its_own_while_a_thread_of_its_parent_held_the_lock():
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with family._lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        with open_sandbox("namespaces") as box:
            os._exit(box.run(["sh", "-c", "exit 7"]).exit_code)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_descriptors_above_1023():
    code = (
        "import os, resource\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))\n"
        "kept = [os.open('/dev/null', os.O_RDONLY) for _ in range(1100)]\n"
        "from sandbox import open_sandbox\n"
        "with open_sandbox('namespaces') as box, box.shell() as shell:\n"
        "    long = 'x' * 300_000\n"
        "    print(box.run(['echo', 'a']).stdout, shell.run(f'v={long}; echo ${{#v}}').stdout)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, cwd=Path(__file__).parents[2], timeout=120
    )
    assert (result.stdout, result.stderr) == (b"b'a\\n' b'300000\\n'\n", b"")
