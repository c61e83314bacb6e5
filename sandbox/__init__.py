"""Runs untrusted code. Knows nothing of tasks.

``open_sandbox`` gives a workspace for commands, ``Pool`` has them ready, ``open_runner`` runs many short graded
programs fast; ``python -m sandbox doctor`` says what is guaranteed on this machine.
"""

from sandbox.base import (
    ExecResult,
    Limits,
    Sandbox,
    SandboxError,
    SandboxUnavailable,
    Shell,
    Snapshot,
    WorkspaceError,
)
from sandbox.opening import open_sandbox
from sandbox.pool import Pool
from sandbox.runner import JobResult, Runner, open_runner

__all__ = [
    "ExecResult",
    "JobResult",
    "Limits",
    "Pool",
    "Runner",
    "Sandbox",
    "SandboxError",
    "SandboxUnavailable",
    "Shell",
    "Snapshot",
    "WorkspaceError",
    "open_runner",
    "open_sandbox",
]
