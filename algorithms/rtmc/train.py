"""Train with RTMC: ``python -m algorithms.rtmc.train`` (``--help`` explains every setting)."""

import sys

from algorithms.core.cli import main

if __name__ == "__main__":
    sys.exit(main("rtmc"))
