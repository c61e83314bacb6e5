"""``python -m sandbox``: what the sandbox guarantees on this machine and by what, and the upkeep of what it makes."""

from __future__ import annotations

import argparse
import contextlib
import sys

from sandbox.base import SandboxError, SandboxUnavailable


def _doctor() -> int:
    from sandbox.probe import table

    text, works = table()
    sys.stdout.write(text + "\n")
    return 0 if works else 1


def _image() -> int:
    from sandbox.docker import daemon, image

    with contextlib.closing(daemon.client()) as api:
        sys.stdout.write(f"{image.BUILT} {image.build(api)}\n")
    return 0


def _prune(everything: bool) -> int:
    from sandbox.docker import daemon
    from sandbox.namespaces import cgroup

    removed = [f"control group {path}" for path in cgroup.prune()]
    try:
        with contextlib.closing(daemon.client()) as api:
            removed += daemon.prune(api, everything=everything)
    except SandboxUnavailable as error:
        sys.stderr.write(f"no containers were looked for: {error}\n")
    sys.stdout.write("".join(f"removed {name}\n" for name in removed) or "nothing to remove\n")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="try every guarantee of every backend and print which hold (seconds)")
    commands.add_parser("image", help="make an image for Docker of this machine's Python and text tools (no registry)")
    prune = commands.add_parser("prune", help="remove the control groups and containers of processes that are no more")
    prune.add_argument("--all", action="store_true", help="also the containers of living processes, and the images")
    options = parser.parse_args()
    try:
        if options.command == "doctor":
            return _doctor()
        return _image() if options.command == "image" else _prune(options.all)
    except (SandboxError, SandboxUnavailable) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
