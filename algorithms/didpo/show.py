"""Anchors of saved trajectories in the terminal: ``python -m algorithms.didpo.anchors FILE ...``.

FILE is a run's ``trajectories/step_000010.jsonl`` (:mod:`algorithms.core.runfolder`): a group per line.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.core.trajectory import Trajectory, Turn
from algorithms.didpo.anchors import FoundAnchor, find_anchors
from codegym.diff import Diff
from codegym.spans import reply_bytes, reply_text

SHOWN_LINES = 6  # of an anchor's text
SHOWN_PLACES = 12  # of its occurrences


def read_groups(path: Path) -> Iterator[list[Trajectory]]:
    """The groups of a file. Raises ValueError naming the line that holds none."""
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            saved = json.loads(line)
            group = [_trajectory(saved["task_id"], own) for own in saved["trajectories"]]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}, line {number}: no saved group ({type(error).__name__}: {error})") from None
        if not group:
            raise ValueError(f"{path}, line {number}: no saved group (it has no trajectories)")
        yield group


def _trajectory(task_id: str, saved: Mapping[str, Any]) -> Trajectory:
    turns = [
        Turn(
            prompt_ids=np.zeros(0, dtype=np.int64),
            response_ids=np.array(turn["response_ids"], dtype=np.int64),
            logprobs=np.array(turn["logprobs"], dtype=np.float32),
            token_ends=np.array(turn["token_ends"], dtype=np.int64),
            reply=reply_bytes(turn["reply"]),
            observation=turn["observation"],
            reward=turn["reward"],
            state_before=turn["state_before"],
            diff=Diff.from_dict(turn["diff"]),
        )
        for turn in saved["turns"]
    ]
    return Trajectory(task_id, saved["member"], turns, saved["resolved"], saved["score"], saved["stop_reason"])


def describe(group: Sequence[Trajectory], anchors: Sequence[FoundAnchor]) -> str:
    """A group's anchors as text: each with its figures, its first occurrence, and where it occurs."""
    turns = sum(len(own.turns) for own in group)
    lines = [f"{group[0].task_id}: {len(group)} trajectories, {turns} turns, {len(anchors)} anchors"]
    for anchor in anchors:
        members = len(set(anchor.positions))
        lines.append(f"\n  {anchor.id}  GS {anchor.score:.3f}  {anchor.lines:.1f} lines  in {members} trajectories")
        position, first = anchor.positions[0], anchor.occurrences[0]
        text = reply_text(group[position].turns[first.turn].reply[slice(*first.span)]).splitlines()
        shown = [part.encode(errors="replace").decode() for part in text[:SHOWN_LINES]]
        if len(text) > SHOWN_LINES:
            shown.append(f"({len(text) - SHOWN_LINES} more)")
        lines += [f"    | {part}" for part in shown]
        for place, occurrence in list(zip(anchor.positions, anchor.occurrences, strict=True))[:SHOWN_PLACES]:
            own = group[place]
            where = "trajectory {}, turn {}, bytes {}-{}".format(own.member, occurrence.turn, *occurrence.span)
            lines.append(f"    {where}, return {own.episode_return:.3f}")
        if len(anchor.occurrences) > SHOWN_PLACES:
            lines.append(f"    and {len(anchor.occurrences) - SHOWN_PLACES} more")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Show the anchors of the files named; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m algorithms.didpo.anchors", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--eta", type=float, default=0.8, help="similarity from which changes are one; 1: equal only")
    parser.add_argument("--place", choices=["symbol", "path"], default="symbol", help="what a change's place is")
    parser.add_argument("--limit", type=int, default=64, help="most anchors of a group")
    args = parser.parse_args(argv)
    try:
        for path in args.files:
            for group in read_groups(path):
                anchors = find_anchors(group, eta=args.eta, limit=args.limit, place=args.place)
                sys.stdout.write(describe(group, anchors) + "\n")
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0
