"""``python -m codegym``: the ``codegym`` command."""

import sys

from codegym.cli import main

sys.exit(main())
