"""The container's own seccomp profile, as Docker and podman read it: a list of what is allowed.

It holds for PID 1 and for anything else in the container; PID 1 puts the filter of sandbox/namespaces/seccomp.py, which
looks at more arguments, on top of it for each command. Calls that are not listed, those of later kernels too, answer as
if the kernel did not have them. What is left out on purpose: other processes' memory, mounts, namespaces, modules, the
clock, keyrings, bpf, perf, io_uring, userfaultfd, file handles, and sockets but UNIX, IPv4 and IPv6.
"""

from __future__ import annotations

import contextlib
import json
import socket
import tempfile
from collections.abc import Iterator
from typing import Any

# By what they touch. Names are the kernel's; one that an architecture lacks is ignored there.
_FILES = """
    access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
    fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr
    flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64 getxattr
    inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl lchown lgetxattr link linkat listxattr
    llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2
    pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr rename
    renameat renameat2 rmdir sendfile setxattr splice stat statfs statx symlink symlinkat sync sync_file_range
    syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev
"""
_MEMORY = """
    brk cachestat get_mempolicy madvise map_shadow_stack mbind membarrier memfd_create mincore mlock mlock2
    mlockall mmap mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect
    remap_file_pages set_mempolicy
"""
_PROCESSES = """
    alarm arch_prctl capget capset execve execveat exit exit_group fork get_robust_list get_thread_area getcpu
    getegid geteuid getgid getgroups getitimer getpgid getpgrp getpid getppid getpriority getresgid getresuid
    getrlimit getrusage getsid gettid getuid ioprio_get ioprio_set kill landlock_add_rule
    landlock_create_ruleset landlock_restrict_self nanosleep pause pidfd_open pidfd_send_signal prctl prlimit64
    restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
    rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity
    sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
    sched_setparam sched_setscheduler sched_yield seccomp set_robust_list set_thread_area set_tid_address
    setfsgid setfsuid setgid setgroups setitimer setpgid setpriority setregid setresgid setresuid setreuid
    setrlimit setsid setuid sigaltstack tgkill time times tkill uname vfork wait4 waitid
"""
_EVENTS = """
    epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 futex
    futex_requeue futex_wait futex_waitv futex_wake io_cancel io_destroy io_getevents io_pgetevents io_setup
    io_submit pipe pipe2 poll ppoll pselect6 select signalfd signalfd4 timer_create timer_delete
    timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime
"""
_MESSAGES = """
    accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg
    sendmsg sendto setsockopt shutdown mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink
    msgctl msgget msgrcv msgsnd semctl semget semop semtimedop shmat shmctl shmdt shmget
"""
_MACHINE = "clock_getres clock_gettime clock_nanosleep getrandom gettimeofday sysinfo"
_NEW_NAMESPACES = 0x7E020000
_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)  # Linux, its 32-bit and 2.6 faces, and asking
_X86_64, _AARCH64 = "SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"


def _when(names: list[str], index: int, value: int, op: str = "SCMP_CMP_EQ", two: int = 0) -> dict[str, Any]:
    condition = {"index": index, "value": value, "valueTwo": two, "op": op}
    return {"names": names, "action": "SCMP_ACT_ALLOW", "args": [condition]}


@contextlib.contextmanager
def option(podman: bool) -> Iterator[str]:
    """The security option with the profile. Docker takes its text; podman the path of a file, read until the start."""
    if not podman:
        yield f"seccomp={profile()}"
        return
    with tempfile.NamedTemporaryFile("w", prefix="codegym-profile-") as file:
        file.write(profile())
        file.flush()
        yield f"seccomp={file.name}"


def profile() -> str:
    """The profile's JSON."""
    names = " ".join((_FILES, _MEMORY, _PROCESSES, _EVENTS, _MESSAGES, _MACHINE)).split()
    rules = [
        {"names": names, "action": "SCMP_ACT_ALLOW"},
        # clone3 hides its flags from a filter. Said on its own, as Docker 20.10 answers EPERM to what is not listed: C
        # libraries fall back to clone only if the call seems not to exist.
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
        _when(["clone"], 0, _NEW_NAMESPACES, "SCMP_CMP_MASKED_EQ", 0),
        *(_when(["socket"], 0, int(family)) for family in (socket.AF_UNIX, socket.AF_INET)),
        _when(["socket"], 0, 10),  # AF_INET6 of Linux, whatever it is on the host
        _when(["socketpair"], 0, int(socket.AF_UNIX)),
        *(_when(["personality"], 0, value) for value in _PERSONALITIES),
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "defaultErrnoRet": 38,  # ENOSYS of Linux
            "architectures": [_X86_64, _AARCH64],
            "syscalls": rules,
        }
    )
