"""Train with CISPO: ``python -m algorithms.cispo.train`` (``--help`` explains every setting)."""

import sys

from algorithms.core.cli import main

if __name__ == "__main__":
    sys.exit(main("cispo"))
