"""What an evaluation found: pass@k with its interval, and the table that ``codegym evaluate`` prints."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass

Z95 = 1.959963984540054  # the 97.5 % point of the normal distribution


@dataclass(frozen=True)
class Row:
    """One episode. ``task`` is how it was asked for (an index of the split, or a task id).

    ``seconds`` is wall time; ``infra_error`` is set where the machine failed, and then nothing else counts. ``patch``
    is the unified diff of what the agent left against what the task began with.
    """

    task: int | str
    attempt: int
    task_id: str
    resolved: bool
    score: float
    reward: float
    turns: int
    invalid: int
    stop_reason: str
    infra_error: str | None
    seconds: float
    patch: str


@dataclass(frozen=True)
class Report:
    """The rows of an evaluation and what follows from them. Rows with an infra error are counted and left out."""

    env_id: str
    split: str
    rows: tuple[Row, ...]

    @property
    def valid(self) -> list[Row]:
        """The rows without an infra error."""
        return [row for row in self.rows if row.infra_error is None]

    @property
    def infra_errors(self) -> int:
        """How many episodes the machine spoilt."""
        return len(self.rows) - len(self.valid)

    @property
    def outcomes(self) -> list[tuple[int, int]]:
        """For each task, attempts and how many of them resolved it."""
        found: dict[str, list[bool]] = defaultdict(list)
        for row in self.valid:
            found[row.task_id].append(row.resolved)
        return [(len(attempts), sum(attempts)) for attempts in found.values()]

    @property
    def patches(self) -> dict[str, str]:
        """The patch of the first attempt at each task, by task id, where the machine did not spoil that attempt."""
        return {row.task_id: row.patch for row in self.valid if row.attempt == 0}

    def pass_at(self, k: int) -> float:
        """The chance that one of ``k`` attempts at a task resolves it, averaged over the tasks with >= k attempts.

        NaN if there is no such task. See :func:`pass_at_k`.
        """
        values = [pass_at_k(n, c, k) for n, c in self.outcomes if n >= k]
        return sum(values) / len(values) if values else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of pass@1.

        Over tasks, not attempts: attempts at one task are not independent, and counting them would narrow it falsely.
        """
        return wilson(self.pass_at(1), len(self.outcomes))

    def table(self) -> str:
        """The summary as text."""
        rows, low_high = self.valid, self.interval
        lines = [f"{self.env_id}, split {self.split}: {len(self.outcomes)} tasks, {len(rows)} episodes"]
        if rows:
            most = max(n for n, _ in self.outcomes)
            ends = ", ".join(f"{name} {count}" for name, count in sorted(Counter(r.stop_reason for r in rows).items()))
            lines.append(
                f"  pass@1           {_percent(self.pass_at(1))}   95 % {' to '.join(map(_percent, low_high))}"
            )
            if most > 1:
                lines.append(f"  pass@{most:<12}{_percent(self.pass_at(most))}")
            lines += [
                f"  tests passed     {_percent(_mean([row.score for row in rows]))}",
                f"  mean reward      {_mean([row.reward for row in rows]):.3f}",
                f"  mean turns       {_mean([row.turns for row in rows]):.2f}",
                f"  invalid actions  {sum(row.invalid for row in rows)} of {sum(row.turns for row in rows)}",
                f"  ended by         {ends}",
            ]
        lines.append(f"  infra errors     {self.infra_errors} (left out)")
        first = next((row.infra_error for row in self.rows if row.infra_error is not None), None)
        return "\n".join(lines if first is None else [*lines, f"  the first        {first}"])

    def to_dict(self) -> dict[str, object]:
        """Plain JSON data."""
        return {"env_id": self.env_id, "split": self.split, "rows": [asdict(row) for row in self.rows]}


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate 1 - C(n-c, k) / C(n, k) from ``c`` successes in ``n`` attempts.

    Chen et al. 2021, "Evaluating Large Language Models Trained on Code", equation 1. Raises ValueError unless
    0 <= c <= n and 1 <= k <= n.
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"pass_at_k(n={n}, c={c}, k={k}): needs 0 <= c <= n and 1 <= k <= n")
    return 1.0 - math.comb(n - c, k) / math.comb(n, k)


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % score interval of a share seen in ``n`` independent trials (Wilson 1927). (0, 1) where n = 0."""
    if n == 0:
        return 0.0, 1.0
    z2 = Z95**2 / n
    middle = (share + z2 / 2) / (1 + z2)
    half = Z95 / (1 + z2) * math.sqrt(share * (1 - share) / n + z2 / (4 * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _percent(share: float) -> str:
    return f"{100 * share:5.1f} %"
