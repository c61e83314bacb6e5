"""States of a task that several trajectories met: what makes two equal or similar, and comparisons within them.

::

    keys = histories(group, depth=0)                  # [trajectory][turn], equal where the state is
    advantages, sizes = compare(keys, turn_returns(group, gamma))
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from rapidfuzz.distance import Indel

from algorithms.core.groups import group_by, within
from algorithms.core.trajectory import Trajectory


def histories(group: Sequence[Trajectory], depth: int) -> list[list[Hashable]]:
    """For every turn its state and the ``depth`` states before it (fewer at the start): [trajectory][turn].

    A state is the hash of the workspace and the observation the agent read.
    """
    result: list[list[Hashable]] = []
    for trajectory in group:
        states = [(turn.state_before, turn.observation) for turn in trajectory.turns]
        result.append([tuple(states[max(t - depth, 0) : t + 1]) for t in range(len(states))])
    return result


def similar(group: Sequence[Trajectory], least: float) -> list[list[Hashable]]:
    """For every turn the number of its cluster of similar states: [trajectory][turn].

    Equal states are always together. Others are compared by their text: what was changed so far (paths and new text),
    then the observation. The similarity of two texts is 2 L / (length of both), L their longest common subsequence. A
    state joins the first cluster, in order of appearance, whose first text is at least ``least`` similar.
    """
    of_state: dict[Hashable, int] = {}
    firsts: list[str] = []
    result: list[list[Hashable]] = []
    for trajectory, states in zip(group, histories(group, 0), strict=True):
        edits, labels = "", []
        for turn, state in zip(trajectory.turns, states, strict=True):
            if state not in of_state:
                of_state[state] = _cluster(edits + turn.observation, firsts, least)
            labels.append(of_state[state])
            for file in turn.diff.files:
                for hunk in file.hunks:
                    edits += f"{file.path}\n{hunk.text.decode('utf-8', 'replace')}\n"
        result.append(list(labels))
    return result


def _cluster(text: str, firsts: list[str], least: float) -> int:
    for number, first in enumerate(firsts):
        if Indel.normalized_similarity(first, text, score_cutoff=least) >= least:
            return number
    firsts.append(text)
    return len(firsts) - 1


def compare(
    keys: Sequence[Sequence[Hashable]], values: Sequence[np.ndarray], *, std: bool = False
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Each turn's value against those of all turns with an equal key (see :func:`algorithms.core.groups.within`).

    Args:
        keys: [trajectory][turn].
        values: [trajectory] -> [turns].

    Returns: advantages and the number of distinct trajectories of each turn's group, both [trajectory] -> [turns].
    """
    steps = [(i, t) for i, own in enumerate(keys) for t in range(len(own))]
    advantages = [np.zeros(len(own)) for own in keys]
    sizes = [np.zeros(len(own), dtype=int) for own in keys]
    for positions in group_by(keys[i][t] for i, t in steps):
        own = [steps[p] for p in positions]
        members = np.array([i for i, _ in own])
        found = within(np.array([values[i][t] for i, t in own]), members, std=std)
        count = len(set(members.tolist()))
        for (i, t), value in zip(own, found, strict=True):
            advantages[i][t], sizes[i][t] = value, count
    return advantages, sizes
