"""From the command line to verdicts in images: pulled from a registry, or used as they are here."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from benchmarks.swebench import images
from benchmarks.swebench.benchmark import SWEBench
from codegym.cli import main
from codegym.workspace import EpisodeFiles
from sandbox import SandboxError
from tests.benchmarks.swebench.conftest import World, git, options

UNIT = "fixture__calc-u"
IMAGE = "swebench/sweb.eval.x86_64.fixture_1776_calc-u:latest"  # as swebench names it


def tar(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.fixture
def registry() -> Iterator[str]:
    """A registry of one small image, ``calc``; where it is."""
    plain = tar(data=os.urandom(1 << 20))
    layer = gzip.compress(plain)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [digest(plain)]},
        }
    ).encode()
    kind = "application/vnd.docker.distribution.manifest.v2+json"
    parts = {"config": ("container.image.v1+json", config), "layer": ("image.rootfs.diff.tar.gzip", layer)}
    told = {
        name: {"mediaType": f"application/vnd.docker.{media}", "size": len(data), "digest": digest(data)}
        for name, (media, data) in parts.items()
    }
    manifest = {"schemaVersion": 2, "mediaType": kind, "config": told["config"], "layers": [told["layer"]]}
    listed = json.dumps(manifest).encode()
    served = {digest(data): data for _, data in parts.values()} | {"latest": listed, digest(listed): listed}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            known = self.path == "/v2/" or (self.path.startswith("/v2/calc/") and name in served)
            data = served.get(name, b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "none"}]}')
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", kind if data == listed else "application/json")
            self.send_header("Docker-Content-Digest", digest(data))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data if self.command == "GET" else b"")

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_image_is_pulled_once_and_with_progress(docker: Any, registry: str) -> None:
    name = f"{registry}/calc:latest"
    seen: list[tuple[int, int]] = []
    try:
        assert images.pull(name, lambda done, total: seen.append((done, total)))
        assert seen
        assert seen[-1][0] == seen[-1][1] > 1 << 20
        assert images.size(name) >= 1 << 20
        assert not images.pull(name)
    finally:
        docker.images.remove(name, force=True)
    with pytest.raises(SandboxError, match=f"Docker cannot pull {registry}/none:latest: "):
        images.pull(f"{registry}/none:latest")


@pytest.fixture(scope="module")
def local(docker: Any, world: World) -> Iterator[None]:
    """The image of the unittest row: this machine's Python and the repository at /testbed."""
    from sandbox.docker import daemon, image

    buffer = io.BytesIO()
    clone = world.folder / "testbed"
    git(world.folder, "clone", "-q", str(world.clones / "fixture__calc"), str(clone))
    git(clone, "checkout", "-q", SWEBench("swe-lite", **options(world)).row(UNIT).base_commit)
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(clone, "testbed")
    container = docker.containers.create(image.find(docker, None), ["-"], entrypoint=["-"], network_mode="none")
    try:
        container.put_archive("/", buffer.getvalue())
        known = container.commit(*IMAGE.split(":")).id.split(":")[-1][:32]
    finally:
        daemon.remove(container)
    yield
    for tag in {tag for made in docker.images.list("codegym-swebench") for tag in made.tags if known in tag}:
        docker.images.remove(tag, force=True)
    docker.images.remove(IMAGE, force=True)
    images.prepared.cache_clear()


def test_prepare_and_verify_in_docker(local: None, world: World, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--rows", str(world.rows), "--recipes", str(world.recipes), "-i", UNIT]
    assert main(["prepare", "SWE-Lite", "--docker", *given]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"1/1 {UNIT}  {IMAGE}: here, ")
    assert last.startswith("1 of 1 ready, 1 images, ")
    assert main(["verify", "SWE-Lite", "--mode", "docker", "--timeout", "60", *given]) == 0
    assert capsys.readouterr().out.splitlines()[-2].split()[:3] == [UNIT, "0/2", "3/3"]


def test_an_image_that_holds_the_solution_does_not_show_it(local: None, world: World, tmp_path: Path) -> None:
    """Of a row whose patch makes the bug, the image is the healthy repository."""
    row = next(row for row in map(json.loads, world.rows.read_text().splitlines()) if row["instance_id"] == UNIT)
    del row["test_patch"]
    head = "--- a/calc/core.py\n+++ b/calc/core.py\n@@ -1,5 +1,5 @@\n"
    row["patch"] = head + " def add(a, b):\n-    return a - b\n+    return 0\n \n \n def mul(a, b):\n"
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    bench = SWEBench("swe-lite", rows=str(tmp_path / "rows.jsonl"), recipes=str(world.recipes), mode="docker")
    task = bench.task(UNIT)
    assert b"return 0" in task.workspace["calc/core.py"]
    with contextlib.closing(EpisodeFiles(task)) as files:
        said = files.shell("cat calc/core.py; ls /testbed/calc; cat /testbed/README.md").stdout.decode()
    assert "return 0" in said
    assert "return a - b" not in said
    assert said.splitlines()[-2:] == ["__init__.py", "calc"]


def test_what_cannot_be_pulled_is_told(docker: Any, registry: str, world: World, tmp_path, capsys) -> None:
    row = next(row for row in map(json.loads, world.rows.read_text().splitlines()) if row["instance_id"] == UNIT)
    (tmp_path / "rows.jsonl").write_text(json.dumps({**row, "image": f"{registry}/none:latest"}) + "\n")
    given = ["--rows", str(tmp_path / "rows.jsonl"), "--recipes", str(world.recipes)]
    with pytest.raises(SystemExit) as end:
        main(["prepare", "SWE-Lite", "--docker", *given])
    assert end.value.code == 1
    first, last = capsys.readouterr().out.splitlines()
    assert f"Docker cannot pull {registry}/none:latest" in first
    assert last.startswith("0 of 1 ready")
    with pytest.raises(SystemExit):
        main(["verify", "SWE-Lite", "--docker", *given])
    assert "codegym prepare --docker" in capsys.readouterr().out
