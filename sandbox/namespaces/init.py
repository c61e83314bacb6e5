"""PID 1 of a sandbox: starts commands, kills what they leave behind, and is out of their reach.

The host compiles this module and runs it inside bubblewrap, in an interpreter with nothing else loaded; it imports only
C modules and ctypes. It answers datagrams on one socket (EOF ends it, and the kernel then ends everything inside):

    to it    marshal of ("run", argv, cwd, env) with descriptors stdin, stdout, stderr
             marshal of ("job",) with descriptors payload, stdout, stderr, emit, and perhaps a link
             b"kill": kill the command that runs now
    from it  b"ready" with a descriptor of the workspace; then per command one of
             struct "<iid" (0, wait status, CPU seconds of all its processes),
             struct "<i" (1) + text: the machine failed, (2) + text: the files of a job do not fit

What a command reads and writes passes by: it goes through descriptors of the host, never through this process, so the
memory that later commands are forked from holds nothing of earlier ones.
"""

from __future__ import annotations

import _signal as signal  # the modules under the standard library's: importing enum would cost 3 ms a start
import _socket
import ctypes
import gc
import marshal
import os
import resource
import select
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would cost 5 ms a start
    from types import CodeType
    from typing import Any, NoReturn

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_SET_SECCOMP = 4, 24, 38, 47, 22
_AMBIENT_CLEAR_ALL, _SECCOMP_MODE_FILTER = 4, 2
_MS_NOSUID, _MS_NODEV, _CLONE_NEWNS = 2, 4, 0x20000
_BOX, _WORK = "/box", "/box/work"

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _prctl(option: int, *arguments: int) -> int:
    values = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    return int(_libc.prctl(option, *values))


def _mount_box(config: dict[str, Any]) -> None:
    """One sized tmpfs for the workspace, /tmp, /var/tmp and /dev/shm (which are symlinks into it)."""
    options = f"size={config['disk_bytes']},nr_inodes={config['files']},mode=755,uid={os.getuid()},gid={os.getgid()}"
    flags = _MS_NOSUID | _MS_NODEV
    _check(_libc.mount(b"box", _BOX.encode(), b"tmpfs", flags, options.encode()), "mounting the workspace")
    for name in ("work", "tmp", "shm"):
        os.mkdir(f"{_BOX}/{name}", 0o755)
        os.chown(f"{_BOX}/{name}", config["uid"], config["gid"])


def _drop(config: dict[str, Any], keep: int) -> None:
    """Give up in this (child) process whatever untrusted code must not have. The order matters: rights go last.

    ``keep``: descriptors from this number on are closed.
    """
    os.closerange(keep, 1 << 20)
    for limit, soft, hard in config["rlimits"]:
        ceiling = resource.getrlimit(limit)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(limit, (soft, hard))
    if config["drop_uid"]:
        os.setgroups([])
        os.setresgid(config["gid"], config["gid"], config["gid"])
        os.setresuid(config["uid"], config["uid"], config["uid"])
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "dropping all capabilities")
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")
    _check(_prctl(_PR_SET_DUMPABLE, 1), "dumpable")  # its own /proc files belong to it again
    code = config["filter"]
    instructions = ctypes.create_string_buffer(code, len(code))
    fields = struct.pack("@HP", len(code) // 8, ctypes.addressof(instructions))  # struct sock_fprog
    program = ctypes.create_string_buffer(fields, len(fields))
    _check(_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program)), "installing the filter")


