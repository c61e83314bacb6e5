"""Train with REINFORCE++: ``python -m algorithms.reinforce_pp.train`` (``--help`` explains every setting)."""

import sys

from algorithms.core.cli import main

if __name__ == "__main__":
    sys.exit(main("reinforce_pp"))
