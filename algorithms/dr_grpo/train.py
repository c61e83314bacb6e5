"""Train with Dr. GRPO: ``python -m algorithms.dr_grpo.train`` (``--help`` explains every setting)."""

import sys

from algorithms.core.cli import main

if __name__ == "__main__":
    sys.exit(main("dr_grpo"))
