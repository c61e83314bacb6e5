"""The methods once more, from their papers, in plain Python, without anything of the package.

A trajectory is a list of :class:`T`. Advantages are per token; :func:`coefficients` gives the derivative of the loss
with respect to each token's log-probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import mean, stdev

INF = math.inf


@dataclass
class T:
    """A turn: reward, state, action, and per token the log-probabilities and the critic's value."""

    reward: float
    state: str
    action: str
    new: list[float]
    old: list[float]
    ref: list[float]
    values: list[float]
    cut: bool = False
    penalty: list[float] = field(default_factory=list)  # taken off the reward, per token
    block: bytes = b""  # what it added, in all tokens but the first and the last
    observation: str = ""

    def net(self) -> float:
        return self.reward - sum(self.penalty)


Group = list[list[T]]

LOSSES = {  # aggregation, lower and upper clip, dual clip, weight of the KL in the loss
    "grpo": ("sequence", 0.2, 0.2, 3.0, 0.04),
    "dr_grpo": (128.0, 0.2, 0.2, INF, 0.0),
    "dapo": ("token", 0.2, 0.28, INF, 0.0),
    "gspo": ("sequence", 3e-4, 4e-4, INF, 0.0),
    "cispo": ("token", 1.0, 4.0, INF, 0.0),
    "rloo": (128.0, 0.2, 0.2, INF, 0.0),
    "reinforce_pp": ("token", 0.2, 0.2, INF, 0.0),
    "reinforce_pp with baseline": ("token", 0.2, 0.2, INF, 0.01),
    "ppo": ("token", 0.2, 0.2, INF, 0.0),
    "gigpo": ("token", 0.2, 0.2, 3.0, 0.01),
    "hgpo": ("token", 0.2, 0.2, 3.0, 0.01),
    "rtmc": ("token", 0.2, 0.2, INF, 0.0),
    "didpo": ("token", 0.2, 0.2, 3.0, 0.01),
}
ENTROPY = {"didpo": 0.001}  # weight of the bonus, a mean over tokens
KL_IN_REWARD = {"rloo": 0.03, "reinforce_pp": 0.01, "ppo": 0.02}


def punish(name: str, groups: list[Group], limit: int) -> None:
    """KL in the reward and DAPO's overlong punishment."""
    for group in groups:
        for trajectory in group:
            for turn in trajectory:
                beta = KL_IN_REWARD.get(name, 0.0)
                turn.penalty = [beta * (o - r) for o, r in zip(turn.old, turn.ref, strict=True)]
                if name == "dapo":
                    cache, length = round(0.2 * limit), len(turn.new) + turn.cut
                    excess = length - (limit - cache)
                    turn.penalty[-1] += 0 if excess <= 0 else 1 if length > limit else excess / cache


def standard(values: list[float], divide: bool = True) -> list[float]:
    if max(values) - min(values) < 1e-9:
        return [0.0] * len(values)
    return [(v - mean(values)) / (stdev(values) if divide else 1) for v in values]


def total(trajectory: list[T]) -> float:
    return sum(turn.net() for turn in trajectory)


def to_go(trajectory: list[T], gamma: float) -> list[float]:
    return [sum(gamma**k * turn.net() for k, turn in enumerate(trajectory[t:])) for t in range(len(trajectory))]


def each(group: Group, per_turn: list[list[float]]) -> list[list[list[float]]]:
    return [
        [[a] * len(turn.new) for a, turn in zip(own, trajectory, strict=True)]
        for own, trajectory in zip(per_turn, group, strict=True)
    ]


def whole(group: Group, numbers: list[float]) -> list[list[list[float]]]:
    return each(group, [[a] * len(trajectory) for a, trajectory in zip(numbers, group, strict=True)])


def group_relative(group: Group) -> list[list[list[float]]]:
    return whole(group, standard([total(own) for own in group]))


def without_division(group: Group) -> list[list[list[float]]]:
    returns = [total(own) for own in group]
    return whole(group, [r - mean(returns) for r in returns])


def leave_one_out(group: Group) -> list[list[list[float]]]:
    returns = [total(own) for own in group]
    return whole(group, [r - mean(returns[:i] + returns[i + 1 :]) for i, r in enumerate(returns)])


def step_part(group: Group, depth: int) -> tuple[list[list[float]], list[list[int]]]:
    """GiGPO's step advantage for states with ``depth`` equal states before them, and the trajectories of each group."""
    returns = [to_go(own, 0.95) for own in group]
    past = lambda i, t: tuple(turn.state for turn in group[i][max(0, t - depth) : t + 1])  # noqa: E731
    advantages, sizes = [], []
    for i, trajectory in enumerate(group):
        advantages.append([])
        sizes.append([])
        for t in range(len(trajectory)):
            own = [[returns[j][u] for u in range(len(group[j])) if past(j, u) == past(i, t)] for j in range(len(group))]
            means = [mean(values) for values in own if values]
            flat = max(max(v) for v in own if v) - min(min(v) for v in own if v) < 1e-9
            none = len(means) < 2 or flat or max(means) - min(means) < 1e-9
            advantages[-1].append(0.0 if none else (returns[i][t] - mean(means)) / stdev(means))
            sizes[-1].append(len(means))
    return advantages, sizes


def gigpo(group: Group) -> list[list[list[float]]]:
    episode, (step, _) = standard([total(own) for own in group]), step_part(group, 0)
    return each(group, [[episode[i] + a for a in own] for i, own in enumerate(step)])


