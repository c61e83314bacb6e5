"""The pool of ready sandboxes."""

from __future__ import annotations

import os
import threading

import pytest

from sandbox import Limits, Pool, SandboxError, SandboxUnavailable


def test_every_taker_gets_an_empty_sandbox_of_its_own(backend):
    with Pool(2, backend, Limits(output_bytes=10)) as pool:
        seen = []
        for _ in range(4):
            with pool.open() as box:
                assert box.export() == {}
                assert box.run(["sh", "-c", "echo 1 > f; echo 1 > /tmp/g$$; echo 0123456789ab"], timeout=60).truncated
                seen.append(box)
        assert len({id(box) for box in seen}) == 4


def test_takers_at_once():
    with Pool(1, "namespaces") as pool:
        found: list[bytes] = []

        def take(i: int) -> None:
            with pool.open() as box:
                found.append(box.run(["echo", str(i)], timeout=60).stdout)

        threads = [threading.Thread(target=take, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [b"%d\n" % i for i in range(6)]


def test_a_fork_is_taken_from_the_pool(monkeypatch):
    with Pool(1, "namespaces") as pool, pool.open() as box:
        box.write({"f": b"1"})
        taken = []
        monkeypatch.setattr(box, "spare", lambda: taken.append(1) or pool.open())
        with box.fork() as fork:
            assert fork.export() == {"f": b"1"}
            assert taken == [1]
            with fork.fork() as second:
                assert second.export() == {"f": b"1"}


def test_a_taken_sandbox_outlives_the_pool():
    with Pool(2, "namespaces") as pool:
        box = pool.open()
    pool.close()
    with box:
        assert box.run(["echo", "1"], timeout=60).stdout == b"1\n"
    with pytest.raises(SandboxError, match="closed"):
        pool.open()


def test_what_keeps_sandboxes_from_opening_is_told_to_the_taker(monkeypatch):
    with pytest.raises(ValueError, match="size=0"):
        Pool(0)
    with pytest.raises(ValueError, match="dokcer"):
        Pool(1, "dokcer")
    with Pool(1, "namespaces") as pool:
        broken = SandboxUnavailable("no more")

        def refuse(*_: object, **__: object) -> None:
            raise broken

        with monkeypatch.context() as patch:
            patch.setattr("sandbox.pool.open_sandbox", refuse)
            pool.open().close()
            with pytest.raises(SandboxUnavailable, match="no more"):
                pool.open()
        while True:  # the filler may have met the refusal once more before it ended
            try:
                pool.open().close()
                break
            except SandboxUnavailable:
                continue


def test_another_process_cannot_use_it():
    with Pool(1, "namespaces") as pool:
        child = os.fork()
        if child == 0:
            try:
                pool.open()
            except SandboxError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
