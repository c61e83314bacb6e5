"""``python -m sandbox doctor``: what the sandbox guarantees on this machine, and by what."""

from __future__ import annotations

import argparse
import sys

from sandbox.probe import table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sandbox", description=__doc__)
    parser.add_argument("command", choices=["doctor"], help="try every guarantee and print which hold (about 2 s)")
    parser.parse_args()
    text, works = table()
    sys.stdout.write(text + "\n")
    return 0 if works else 1


if __name__ == "__main__":
    sys.exit(main())
