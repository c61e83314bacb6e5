"""DiDPO: credit for the diffs that recur across trajectories."""

from typing import Any


def __getattr__(name: str) -> Any:
    """``ALGORITHM``, imported when it is asked for, so that ``python -m algorithms.didpo.anchors`` runs as a module."""
    if name != "ALGORITHM":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from algorithms.didpo.algorithm import Didpo

    return Didpo