def hgpo(group: Group) -> list[list[list[float]]]:
    episode, levels = standard([total(own) for own in group]), [step_part(group, k) for k in range(3)]
    result = []
    for i, trajectory in enumerate(group):
        result.append([])
        for t in range(len(trajectory)):
            used = [(k + 1, found[i][t]) for k, (found, sizes) in enumerate(levels) if sizes[i][t] > 1]
            weighted = sum(w * a for w, a in used) / sum(w for w, _ in used) if used else 0.0
            result[-1].append(episode[i] + weighted)
    return each(group, result)


def rtmc(group: Group) -> list[list[list[float]]]:
    returns, middle = [to_go(own, 1.0) for own in group], mean(total(own) for own in group)
    average = lambda cells: mean(mean(v) for v in cells if v)  # noqa: E731
    result = []
    for trajectory in group:
        result.append([])
        for turn in trajectory:
            here = [[(u, o) for u, o in enumerate(own) if o.state == turn.state] for own in group]
            met = [[returns[j][u] for u, _ in own] for j, own in enumerate(here)]
            done = [[returns[j][u] for u, o in own if o.action == turn.action] for j, own in enumerate(here)]
            n = sum(bool(v) for v in met)
            result[-1].append(average(done) - (n * average(met) + middle) / (n + 1))
    return each(group, result)


def didpo(group: Group) -> list[list[list[float]]]:
    """The published rule where anchors are plain to see: equal blocks of two trajectories or more."""
    result, returns = group_relative(group), [to_go(own, 0.95) for own in group]
    for block in {turn.block for own in group for turn in own} - {b""}:
        met = [[returns[i][t] for t, turn in enumerate(own) if turn.block == block] for i, own in enumerate(group)]
        means = [mean(values) for values in met if values]
        for i, own in enumerate(group):
            for t, turn in enumerate(own):
                if turn.block == block and len(means) > 1:
                    for k in range(1, len(turn.new) - 1):
                        result[i][t][k] += returns[i][t] - mean(means)
    return result


def tokens(trajectory: list[T]) -> list[float]:
    """The reward of every token."""
    return [
        (turn.reward if k == len(turn.new) - 1 else 0.0) - turn.penalty[k]
        for turn in trajectory
        for k in range(len(turn.new))
    ]


def reinforce_pp(groups: list[Group]) -> list:
    flat = [[sum(r[k:]) for k in range(len(r))] for group in groups for r in map(tokens, group)]
    return cut(groups, scale(flat))


def ppo(groups: list[Group]) -> list:
    """gamma = lambda = 1: what is still to come, less the value."""
    values = [[v for turn in own for v in turn.values] for group in groups for own in group]
    rewards = [tokens(own) for group in groups for own in group]
    flat = [[sum(r[k:]) - v[k] for k in range(len(r))] for r, v in zip(rewards, values, strict=True)]
    return cut(groups, scale(flat))


def scale(flat: list[list[float]]) -> list[list[float]]:
    every = [a for own in flat for a in own]
    return [[(a - mean(every)) / stdev(every) for a in own] for own in flat]


def cut(groups: list[Group], flat: list[list[float]]) -> list:
    rest = [iter(own) for own in flat]
    source = iter(rest)
    return [
        [[[next(own) for _ in turn.new] for turn in trajectory] for trajectory, own in _pairs(g, source)]
        for g in groups
    ]


def _pairs(group: Group, source):
    return [(trajectory, next(source)) for trajectory in group]


PER_GROUP = {
    "grpo": group_relative, "dapo": group_relative, "gspo": group_relative, "cispo": group_relative,
    "dr_grpo": without_division, "rloo": leave_one_out, "gigpo": gigpo, "hgpo": hgpo, "rtmc": rtmc,
    "didpo": didpo,
}  # fmt: skip
PER_STEP = {"reinforce_pp": reinforce_pp, "ppo": ppo}


def advantages(name: str, groups: list[Group]) -> list:
    """[group][trajectory][turn][token]."""
    return PER_STEP[name](groups) if name in PER_STEP else [PER_GROUP[name](group) for group in groups]


def coefficients(name: str, groups: list[Group], credit: list) -> list:
    """d loss / d log p of every token: [group][trajectory][turn][token]. A sequence is a trajectory."""
    agg, low, high, dual, beta = LOSSES[name]
    sequences = sum(len(group) for group in groups)
    every = sum(len(turn.new) for group in groups for own in group for turn in own)
    result = []
    for group, of_group in zip(groups, credit, strict=True):
        result.append([])
        for trajectory, of_trajectory in zip(group, of_group, strict=True):
            length = sum(len(turn.new) for turn in trajectory)
            weight = 1 / every if agg == "token" else 1 / sequences / (length if agg == "sequence" else agg)
            gaps = [n - o for turn in trajectory for n, o in zip(turn.new, turn.old, strict=True)]
            result[-1].append([])
            for turn, of_turn in zip(trajectory, of_trajectory, strict=True):
                slopes = []
                for n, o, q, a in zip(turn.new, turn.old, turn.ref, of_turn, strict=True):
                    r = math.exp(sum(gaps) / length if name == "gspo" else n - o)
                    if name == "cispo":
                        slope = min(max(r, 1 - low), 1 + high) * a
                    else:
                        clipped = (a > 0 and r > 1 + high) or (a < 0 and (r < 1 - low or r > dual))
                        slope = 0.0 if clipped else r * a
                    slopes.append(weight * (-slope + beta * (n - q)))
                result[-1][-1].append(slopes)
    return result
