"""The persistent shell in a container: a process of ours that keeps a bash and all that it starts.

It is forked by PID 1, which passes on what it is asked and what it says, and it adopts the orphans among what the bash
started: whatever these do, they stay below it. So the commands of ``run``, which end by killing everything else, know
what to leave alone. It has PID 1's uid, so that code inside cannot touch it.

One datagram is marshal of (command, timeout); the answers are datagrams of a kind of ``frames.py`` and its body.
"""

from __future__ import annotations

import _signal as signal
import _socket
import marshal
import os
import select

from sandbox.base import Limits, SandboxError
from sandbox.docker.command import become, oom_kills
from sandbox.docker.frames import DONE, ERR, FAIL, OUT
from sandbox.ground import ProcessGround
from sandbox.namespaces import init
from sandbox.processes import below
from sandbox.session import ShellSession
from sandbox.shell import argv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

_PR_SET_CHILD_SUBREAPER = 36
_CHUNK = 1 << 15  # bytes of one datagram


def serve(config: dict[str, Any], work: int, env: dict[str, str], socket: _socket.socket) -> NoReturn:
    """Run commands of the shell until PID 1 closes its end."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    wake, wake_write = os.pipe()
    for fd in (wake, wake_write):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    init._check(init._prctl(_PR_SET_CHILD_SUBREAPER, 1), "adopting orphans")

    def spawn(fds: Sequence[int]) -> int:
        main = os.fork()
        if main == 0:
            become(config, work, fds, fds[2], (argv(), ".", env), owned=fds[1:4])  # 3: bash opens its script by path
        return main

    ground = ProcessGround(
        Limits(**config["limits"]), spawn, lambda processes, _: below({os.getpid()}, processes), oom_kills
    )
    session = ShellSession(ground)
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    poll.register(socket.fileno(), select.POLLIN)
    while True:
        ready = [fd for fd, _ in poll.poll()]
        if wake in ready:
            os.read(wake, 4096)
            ground.adopt()
        if socket.fileno() in ready:
            request = socket.recv(1 << 20)
            if not request:
                session.close()
                os._exit(0)
            _answer(session, socket, *marshal.loads(request))


def _answer(session: ShellSession, socket: _socket.socket, length: int, timeout: float) -> None:
    command = b""
    while len(command) < length:
        command += socket.recv(1 << 20)
    try:
        result = session.run(command.decode(errors="surrogateescape"), timeout=timeout)
    except SandboxError as error:
        socket.send(bytes([FAIL]) + b"M" + str(error).encode(errors="surrogateescape")[:4000])
        return
    for kind, text in ((OUT, result.stdout), (ERR, result.stderr)):
        for at in range(0, len(text), _CHUNK):
            socket.send(bytes([kind]) + text[at : at + _CHUNK])
    fields = (result.exit_code, result.timed_out, result.oom, result.truncated, result.cpu_s)
    socket.send(bytes([DONE]) + marshal.dumps((*fields, session.cwd, session.restarts), 4))
