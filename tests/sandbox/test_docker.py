"""Docker: the attacks of test_isolation.py again, and what containers have of their own: images, owners, ends.

Without a daemon these tests skip and say why; where .ci/run started one they fail instead.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

from sandbox import Limits, SandboxError, SandboxUnavailable, WorkspaceError, open_sandbox
from sandbox.docker import DockerSandbox, daemon, image
from sandbox.namespaces import bwrap
from sandbox.probe import GUARANTEES, probe

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("attacks", Path(__file__).with_name("test_isolation.py"))
assert _spec is not None
assert _spec.loader is not None
attacks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(attacks)

# With the fixture below they run in a container.
test_a_time_out_kills_everything = attacks.test_a_time_out_kills_everything
test_nothing_outlives_a_command = attacks.test_nothing_outlives_a_command
test_zombies_are_reaped_while_a_command_runs = attacks.test_zombies_are_reaped_while_a_command_runs
test_fork_bomb = attacks.test_fork_bomb
test_memory_of_one_process = attacks.test_memory_of_one_process
test_nothing_else_is_writable = attacks.test_nothing_else_is_writable
test_third_party_packages_are_hidden = attacks.test_third_party_packages_are_hidden
test_no_network = attacks.test_no_network
test_pid_1_is_protected = attacks.test_pid_1_is_protected
test_threads_still_work = attacks.test_threads_still_work
test_no_rights_to_gain = attacks.test_no_rights_to_gain
test_standard_streams_can_be_opened_again = attacks.test_standard_streams_can_be_opened_again


@pytest.fixture(scope="module")
def jail(docker_works):
    with open_sandbox("docker") as opened:
        yield opened


@pytest.fixture
def api(docker_works, nothing_left):
    with contextlib.closing(daemon.client()) as opened:
        yield opened


def names(api) -> list[str]:
    return [c.id for c in api.containers.list(all=True, filters={"label": daemon.LABEL}, ignore_removed=True)]


def mine(api) -> list[str]:
    """Those of this process: others may come and go."""
    label = f"{daemon.LABEL}={daemon.maker()}"
    return [c.id for c in api.containers.list(all=True, filters={"label": label}, ignore_removed=True)]


def gone(api, made: str) -> bool:
    """Whether a container goes away within a minute."""
    for _ in range(600):
        if made not in names(api):
            return True
        time.sleep(0.1)
    return False


def test_every_guarantee_holds(docker_works, api):
    missing = {"disk"} if daemon.is_podman(api) else set()
    found = probe("docker")
    assert {g.name for g in found if not g.holds} == missing
    assert [g.name for g in found] == list(GUARANTEES)
    open_sandbox("docker", require=set(GUARANTEES) - missing).close()


def test_system_calls_are_denied(jail):
    """As in the sandbox of namespaces; calls of another architecture, x32 among them, kill the caller here."""
    column = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
    call = "import ctypes, json, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    code = call + (
        "def call(a):\n    ctypes.set_errno(0)\n"
        "    return ctypes.get_errno() if libc.syscall(*map(ctypes.c_long, a)) == -1 else 0\n"
        "print(json.dumps({name: call(a) for name, a in json.loads(sys.argv[1]).items()}))"
    )
    calls = {name: [row[column], *row[2]] for name, row in attacks.DENIED.items()}
    answers = attacks.attempt(jail, code, json.dumps({**calls, "getpid": [(39, 172)[column]]}))
    assert answers.pop("getpid") == 0
    assert {name: e for name, e in answers.items() if e not in (1, 38)} == {}
    if column == 0:
        assert jail.run(["python3", "-c", call + "libc.syscall(0x40000000 + 39)"]).exit_code == -signal.SIGSYS


def test_disk_is_one_budget(docker_works, api):
    if daemon.is_podman(api):
        pytest.skip("podman has no limit on inodes and mounts a tmpfs at /tmp, which the probe tells")
    with open_sandbox("docker", Limits(disk_bytes=1 << 20, files=50)) as box:
        fill = "for d in . /tmp /dev/shm /var/tmp; do head -c 400000 /dev/zero > $d/fill; done; du -s -b /box"
        result = box.run(["sh", "-c", fill])
        assert b"No space left" in result.stderr
        assert int(result.stdout.split()[0]) < 1_100_000
        with pytest.raises(WorkspaceError, match="disk_bytes"):
            box.write({"more": bytes(600_000)})
        inodes = box.run(["sh", "-c", "rm ./fill /tmp/fill; for i in $(seq 60); do : > /dev/shm/n$i || exit 9; done"])
        assert b"No space left" in inodes.stderr


def test_files_of_the_host_are_unreadable(jail):
    with tempfile.NamedTemporaryFile(dir="/tmp") as secret:
        assert subprocess.run(["ls", secret.name], capture_output=True).returncode == 0
        assert jail.run(["ls", secret.name]).exit_code != 0
    for path in (str(Path(__file__).resolve()), "/proc/1/root/etc/passwd", "/proc/kcore", "/sys/firmware/acpi"):
        assert jail.run(["cat", path]).exit_code != 0, path


def test_a_shown_folder_keeps_its_rights(docker_works):
    folder = Path(tempfile.mkdtemp(dir="/"))
    try:
        folder.chmod(0o755)
        (folder / "open").write_text("fine")
        (folder / "secret").write_text("SECRET")
        (folder / "secret").chmod(0o600)
        with open_sandbox("docker", read_only=[str(folder)]) as box:
            assert box.run(["cat", f"{folder}/open"]).stdout == b"fine"
            assert box.run(["cat", f"{folder}/secret"]).exit_code == 1
            assert box.run(["touch", f"{folder}/new"]).exit_code == 1
    finally:
        for name in ("open", "secret"):
            (folder / name).unlink()
        folder.rmdir()


def test_pieces_larger_than_a_frame(jail):
    data = os.urandom(3_000_001)
    jail.write({"big": data, "small": b"1"})
    assert jail.read("big") == data
    assert jail.export()["big"] == data
    assert jail.run(["cat"], stdin=data[:1_000_000]).stdout == data[:1_000_000]
    with pytest.raises(ValueError, match="write it to a file"):
        jail.run(["cat"], stdin=bytes(9 << 20))
    jail.run(["rm", "big", "small"])


def test_snapshots_keep_modes_times_links_and_holes(docker_works):
    state = [
        "sh",
        "-c",
        "find . -exec stat -c '%n %a %Y %s %F' {} + | sort; cat sparse m | md5sum; test $(stat -c %b sparse) -lt 99",
    ]
    with open_sandbox("docker") as box:
        box.write({f"d{i % 7}/{i}": b"%d" % i for i in range(100)})
        box.run(["sh", "-c", "ln -s nowhere l; mkdir -p a/b; echo m > m; truncate -s 40M sparse; echo tail >> sparse"])
        box.run(["sh", "-c", "touch -d 2001-02-03 m a/b; chmod 400 m; chmod 0 d1/1 a/b; chmod 555 a; chmod 750 ."])
        before = box.run(state)
        assert before.exit_code == 0
        with box.snapshot() as kept:
            assert box.run(state).stdout == before.stdout
            box.run(["sh", "-c", "rm -rf d2 m; echo 5 > new; mkdir z; chmod 755 a/b; touch /tmp/stays"])
            assert box.run(state).stdout != before.stdout
            box.restore(kept)
            assert box.run(state).stdout == before.stdout
            assert box.run(["ls", "/tmp"]).stdout == b"stays\n"
            with box.fork() as other:
                assert other.run(state).stdout == before.stdout
                other.write({"mine": b""})
            assert box.run(["sh", "-c", "rm -rf d3 sparse; head -c 60000000 /dev/zero > /dev/shm/full"]).exit_code == 0
            box.write({"kept": bytes(2_000_000)})
        with box.snapshot() as large:
            box.run(["sh", "-c", "rm kept; head -c 6000000 /dev/zero >> /dev/shm/full"])
            now = box.run(state).stdout
            with pytest.raises(SandboxError, match="not restored"):
                box.restore(large)
            assert box.run(state).stdout == now
        with pytest.raises(ValueError, match="closed"):
            box.restore(large)


def test_a_dead_container_says_so(docker_works, api):
    with open_sandbox("docker") as box:
        api.containers.get(box._container.id).kill()
        with pytest.raises(SandboxError, match="container"):
            box.run(["true"])
        with pytest.raises(SandboxError, match="dead"):
            box.export()


def test_a_killed_host_leaves_nothing(api):
    host = (
        "from sandbox import open_sandbox\nbox = open_sandbox('docker')\n"
        "print(box._container.id, flush=True)\nbox.run(['sleep', '300'], timeout=300)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", host], stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert process.stdout is not None
        made = process.stdout.readline().decode().strip()
        assert made in names(api)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert gone(api, made)


def test_prune_removes_what_dead_processes_left(api):
    dead = subprocess.Popen(["true"])
    dead.wait()
    found = image.find(api, None)
    labels = {
        "left": f"{daemon.place()} {dead.pid} 1",
        "mine": daemon.maker(),
        "elsewhere": f"other-machine {dead.pid} 1",
    }
    made = {
        name: api.containers.create(found, ["true"], labels={daemon.LABEL: label}, network_mode="none")
        for name, label in labels.items()
    }
    try:
        command = [sys.executable, "-m", "sandbox", "prune"]

        def removed() -> list[str]:  # control groups, which it removes too, may be left by anybody
            said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
            return [line for line in said.splitlines() if not line.startswith("removed control group ")]

        assert removed() == [f"removed container {made['left'].short_id}"]
        assert {made["mine"].id, made["elsewhere"].id} <= set(names(api))
        assert removed() in ([], ["nothing to remove"])
    finally:
        for container in made.values():
            daemon.remove(container)


def test_prune_all_removes_images_too(api, monkeypatch):
    monkeypatch.setattr(daemon, "LABEL", "codegym.test")
    monkeypatch.setattr(daemon, "IMAGES", ("codegym-test-prepared", "codegym-test-tar"))
    monkeypatch.setattr(image, "LABEL", "codegym.test")
    monkeypatch.setattr(image, "PREPARED", "codegym-test-prepared")
    monkeypatch.setattr(image, "LOADED", "codegym-test-tar")
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            tar.addfile(tarfile.TarInfo("nothing"), io.BytesIO())
        file.flush()
        found = image.find(api, file.name)
        assert found == image.find(api, found)
        saved = b"".join(api.images.get(image._load(api, file.name)).save())
        file.seek(0)
        file.write(saved)
        file.flush()
        assert found == image.find(api, file.name)  # the form of docker save: the same image again
    said = daemon.prune(api, everything=True)
    removed = [row.removeprefix("image ").split(":")[0].rsplit("/", 1)[-1] for row in said]  # podman adds a registry
    assert removed == ["codegym-test-prepared", "codegym-test-tar", "codegym-test-tar"]
    assert daemon.prune(api, everything=True) == []


def test_a_tar_of_a_root_file_system_with_its_own_tmp(api, tmp_path, monkeypatch):
    path = str(tmp_path / "root.tar")
    monkeypatch.setattr(image, "_LINKS", {})
    monkeypatch.setattr(image, "_PROGRAMS", "sh cat cp readlink")
    monkeypatch.setattr(image, "_LEFT_OUT", image._LEFT_OUT | {"__pycache__", "lib2to3", "pydoc_data", "asyncio"})
    with tarfile.open(path, "w") as tar:
        image._fill(tar)
        for name in ("tmp", "var/tmp"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
            tar.addfile(folder)
        python = tarfile.TarInfo("usr/bin/python3")
        python.type, python.linkname = tarfile.SYMTYPE, bwrap.interpreter()
        tar.addfile(python)
    monkeypatch.undo()
    with open_sandbox("docker", image=path) as box:
        script = "echo 1 > /tmp/a; cp /tmp/a /var/tmp/b; readlink /tmp; python3 -c 'print(6*7)'"
        assert box.run(["sh", "-c", script]).stdout == b"/box/tmp\n42\n"
    for tag in (image._load(api, path), image.find(api, path)):
        api.images.remove(tag, force=True)


def test_images_that_cannot_be_used(api, tmp_path, monkeypatch):
    before = mine(api)
    with pytest.raises(SandboxUnavailable, match=r"docker pull no-such-image"):
        open_sandbox("docker", image="no-such-image")
    monkeypatch.setattr(image, "BUILT", "codegym-not-built")
    monkeypatch.delenv(image.VARIABLE, raising=False)
    with pytest.raises(SandboxUnavailable, match="python -m sandbox image"):
        open_sandbox("docker")
    (tmp_path / "no.tar").write_bytes(b"no tar at all")
    with pytest.raises(SandboxUnavailable, match="no tar of an image"):
        open_sandbox("docker", image=str(tmp_path / "no.tar"))
    with tarfile.open(tmp_path / "empty.tar", "w") as tar:
        tar.addfile(tarfile.TarInfo("nothing"), io.BytesIO())
    with pytest.raises(SandboxUnavailable, match="needs python3"):
        open_sandbox("docker", image=str(tmp_path / "empty.tar"))
    for tag in (image._load(api, str(tmp_path / "empty.tar")), image.find(api, str(tmp_path / "empty.tar"))):
        api.images.remove(tag, force=True)
    assert mine(api) == before


def test_without_a_daemon_the_error_says_what_to_do(monkeypatch):
    pytest.importorskip("docker")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    with pytest.raises(SandboxUnavailable, match="DOCKER_HOST"):
        open_sandbox("docker")
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(SandboxUnavailable, match=r"codegym\[docker\]"):
        open_sandbox("docker")
    with pytest.raises(ValueError, match="backend='docker'"):
        open_sandbox("namespaces", image="python:3.12")


def test_auto_takes_docker_where_namespaces_do_not_work(docker_works, monkeypatch):
    monkeypatch.setattr("sandbox.namespaces.bwrap.find", lambda: "/bin/false")
    with open_sandbox("auto") as box:
        assert box.backend == "docker"
        assert box.run(["echo", "1"]).stdout == b"1\n"


def test_many_sandboxes_leave_nothing(api):
    for _ in range(3):
        with DockerSandbox(Limits()) as box:
            assert box.run(["sh", "-c", "setsid sleep 300 & echo 1"]).stdout == b"1\n"
        assert box._container.id not in names(api)
        assert list(Path("/sys/fs/cgroup").glob(f"*/docker/{box._container.id}")) == []


def test_a_sandbox_nobody_closed_goes_with_its_last_reference(api):
    box = DockerSandbox(Limits())
    made = box._container.id
    del box
    assert gone(api, made)
