"""Train with GSPO: ``python -m algorithms.gspo.train`` (``--help`` explains every setting)."""

import sys

from algorithms.core.cli import main

if __name__ == "__main__":
    sys.exit(main("gspo"))
