"""The folder of a run: its files, and how they are cut back to a checkpoint when the run goes on.

``metrics.jsonl`` and ``eval.jsonl`` hold nothing that depends on the clock, so that an interrupted run leaves the same
bytes as one that was not; seconds go to ``timing.jsonl``. ``trajectories/step_000010.jsonl`` has a group per line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from algorithms.core.trajectory import Anchor, Credit, Trajectory, Turn
from codegym.spans import reply_text

LOGS = ("metrics", "timing", "eval")
SHOWN = 4  # groups saved of a step: some tens of conversations, enough to read and small enough to keep


class RunFolder:
    """Writes a run's files. Rows are flushed one by one; a torn last row is cut when the run goes on."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    def append(self, log: str, row: Mapping[str, Any]) -> None:
        """Add a row to ``<log>.jsonl``."""
        with open(self.path / f"{log}.jsonl", "a") as file:
            file.write(json.dumps(row) + "\n")

    def evaluations(self) -> list[tuple[int, dict[str, Any]]]:
        """(step, results) of the evaluations so far."""
        file = self.path / "eval.jsonl"
        rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [(row.pop("step"), row) for row in rows]

    def lengths(self) -> dict[str, int]:
        """Bytes of each log now; a checkpoint remembers them."""
        return {log: file.stat().st_size if (file := self.path / f"{log}.jsonl").exists() else 0 for log in LOGS}

    def cut(self, lengths: Mapping[str, int], step: int) -> None:
        """Take away all that was written after a checkpoint of ``step``."""
        for log in LOGS:
            file = self.path / f"{log}.jsonl"
            if file.exists():
                if file.stat().st_size < lengths.get(log, 0):
                    raise ValueError(f"{file} is shorter than at the checkpoint; use another trainer.run_dir")
                os.truncate(file, lengths.get(log, 0))
        for file in (self.path / "trajectories").glob("step_*.jsonl"):
            if int(file.stem.removeprefix("step_")) > step:
                file.unlink()

    def save_groups(self, step: int, groups: Sequence[tuple[Sequence[Trajectory], Credit]]) -> None:
        """Write the first groups of a step with their credit."""
        folder = self.path / "trajectories"
        folder.mkdir(exist_ok=True)
        lines = [json.dumps(_group(group, credit)) + "\n" for group, credit in groups[:SHOWN]]
        (folder / f"step_{step:06d}.jsonl").write_text("".join(lines))


def _group(group: Sequence[Trajectory], credit: Credit) -> dict[str, Any]:
    return {
        "task_id": group[0].task_id,
        "trajectories": [
            {
                "member": trajectory.member,
                "resolved": trajectory.resolved,
                "score": trajectory.score,
                "return": trajectory.episode_return,
                "stop_reason": trajectory.stop_reason,
                "turns": [
                    _turn(turn, advantage.tolist())
                    for turn, advantage in zip(trajectory.turns, advantages, strict=True)
                ],
            }
            for trajectory, advantages in zip(group, credit.advantages, strict=True)
        ],
        "anchors": [_anchor(anchor) for anchor in credit.anchors],
        "metrics": credit.metrics,
    }


def _turn(turn: Turn, advantages: list[float]) -> dict[str, Any]:
    return {
        "observation": turn.observation,
        "reply": reply_text(turn.reply),
        "response_ids": turn.response_ids.tolist(),
        "token_ends": turn.token_ends.tolist(),
        "logprobs": turn.logprobs.tolist(),
        "advantages": advantages,
        "reward": turn.reward,
        "reward_terms": turn.reward_terms,
        "state_before": turn.state_before,
        "action_valid": turn.action_valid,
        "truncated": turn.truncated,
        "diff": turn.diff.to_dict(),
    }


def _anchor(anchor: Anchor) -> dict[str, Any]:
    return {
        "id": anchor.id,
        "score": anchor.score,
        "lines": anchor.lines,
        "occurrences": [
            {"member": place.member, "turn": place.turn, "span": list(place.span)} for place in anchor.occurrences
        ],
        "advantages": list(anchor.advantages),
    }
