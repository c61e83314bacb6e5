"""Other forms of the methods than their defaults, once more in plain Python; see :mod:`tests.algorithms.slow_formulas`.

Each takes groups and gives advantages [group][trajectory][turn][token].
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import mean, stdev

from tests.algorithms.slow_formulas import Group, T, cut, each, gigpo, group_relative, scale, to_go, tokens, total

Visits = list[tuple[int, bytes]]  # trajectory, what it wrote there: nothing where it left the place alone


def flat(values: list[float]) -> bool:
    return max(values) - min(values) < 1e-9


def process(groups: list[Group]) -> list:
    """GRPO: every reward against all of the group's, and those to come added up."""
    result = []
    for group in groups:
        rewards = [turn.net() for own in group for turn in own]
        unit = 1.0 if flat(rewards) else stdev(rewards)
        result.append(
            each(
                group,
                [[sum((u.net() - mean(rewards)) / unit for u in own[t:]) for t in range(len(own))] for own in group],
            )
        )
    return result


def with_baseline(groups: list[Group]) -> list:
    """REINFORCE++: the returns to come less the group's mean return, all of the step's scaled together."""
    returns = []
    for group in groups:
        middle = mean(total(own) for own in group)
        returns += [[sum(r[k:]) - middle for k in range(len(r))] for r in map(tokens, group)]
    return cut(groups, scale(returns))


def errors(groups: list[Group], gamma: float, lam: float) -> list[list[float]]:
    """GAE per trajectory, by its sum."""
    found = []
    for trajectory in (own for group in groups for own in group):
        r, v = tokens(trajectory), [value for turn in trajectory for value in turn.values] + [0.0]
        delta = [r[k] + gamma * v[k + 1] - v[k] for k in range(len(r))]
        found.append([sum((gamma * lam) ** (j - k) * delta[j] for j in range(k, len(r))) for k in range(len(r))])
    return found


def gae(groups: list[Group], gamma: float = 0.97, lam: float = 0.9) -> list:
    """PPO."""
    return cut(groups, scale(errors(groups, gamma, lam)))


def critic_targets(groups: list[Group], gamma: float, lam: float) -> list[float]:
    """What the critic learns, all tokens in order."""
    values = [value for group in groups for own in group for turn in own for value in turn.values]
    return [a + v for a, v in zip((a for own in errors(groups, gamma, lam) for a in own), values, strict=True)]


def common(a: str, b: str) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(b) + 1)
    for x in a:
        last = row[:]
        for k, y in enumerate(b):
            row[k + 1] = last[k] + 1 if x == y else max(last[k + 1], row[k])
    return row[-1]


def similar_states(groups: list[Group], least: float = 0.8) -> list:
    """GiGPO where what was read counts as the state."""
    result = []
    for group in groups:
        firsts: list[str] = []

        def label(text: str, firsts: list[str] = firsts) -> str:
            for k, first in enumerate(firsts):
                if 2 * common(first, text) / (len(first) + len(text)) >= least:
                    return str(k)
            firsts.append(text)
            return str(len(firsts) - 1)

        clusters = {turn.state: label(turn.observation) for own in group for turn in own}
        result.append(gigpo([[replace(turn, state=clusters[turn.state]) for turn in own] for own in group]))
    return result


def places(group: Group) -> Iterator[tuple[int, Visits]]:
    """Turn and visits of every state in which some trajectory wrote a block."""
    for t in range(max(map(len, group))):
        for state in sorted({own[t].state for own in group if t < len(own)}):
            visits = [(i, own[t].block) for i, own in enumerate(group) if t < len(own) and own[t].state == state]
            if any(block for _, block in visits):
                yield t, visits


Worth = Callable[[Group], list[tuple[int, Visits, list[float]]]]


def painted(
    groups: list[Group], worth: Worth, summed: bool = False, executed: bool = False, center: bool = False
) -> list:
    """The tokens that wrote a block get its worth, in units of a deviation; the others keep GRPO's advantage."""
    result = []
    for group in groups:
        credit, found = group_relative(group), worth(group)
        gained = [0.0] * len(group)
        for _, visits, values in found:
            for (i, _), value in zip(visits, values, strict=True):
                gained[i] += value
        measure = gained if executed else [total(own) for own in group]
        unit = 1.0 if flat(measure) else stdev(measure)
        for t, visits, values in found:
            middle = mean(values) if center else 0.0
            for (i, block), value in zip(visits, values, strict=True):
                for k in range(1, len(group[i][t].new) - 1) if block else ():
                    credit[i][t][k] = (credit[i][t][k] if summed else 0.0) + (value - middle) / unit
        result.append(credit)
    return result


