"""The persistent shell, in every backend: what carries over, and what ends what."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox import Limits, SandboxError, open_sandbox
from sandbox.shell import State, parse, quote

# Names of sleeps that no other process of this machine has: without isolation all are in sight.
EARLIER, NAP = f"299.{os.getpid():07}", f"300.{os.getpid():07}"


@pytest.fixture(params=["namespaces", "docker", "unsafe"], scope="module")
def backend(request):
    if request.param == "docker":
        request.getfixturevalue("docker_works")
    return request.param


@pytest.fixture(scope="module")
def container(backend):
    """One for all tests, as each takes half a second; with a snapshot of it empty."""
    if backend != "docker":
        yield None
        return
    with open_sandbox("docker") as opened, opened.snapshot() as empty:
        yield opened, empty


@pytest.fixture
def box(backend, container, nothing_left):
    if container is None:
        with open_sandbox(backend) as opened:
            yield opened
        return
    opened, empty = container
    yield opened
    opened.restore(empty)


@pytest.fixture
def shell(box):
    with box.shell() as opened:
        yield opened


@pytest.fixture
def isolated(backend):
    """A backend that isolates."""
    if backend == "unsafe":
        pytest.skip("it promises nothing of this")
    return backend


def say(shell, command: str, timeout: float = 60) -> str:
    result = shell.run(command, timeout=timeout)
    assert not result.timed_out
    return (result.stdout + result.stderr).decode()


def sleeping(shell, seconds: str) -> str:
    return say(shell, f"cat /proc/[0-9]*/cmdline 2>&- | tr '\\0' ' ' | grep -o '[s]leep {seconds}' | wc -l")


def test_folder_variables_functions_and_options_carry_over(shell):
    assert (
        shell.run("mkdir d; cd d; x=5; export Y='a b'; f() { echo f$x; }; alias g='echo g'; set -o pipefail").exit_code
        == 0
    )
    assert (
        say(shell, "basename $PWD; f; echo $Y; g; sh -c 'echo $Y'; false | true; echo $?") == "d\nf5\na b\ng\na b\n1\n"
    )
    assert shell.cwd == say(shell, "pwd").strip()
    assert shell.restarts == 0


def test_status_is_the_commands_and_the_next_one_sees_it(shell):
    assert shell.run("(exit 7)").exit_code == 7
    assert say(shell, "echo $?") == "7\n"
    assert say(shell, "echo $?") == "0\n"


def test_background_jobs_stay_and_their_output_comes_later(shell, box):
    assert say(shell, "mkfifo fifo; (read line < fifo; echo got $line) & jobs | wc -l") == "1\n"
    assert box.run(["echo", "a run does not disturb it"], timeout=60).exit_code == 0
    assert say(shell, "echo ping > fifo; wait; echo done") == "got ping\ndone\n"


# B3
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("exit 3", 3),
        ("exec false", 1),
        ("exec true", 0),
        ("kill -9 $$", -9),
        ("set -e; false", 1),
        ("exec sh -c 'exit 4'", 4),
    ],
)
def test_the_session_survives_its_shell(shell, command, code):
    say(shell, f"mkdir -p d; cd d; x=kept; f() {{ echo $x; }}; sleep {EARLIER} &")
    assert shell.run(command, timeout=60).exit_code == code
    assert shell.restarts == 1
    assert say(shell, "echo alive; basename $PWD; f") == "alive\nd\nkept\n"
    while sleeping(shell, EARLIER) != "1\n":
        pass  # it was not yet a sleep


@pytest.mark.parametrize(
    "command",
    [
        "sleep NAP; touch late",
        "while :; do :; done; touch late",
        "trap '' TERM INT HUP; sleep NAP; touch late",
        "(until [ -e go ]; do sleep 0.02; done; touch late) & cat fifo",
        "setsid sleep NAP & setsid sh -c 'until [ -e go ]; do sleep 0.02; done; touch late' & cat fifo",
        "exec sleep NAP",
        "bomb() { bomb | bomb & }; bomb; sleep NAP",
        "kill -STOP $$",
    ],
)
def test_a_time_out_kills_what_the_command_started_and_nothing_else(shell, box, backend, command):
    if backend == "unsafe" and ("bomb" in command or "setsid" in command):
        return  # exactly what it does not promise against
    say(shell, f"x=kept; mkfifo fifo; sleep {EARLIER} & true")
    result = shell.run(f"echo early; x=lost; {command}".replace("NAP", NAP), timeout=0.4)
    assert (result.timed_out, result.exit_code, result.stdout) == (True, -9, b"early\n")
    assert say(shell, "echo alive $x") == "alive kept\n"
    assert sleeping(shell, NAP) == "0\n"
    if "bomb" not in command:  # which may have to be ended by ending all
        assert sleeping(shell, EARLIER) == "1\n"
    box.write({"go": b""})
    if "go" in command:
        time.sleep(0.2)  # for whoever waits for it to see it
    assert "late" not in box.export()


@pytest.mark.parametrize(
    "broken",
    [
        "echo 'never closed",
        'echo "$(',
        "if true",
        "fi",
        "cat <<END",
        "(",
        "}",
        "echo \\",
        "case",
        "f() {",
        "# comment",
        "",
    ],
)
def test_syntax_errors_spoil_nothing(shell, broken):
    say(shell, "x=1")
    shell.run(broken, timeout=60)
    assert say(shell, "echo $x; { echo a; }; if true; then echo b; fi") == "1\na\nb\n"
    assert shell.restarts == 0


def test_sentinels_cannot_be_met_by_accident(shell):
    assert (
        say(shell, "ls /proc/self/fd; for i in 3 4 5 61 62; do (: >&$i) 2>&- && echo open $i; done; true")
        == "0\n1\n2\n3\n"
    )
    assert say(shell, "exec 3>out 4>&1; echo to4 >&4; echo to3 >&3") == "to4\n"
    assert say(shell, "cat out; cat; printf() { echo mine; }; echo() { builtin echo hm; }; echo x") == "to3\nhm\n"
    assert say(shell, "unset -f echo printf; exec 61>&- 62>&-; echo still") == "still\n"
    forged = shell.run(
        "for n in 61 62; do printf 'deadbeef\\0\\0' > /proc/$$/fd/$n; done; sleep 0.2; false", timeout=60
    )
    assert forged.exit_code == 1
    assert say(shell, "builtin echo on") == "on\n"


def test_standard_input_is_empty(shell):
    assert say(shell, "cat; read x; echo $?") == "1\n"


def test_output_is_bytes_with_an_exact_cap(backend):
    with open_sandbox(backend, Limits(output_bytes=1000)) as box, box.shell() as shell:
        for size in (999, 1000, 1001, 300_000):
            result = shell.run(f"head -c {size} /dev/zero; printf '\\377' >&2", timeout=60)
            assert (len(result.stdout), result.stderr, result.truncated) == (min(size, 1000), b"\xff", size > 1000)
        assert say(shell, "echo next") == "next\n"


def test_long_commands_and_many_variables(shell):
    text = "x" * 300_000
    assert say(shell, f"v='{text}'; echo ${{#v}}") == "300000\n"
    assert say(shell, "cat <<'END'\n" + "line\n" * 30_000 + "END") == "line\n" * 30_000
    shell.run("exit")
    assert say(shell, "echo ${#v}") == "300000\n"
    with pytest.raises(ValueError, match="NUL"):
        shell.run("a\0b")


def test_shells_share_the_workspace_and_end_with_a_restore(box):
    box.write({"f": b"1"})
    with box.snapshot() as snapshot, box.shell() as one, box.shell() as two:
        say(one, "echo 2 > f; x=1")
        assert say(two, "cat f; echo [$x]") == "2\n[]\n"
        with box.snapshot() as while_open:
            say(one, "echo 3 > f")
            box.restore(while_open)
        assert box.read("f") == b"2\n"
        with pytest.raises(SandboxError, match="closed"):
            one.run("true")
        with box.shell() as three:
            assert say(three, "cat f") == "2\n"
        box.restore(snapshot)
    assert box.read("f") == b"1"


def test_a_server_of_the_shell_is_reached_by_commands(shell, box):
    say(
        shell,
        'python3 -c \'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True);'
        ' c, _ = s.accept(); c.send(b"hello"); c.close()\' > port & until grep -q . port; do sleep 0.05; done',
    )
    ask = "import socket; print(socket.create_connection(('127.0.0.1', int(open('port').read()))).recv(9))"
    assert box.run(["python3", "-c", ask], timeout=60).stdout == b"b'hello'\n"


def test_a_run_ends_what_it_started_and_not_what_a_shell_did(isolated, shell, box):
    say(shell, f"(setsid sleep {EARLIER} &) & sleep {EARLIER} & true")
    while sleeping(shell, EARLIER) != "2\n":
        pass
    for timeout in (0.3, 60):
        box.run(
            ["sh", "-c", f"(setsid sleep {NAP} &); sleep {NAP} & sleep {0.6 if timeout < 1 else 0}"], timeout=timeout
        )
        assert (sleeping(shell, EARLIER), sleeping(shell, NAP)) == ("2\n", "0\n")


def test_a_shell_has_no_more_rights_than_a_command(isolated, shell, box):
    assert (
        say(shell, "grep -E 'Cap|NoNew|Seccomp:' /proc/self/status")
        == box.run(["grep", "-E", "Cap|NoNew|Seccomp:", "/proc/self/status"], timeout=60).stdout.decode()
    )
    say(shell, "for n in $(seq 64); do kill -$n 1; done 2>&-; cat /proc/1/environ")
    assert say(shell, "echo alive") == "alive\n"


def test_budgets_hold_for_the_shell(isolated):
    with open_sandbox(isolated, Limits(memory_bytes=64 << 20, pids=20)) as box, box.shell() as shell:
        eaten = shell.run("python3 -c 'x = b\"x\" * (1 << 28)'", timeout=60)
        assert eaten.oom or b"MemoryError" in eaten.stderr
        forks = "import os, time\nfor _ in range(40):\n    if os.fork() == 0: time.sleep(300)"
        assert "BlockingIOError" in say(shell, f"timeout 5 python3 -c '{forks}'")


def test_closing_ends_a_running_command(box):
    shell = box.shell()
    found = []
    thread = threading.Thread(target=lambda: found.append(shell.run("echo began; sleep 300", timeout=200)))
    thread.start()
    time.sleep(0.3)  # for the command to begin; if it had not, the close would come first and the run be refused
    shell.close()
    thread.join(30)
    assert not thread.is_alive()
    shell.close()


def test_cpu_time_is_the_commands_own(shell):
    spin = "python3 -c 'sum(range(6_000_000))'"
    assert shell.run(spin, timeout=60).cpu_s > 0.05
    assert shell.run("true", timeout=60).cpu_s < 0.05


@given(st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=40))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_quoting_any_text(shell, text):
    assert shell.run(f"printf %s {quote(text)}", timeout=60).stdout == text.encode()


@pytest.mark.parametrize("numbers", [[5, 3, 4], [4, 5, 3], [3, 4, 5], [7, 8, 9]])
def test_descriptors_are_moved_whatever_their_numbers_are(numbers):
    code = f"""
import os
from sandbox.ground import descriptors
for number, text in enumerate((b"cat <&4 <&4; cat <&5; echo /proc/$$/fd/*", b"token ", b"report ")):
    made = os.memfd_create("made")
    os.write(made, text)
    os.lseek(made, 0, 0)
    os.dup2(made, 60 + number)
for number, fd in enumerate({numbers}):
    os.dup2(60 + number, fd)
os.closerange(60, 70)
line = descriptors([0, 1, 2, *{numbers}])
os.execvp(line[0], line)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert said.stdout.startswith("token report /proc/"), said.stderr
    assert {int(path.rsplit("/", 1)[1]) for path in said.stdout.split()[2:]} <= {
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        255,
    }  # bash has two


def test_reports_that_make_no_sense_change_nothing():
    before = State(3, "/x", 1.0, "a=1")
    for report in (b"", b"1", b"x\0/y\0\0", b"\xff\0\0\0\0"):
        assert parse(report, b"T", before, whole=True) == before
    assert parse(b"junkT2\0/y\n\0" + b"0m1.5s 1m0.000s\n0m0.250s 0m0s\n\0b=2", b"T", before, whole=True) == State(
        2, "/y\n", 61.75, "\nb=2".strip()
    )