def _command(argv: list[str], cwd: str, env: dict[str, str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    missing = cwd
    try:
        os.chdir(cwd)
        missing = argv[0]
        os.execvpe(argv[0], argv, env)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        os.write(2, f"{missing}: {reason}\n".encode(errors="surrogateescape"))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def prepare(payload: int) -> tuple[CodeType, bytes]:
    """Read a job (marshal of (code, files, data)) and write its files into the working directory."""
    os.lseek(payload, 0, os.SEEK_SET)
    chunks = []
    while chunk := os.read(payload, 1 << 20):
        chunks.append(chunk)
    os.close(payload)
    code, files, data = marshal.loads(b"".join(chunks))
    for path, content in files.items():
        if "/" in path:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    return code, data


def perform(code: CodeType, data: bytes, emit_to: int, link: int | None) -> NoReturn:
    """Run a driver as ``__main__`` of this process and end it (see sandbox/runner.py)."""

    def emit(message: bytes, *, _write: Any = os.write, _pack: Any = struct.pack) -> None:
        """Send bytes to the host at once: they arrive even if this process is killed right after."""
        rest = memoryview(_pack("<I", len(message)) + message)
        while rest:
            rest = rest[_write(emit_to, rest) :]

    leave = os._exit
    status = _execute(code, {"data": data, "emit": emit, "link": link})
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            status = status or 1
    leave(status)


def _execute(code: CodeType, names: dict[str, Any]) -> int:
    module = type(sys)("__main__")
    module.__dict__.update(names)
    sys.modules["__main__"] = module
    sys.path.insert(0, os.getcwd())
    sys.argv = ["job"]
    gc.enable()
    try:
        exec(code, module.__dict__)
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return (stop.code or 0) & 0xFF
        sys.stderr.write(f"{stop.code}\n")
        return 1
    except BaseException as error:
        if error.__traceback__ is not None:
            error = error.with_traceback(error.__traceback__.tb_next)  # without this function's frame
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


class _Server:
    def __init__(self, config: dict[str, Any], socket: _socket.socket) -> None:
        self.config = config
        self.socket = socket
        self.work = -1
        self.wake, wake_write = os.pipe()
        for fd in (self.wake, wake_write):
            os.set_blocking(fd, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _check(_prctl(_PR_SET_DUMPABLE, 0), "dumpable")  # no ptrace, no /proc/1/mem, even with the same uid
        for capability in range(config["last_capability"] + 1):  # for what is forked from here; its own stay
            _check(_prctl(_PR_CAPBSET_DROP, capability), "dropping the bounding set")
        _check(_prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL), "dropping the ambient set")
        for name in config["preload"]:
            __import__(name)

    def serve(self) -> NoReturn:
        if self.config["mode"] == "run":
            _mount_box(self.config)
            self.work = os.open(_WORK, os.O_RDONLY | os.O_DIRECTORY)
            self.socket.sendmsg([b"ready"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("i", self.work))])
        else:
            self.socket.send(b"ready")
        gc.collect()
        gc.disable()
        gc.freeze()  # a collection in a child would copy every page of the shared heap
        while True:
            message, fds = self._receive()
            if message == b"kill":
                continue  # came when its command had just ended
            self.socket.send(self._perform(marshal.loads(message), fds))

    def _receive(self) -> tuple[bytes, list[int]]:
        message, ancillary, _, _ = self.socket.recvmsg(1 << 20, _socket.CMSG_SPACE(8 * 4))
        if not message:
            os._exit(0)
        fds: list[int] = []
        for _, _, data in ancillary:
            fds += struct.unpack(f"{len(data) // 4}i", data[: len(data) // 4 * 4])
        return message, fds

    def _perform(self, request: tuple[Any, ...], fds: list[int]) -> bytes:
        failure, failure_write = os.pipe()
        try:
            main = os.fork()
        except OSError as error:
            return struct.pack("<i", 1) + f"fork: {error.strerror}".encode()
        if main == 0:
            self._child(request, fds, failure_write)
        for fd in (*fds, failure_write):
            os.close(fd)
        status, cpu = self._supervise(main)
        text = os.read(failure, 4096)
        os.close(failure)
        if text:
            return struct.pack("<i", 2 if text[:1] == b"W" else 1) + text[1:]
        return struct.pack("<iid", 0, status, cpu)

    def _child(self, request: tuple[Any, ...], fds: list[int], failure: int) -> NoReturn:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            for group in self.config["cgroup"]:
                os.write(group, b"0")  # this process joins
            if request[0] == "run":
                os.fchdir(self.work)
                failure = _place([*fds, failure])
                os.set_inheritable(failure, False)
                _drop(self.config, failure + 1)
                _command(*request[1:])
            payload, stdout, stderr, emit, *link = fds
            _check(_libc.unshare(_CLONE_NEWNS), "unsharing mounts")
            _mount_box(self.config)
            os.chdir(_WORK)
            null = os.open("/dev/null", os.O_RDONLY)
            failure = _place([null, stdout, stderr, emit, *link, payload, failure])
            _drop(self.config, failure + 1)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                code, data = prepare(failure - 1)
            except OSError as error:
                os.write(failure, f"W{error}".encode(errors="replace")[:4000])
                os._exit(125)
            os.close(failure)
            perform(code, data, 3, 4 if link else None)
        except BaseException as error:
            os.write(failure, f"M{type(error).__name__}: {error}".encode(errors="replace")[:4000])
        os._exit(125)

    def _supervise(self, main: int) -> tuple[int, float]:
        """Wait for the main process or for b"kill"; then leave nothing alive. Its wait status, and the CPU of all."""
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        poll.register(self.socket.fileno(), select.POLLIN)
        status, cpu = None, 0.0
        while status is None:
            for fd, _ in poll.poll():
                if fd == self.wake:
                    os.read(fd, 4096)
                elif not self.socket.recv(16):
                    os._exit(0)
                else:
                    _kill_all()
            status, cpu = _reap(main, status, cpu, os.WNOHANG)
        _kill_all()
        status, cpu = _reap(main, status, cpu, 0)
        return status or 0, cpu


def _place(fds: list[int]) -> int:
    """Move descriptors to 0, 1, 2, ... in this order. Where the last one is now."""
    high = [os.dup2(fd, 64 + i) for i, fd in enumerate(fds)]  # out of the way of the targets
    for target, fd in enumerate(high):
        os.dup2(fd, target)
    return len(fds) - 1


def _kill_all() -> None:
    try:  # noqa: SIM105 - contextlib is one more import a start
        os.kill(-1, signal.SIGKILL)  # everything but this process; atomic against fork
    except ProcessLookupError:
        pass


def _reap(main: int, status: int | None, cpu: float, flags: int) -> tuple[int | None, float]:
    while True:
        try:
            pid, result, usage = os.wait4(-1, flags)
        except ChildProcessError:
            return status, cpu
        if pid == 0:
            return status, cpu
        cpu += usage.ru_utime + usage.ru_stime
        if pid == main:
            status = result


def boot(config: dict[str, Any], fd: int) -> NoReturn:
    """Serve on the socket ``fd`` until the host closes its end."""
    _Server(config, _socket.socket(fileno=fd)).serve()
