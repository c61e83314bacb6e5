"""The text protocol of a persistent bash, the same for every backend.

The shell reads its script from a pipe. Each command is one ``eval`` in it, followed by a report of the status and of
what a new shell needs to go on from there; then a random token on a descriptor of its own says that all is written. The
command cannot touch these descriptors by accident: they are closed while it runs.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

#: Descriptors of the shell: its script and, while no command runs, the token and the report.
SCRIPT, TOKEN, REPORT = 3, 61, 62
MAX_REPORT = 1 << 20  # bytes; with more variables than that a new shell only gets the folder
# The shell is started with SCRIPT, 4 and 5 and moves the last two out of the way of `exec 4>file`.
# Nothing built into bash sets $? to a number without a fork, so a function does.
_OPENING = (
    f"exec {TOKEN}>&4 {REPORT}>&5 4>&- 5>&- {SCRIPT}<&-; shopt -s expand_aliases\n__status() {{ builtin return $1; }}\n"
)
# Simple commands only: after some syntax errors in a command bash 5.2 reads no reserved word on the next line.
_REPORT = (
    'printf "%s%s\\0%s\\0" TOKEN $? "$PWD"',
    *("times", 'printf "\\0"', "declare -p", "declare -f", "alias -p", "shopt -p", "shopt -po", "umask -p"),
)
# Options that would end a new shell at once stay off in it.
_FATAL = ("set -o errexit", "set -o nounset", "set -o noexec", "set -o onecmd")


def argv() -> list[str]:
    """The command line of the shell. 3, 4, 5 are its script, token and report."""
    return ["bash", "--norc", "--noprofile", f"/dev/fd/{SCRIPT}"]


def quote(text: str) -> str:
    """As one word of shell text."""
    return "'" + text.replace("'", "'\\''") + "'"


@dataclass(frozen=True)
class State:
    """What the last finished command left: enough for a new shell to go on.

    ``seconds`` is the CPU time of the shell and its finished children so far.
    """

    status: int = 0
    cwd: str = "."
    seconds: float = 0.0
    definitions: str = ""


def script(command: str, before: State) -> tuple[str, bytes]:
    """The text that runs a command without NUL, and the token that says it has ended."""
    token = secrets.token_hex(16)
    again = f"__status {before.status}; " if before.status else ""
    report = "; ".join(f"builtin {part} >&{REPORT} 2>&-" for part in _REPORT).replace("TOKEN", token, 1)
    text = f"\n{again}builtin eval {quote(command)} {TOKEN}>&- {REPORT}>&-\n{report}\n"
    return text + f"builtin printf {token} >&{TOKEN}\n", token.encode()


def reopening(state: State) -> str:
    """The text that makes a new shell go on from a state."""
    kept = "\n".join(line for line in state.definitions.splitlines() if line not in _FATAL)
    definitions = f"builtin eval {quote(kept)} >/dev/null 2>&1\n" if kept else ""
    return f"{_OPENING}{definitions}builtin cd -- {quote(state.cwd)} 2>/dev/null\n"


def parse(report: bytes, token: bytes, before: State, *, whole: bool) -> State:
    """The state in a report, which begins with the token; the one before if it makes no sense.

    ``whole``: nothing of the report is missing.
    """
    parts = report.rpartition(token)[2].decode(errors="surrogateescape").split("\0", 3)
    try:
        status, cwd, times, definitions = parts
        return State(int(status), cwd, _seconds(times), definitions if whole else "")
    except ValueError:
        return before


def _seconds(times: str) -> float:
    total = 0.0
    for word in times.split():  # 0m0.003s
        minutes, _, rest = word.partition("m")
        total += 60 * int(minutes) + float(rest.rstrip("s"))
    return total