def place(group: Group) -> list[tuple[int, Visits, list[float]]]:
    found = []
    for t, visits in places(group):
        returns = [to_go(group[i], 0.95)[t] for i, _ in visits]
        found.append((t, visits, [0.0 if flat(returns) else r - mean(returns) for r in returns]))
    return found


def marginal(group: Group) -> list[tuple[int, Visits, list[float]]]:
    found = []
    for t, visits in places(group):
        returns = [to_go(group[i], 0.95)[t] for i, _ in visits]
        values = []
        for _, block in visits:
            own = [r for r, (_, other) in zip(returns, visits, strict=True) if other == block]
            values.append(len(own) / (len(own) + 1) * (mean(own) - mean(returns)))
        found.append((t, visits, values))
    return found


def regression(group: Group) -> list[tuple[int, Visits, list[float]]]:
    found, every = [], list(places(group))
    for t in sorted({t for t, _ in every}):
        here = [visits for own, visits in every if own == t]
        present = [i for i, own in enumerate(group) if t < len(own)]
        y = [to_go(group[i], 0.95)[t] for i in present]
        columns: list[list[float]] = []
        index: dict[tuple[int, bytes], int] = {}
        for p, visits in enumerate(here):
            wrote = dict(visits)
            for block in sorted(set(wrote.values()) - {b""}):
                column = [float(wrote.get(i) == block) for i in present]
                index[p, block] = len(columns)
                columns.append([value - mean(column) for value in column])
            if len(wrote) < len(present):
                columns.append([float(i not in wrote) - 1 + len(wrote) / len(present) for i in present])
        beta = [0.0] * len(columns) if flat(y) else best_ridge(columns, y)
        for p, visits in enumerate(here):
            found.append((t, visits, [beta[index[p, block]] if block else 0.0 for _, block in visits]))
    return found


def best_ridge(columns: list[list[float]], y: list[float]) -> list[float]:
    """The coefficients with the ridge that foresees each row best from the others."""
    rows = list(range(len(y)))

    def error(ridge: float) -> float:
        missed = 0.0
        for out in rows:
            kept = [k for k in rows if k != out]
            start, *beta = fit([[column[k] for k in kept] for column in columns], [y[k] for k in kept], ridge)
            missed += (y[out] - start - sum(b * column[out] for b, column in zip(beta, columns, strict=True))) ** 2
        return missed

    missed = {ridge: error(ridge) for ridge in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)}
    return fit(columns, y, max(r for r, e in missed.items() if e <= min(missed.values()) * (1 + 1e-9)))[1:]


def fit(columns: list[list[float]], y: list[float], ridge: float) -> list[float]:
    """Start and coefficients of a ridge regression, the start without a penalty: normal equations, elimination."""
    x = [[1.0] * len(y), *columns]
    a = [[sum(p * q for p, q in zip(one, two, strict=True)) for two in x] for one in x]
    for k in range(1, len(x)):
        a[k][k] += ridge
    rows = [[*line, sum(p * q for p, q in zip(one, y, strict=True))] for line, one in zip(a, x, strict=True)]
    for k, line in enumerate(rows):  # symmetric and positive: no pivots are needed
        for other in rows:
            if other is not line:
                factor = other[k] / line[k]
                other[:] = [p - factor * q for p, q in zip(other, line, strict=True)]
    return [line[-1] / line[k] for k, line in enumerate(rows)]


def score(text: bytes) -> float:
    """What the tests say of a file, made up."""
    return zlib.crc32(text) % 7 / 6


def executed(group: Group) -> list[tuple[int, Visits, list[float]]]:
    """Each reply makes one change, so its worth is what it gains, whichever way it is shared out."""
    gains = {}
    for i, own in enumerate(group):
        text = b""
        for t, turn in enumerate(own):
            gains[i, t] = score(turn.block + text) - score(text)
            text = turn.block + text
    return [(t, visits, [gains[i, t] if block else 0.0 for i, block in visits]) for t, visits in places(group)]


def turns(groups: list[Group]) -> list[T]:
    return [turn for group in groups for own in group for turn in own]
