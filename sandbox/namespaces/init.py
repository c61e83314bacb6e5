"""What PID 1 of a sandbox is made of: dropping rights, starting a command or a job, reaping, calls of the C library.

Runs inside, in an interpreter with nothing else loaded, so it imports only C modules; the modules in
``inside/`` build on it, and so does PID 1 of a container.
"""

from __future__ import annotations

import _ctypes  # the modules under the standard library's: ctypes would cost 6 ms a start, enum 3, os and struct 1.5
import _signal as signal
import _struct as struct
import gc
import marshal
import posix as os
import resource
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing would cost 5 ms a start
    from types import CodeType
    from typing import Any, NoReturn

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _PR_SET_SECCOMP = 4, 24, 38, 47, 22
_AMBIENT_CLEAR_ALL, _SECCOMP_MODE_FILTER = 4, 2
_DEFAULT_PATH = "/bin:/usr/bin"
_WALL = 0x40000000  # children that a clone made without SIGCHLD too


class Long(_ctypes._SimpleCData):
    """An argument as wide as a register, for functions whose arguments C does not know."""

    _type_ = "l"


class _Int(_ctypes._SimpleCData):
    _type_ = "i"


class _Byte(_ctypes._SimpleCData):
    _type_ = "c"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Int


class _Library:
    """The functions of the C library: they take ints, bytes and ``Long`` and give ints; ``error`` is the last errno."""

    def __init__(self) -> None:
        self._handle = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # None is the program itself

    def __getattr__(self, name: str) -> _Function:
        function = _Function(_ctypes.dlsym(self._handle, name))
        setattr(self, name, function)
        return function

    @staticmethod
    def error() -> int:
        return _ctypes.get_errno()


_libc = _Library()


def _check(result: int, what: str) -> None:
    if result != 0:
        code = _libc.error()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _prctl(option: int, *arguments: int) -> int:
    values = [Long(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    return int(_libc.prctl(option, *values))


def _drop_bounding(last: int) -> None:
    """No program that this process or a child starts can gain a capability; what it has stays."""
    for capability in range(last + 1):
        _check(_prctl(_PR_CAPBSET_DROP, capability), "dropping the bounding set")


def _change_user(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    _check(_prctl(_PR_SET_DUMPABLE, 0), "dumpable")  # a change of the uid sets it to what fs.suid_dumpable says


def _drop(config: dict[str, Any], keep: int) -> None:
    """Give up in this (child) process whatever untrusted code must not have. The order matters: rights go last.

    It stays as PID 1 is, not dumpable: code that runs under the same uid could change the memory of this one before the
    filter holds. A program that it starts is dumpable again, by the kernel.

    ``keep``: descriptors from this number on are closed.
    """
    os.closerange(keep, 1 << 20)
    for limit, soft, hard in config["rlimits"]:
        ceiling = resource.getrlimit(limit)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(limit, (soft, hard))
    if config["drop_uid"]:
        _change_user(config["uid"], config["gid"])
    header = struct.pack("=2I", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    _check(_libc.capset(header, bytes(24)), "dropping all capabilities")
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")
    code = config["filter"]
    instructions = (_Byte * len(code)).from_buffer_copy(code)
    program = struct.pack("@HP", len(code) // 8, _ctypes.addressof(instructions))  # struct sock_fprog
    _check(_libc.prctl(_PR_SET_SECCOMP, Long(_SECCOMP_MODE_FILTER), program), "installing the filter")


def _command(argv: list[str], cwd: str, env: dict[str, str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    missing = cwd
    try:
        os.chdir(cwd)
        missing = argv[0]
        become(argv, env)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        os.write(2, f"{missing}: {reason}\n".encode(errors="surrogateescape"))
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def become(argv: list[str], env: dict[str, str]) -> NoReturn:
    """os.execvpe, without the module that it imports each time. Raises OSError and ValueError."""
    if "/" in argv[0]:
        os.execve(argv[0], argv, env)
    refused: OSError | None = None
    for folder in env.get("PATH", _DEFAULT_PATH).split(":"):
        try:
            os.execve(f"{folder or '.'}/{argv[0]}", argv, env)
        except (FileNotFoundError, NotADirectoryError) as error:
            absent: OSError = error
        except OSError as error:
            refused = refused or error
    raise refused or absent


def prepare(payload: int) -> tuple[CodeType, bytes]:
    """Read a job (marshal of (code, files, data)) and write its files into the working directory."""
    os.lseek(payload, 0, 0)
    chunks = []
    while chunk := os.read(payload, 1 << 20):
        chunks.append(chunk)
    os.close(payload)
    code, files, data = marshal.loads(b"".join(chunks))
    for path, content in files.items():
        for at, letter in enumerate(path):
            if letter == "/":
                try:  # noqa: SIM105 - contextlib is one more import a start
                    os.mkdir(path[:at])
                except FileExistsError:
                    pass
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


def _reap(main: int, status: int | None, cpu: float, flags: int) -> tuple[int | None, float, bool]:
    """Wait for children. The status of ``main`` once it has ended, the CPU seconds of all that have, and whether any
    child is left: PID 1 without children is alone in its namespace, as orphans become its own."""
    while True:
        try:
            pid, result, usage = os.wait4(-1, flags | _WALL)
        except ChildProcessError:
            return status, cpu, False
        if pid == 0:
            return status, cpu, True
        cpu += usage.ru_utime + usage.ru_stime
        if pid == main:
            status = result
