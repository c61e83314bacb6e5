"""What finding anchors costs and finds: ``python tests/perf/anchors.py`` prints two tables.

CPU seconds of one core (the fastest of three), as they are and relative to parsing the same text with tree-sitter,
which tells how fast the machine is; peak memory as a multiple of the replies. The recall is that of planted
blocks
(:mod:`tests.algorithms.planted_blocks`).
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import tree_sitter
import tree_sitter_python

sys.path.insert(0, str(Path(__file__).parents[2]))

from algorithms.core.trajectory import Trajectory
from algorithms.didpo.anchors import find_anchors
from algorithms.didpo.units import units_of
from tests.algorithms.groups_for_tests import block, trajectory, turn
from tests.algorithms.planted_blocks import planted_blocks, recall


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds, the least of three."""
    taken = []
    for _ in range(3):
        units_of.cache_clear()
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def row(name: str, group: Sequence[Trajectory]) -> float:
    """Print a row of the table of costs; the seconds."""
    replies = [turn.reply for trajectory in group for turn in trajectory.turns]
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_python.language()))
    parsing = seconds(lambda: [parser.parse(reply) for reply in replies])
    taken = seconds(lambda: find_anchors(group))
    units_of.cache_clear()
    tracemalloc.start()
    find_anchors(group)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = sum(map(len, replies))
    print(f"| {name} | {size / 1e6:.2f} MB | {taken:.3f} s | {taken / parsing:.1f} | {peak / size:.0f} |")
    return taken


def main() -> None:
    """Print the tables."""
    print(
        "| planted blocks | all | exact | reformatted | renamed | edited | reordered |\n|---|---|---|---|---|---|---|"
    )
    groups = {}
    for size in (8, 16, 32, 64):
        groups[size], planted = planted_blocks(1, size)
        found = recall(groups[size], planted, find_anchors(groups[size]))
        print(f"| G = {size}, 8 turns | " + " | ".join(f"{value:.3f}" for value in found.values()) + " |")
    print("\n| input | replies | CPU time | / parsing | peak memory / replies |\n|---|---|---|---|---|")
    taken = {size: row(f"G = {size}, 8 turns of about 130 lines", group) for size, group in groups.items()}
    large = b"\n".join(block(0, 25_000))
    for name, texts in {
        "10,000 equal lines": [b"x = 1\n" * 10_000, b"x = 1\n" * 9_999],
        "10,000 equal lines, one odd": [b"x = 1\n" * 10_000 + b"y = 2\nx = 1\n", b"x = 1\n" * 9_999 + b"y = 2\n"],
        "one 1 MB diff": [large[: 1 << 20], large[:5_000]],
        "1 MB, twice": [large[: 1 << 20]] * 2,
        "500 identical replies": [large[:6_000]] * 500,
    }.items():
        row(name, [trajectory(k, [turn([("a.py", text)])]) for k, text in enumerate(texts)])
    print(f"\nfrom G = 16 to 64: {taken[64] / taken[16]:.1f} times the time")


if __name__ == "__main__":
    main()
