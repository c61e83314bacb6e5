"""Runs untrusted code. Knows nothing of tasks.

``open_sandbox`` gives a workspace for commands, ``open_runner`` a fast runner of many short graded programs;
``python -m sandbox doctor`` says what is guaranteed on this machine.
"""

from sandbox.base import ExecResult, Limits, Sandbox, SandboxError, SandboxUnavailable, WorkspaceError
from sandbox.opening import open_sandbox
from sandbox.runner import JobResult, Runner, open_runner

__all__ = [
    "ExecResult",
    "JobResult",
    "Limits",
    "Runner",
    "Sandbox",
    "SandboxError",
    "SandboxUnavailable",
    "WorkspaceError",
    "open_runner",
    "open_sandbox",
]
