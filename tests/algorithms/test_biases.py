"""The biases that docstrings put in numbers: expected gradients, enumerated over all groups of a small policy."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from algorithms.didpo.estimators import marginal, place, regression
from algorithms.grpo.algorithm import Grpo, GrpoConfig
from algorithms.ppo.algorithm import Ppo, PpoConfig
from algorithms.reinforce_pp.algorithm import ReinforcePp, ReinforcePpConfig
from tests.algorithms.groups_for_tests import trajectory, turn
from tests.known_answers.test_advantages import EPISODES, STOP, probability, score, true_gradient


def groups(kinds, chances, size):
    """Every group of ``size`` from ``kinds``, up to order, with its chance."""
    for picked in itertools.combinations_with_replacement(range(len(kinds)), size):
        ways = math.factorial(size)
        for count in Counter(picked).values():
            ways //= math.factorial(count)
        yield [kinds[k] for k in picked], ways * math.prod(chances[k] for k in picked)


def one_token(reward, state, value):
    made = turn(reward=reward, state=state)
    made.response_ids, made.token_ends = np.arange(1), np.array([len(made.reply)])
    made.values = np.array([value], dtype=np.float32)
    return made


def stopping(size, advantages, values=(0.0, 0.0)):
    """The expected gradient of A14's policy, [2]: one logit for stopping at each turn."""
    total = np.zeros(2)
    for group, chance in groups(EPISODES, [probability(actions) for actions, _ in EPISODES], size):
        made = [
            trajectory(i, [one_token(r, str(t), values[t]) for t, r in enumerate(rewards)])
            for i, (_, rewards) in enumerate(group)
        ]
        for (actions, _), own in zip(group, advantages(made), strict=True):
            for t in range(len(actions)):
                total[t] += chance * own[t] * score(actions, t) / size
    return total


def reinforce_pp(group):
    """Without the scale: the mean of the step, here of one group, is over all of its tokens."""
    to_go = ReinforcePp(ReinforcePpConfig())._returns(group)
    return [own - np.concatenate(to_go).mean() for own in to_go]


def process(group):
    """Without the scale."""
    credit = Grpo(GrpoConfig(std=False, reward="process")).credit(group)
    return [[float(tokens[0]) for tokens in own] for own in credit.advantages]


def ppo(lam):
    def advantages(group):
        credit = Ppo(PpoConfig(lam=lam, whiten=False)).credit(group)
        return [[float(tokens[0]) for tokens in own] for own in credit.advantages]

    return advantages


def test_reinforce_pp_counts_tokens_in_the_mean_of_a_step():
    for size, shares in ((3, (0.7310, 0.6237)), (6, (0.8755, 0.8076)), (24, (0.9706, 0.9512))):
        assert stopping(size, reinforce_pp) / true_gradient() == pytest.approx(shares, abs=1e-4)


def test_process_rewards_of_grpo_add_the_number_of_turns():
    more_turns = np.array([-STOP[0] * (1 - STOP[0]), 0.0])  # the gradient of their expected number, 1 + P(go on)
    mean_reward = sum(probability(a) * sum(r) for a, r in EPISODES) / (1 + (1 - STOP[0]))
    added = -mean_reward * more_turns
    assert added == pytest.approx([0.1927, 0], abs=1e-4)
    for size, besides in ((3, (-0.0066, 0.0632)), (6, (-0.0031, 0.0323)), (12, (-0.0015, 0.0163))):
        assert stopping(size, process) - true_gradient() - added == pytest.approx(besides, abs=1e-4)


@pytest.mark.parametrize("values", [(0.0, 0.0), (2.0, 0.5), (1.0, 2.0)])
def test_ppo_is_off_by_the_critic_s_error_as_far_as_lambda_lets_it(values):
    reached = 1.8  # what is still to come on average at the second turn
    for lam in (1.0, 0.9, 0.5):
        off = (1 - lam) * (values[1] - reached) * -STOP[0] * (1 - STOP[0])
        assert stopping(1, ppo(lam), values) - true_gradient() == pytest.approx([off, 0], abs=1e-7)


#: At one place a line is left alone, written right or wrong; at another right or not. Independent, one logit a choice.
FIRST, SECOND = np.array([0.3, 0.45, 0.25]), np.array([0.5, 0.5])
CHOICES = list(itertools.product(range(3), range(2)))
CHANCES = [float(FIRST[a] * SECOND[b]) for a, b in CHOICES]
PAYS = {"adds up": lambda a, b: ((a == 1) + (b == 1)) / 2, "all or nothing": lambda a, b: float(a == b == 1)}
ESTIMATES = {
    "place": lambda a, b, returns: place.advantages(returns),
    "marginal": lambda a, b, returns: marginal.advantages(a, returns),
}


@pytest.mark.parametrize(
    ("estimator", "pays", "small", "large", "turned"),
    [
        ("place", "adds up", 0.75, 0.875, 0), ("place", "all or nothing", 0.75, 0.875, 0),
        ("marginal", "adds up", 0.459, 0.646, 0.03), ("marginal", "all or nothing", 0.459, 0.646, 0.03),
    ],
)  # fmt: skip
def test_estimators_from_rollouts_shorten_the_gradient_of_content_and_keep_its_direction(
    estimator, pays, small, large, turned
):
    unit = np.eye(3) - FIRST  # the gradients of log p of the three choices
    true = sum(chance * PAYS[pays](a, b) * unit[a] for (a, b), chance in zip(CHOICES, CHANCES, strict=True))
    for size, share in ((4, small), (8, large)):
        found = np.zeros(3)
        for group, chance in groups(CHOICES, CHANCES, size):
            a, b = np.array(group).T
            values = ESTIMATES[estimator](a, b, np.array([PAYS[pays](*choice) for choice in group]))
            found += chance * values @ unit[a] / size
        assert np.linalg.norm(found) / np.linalg.norm(true) == pytest.approx(share, abs=2e-3)
        assert np.ptp(found / true) / share <= turned + 0.01


#: At one place a line is left alone, or written right, half right or wrong; at another right or not.
LINES = np.array([0.3, 0.35, 0.2, 0.15])
BESIDE = list(itertools.product(range(4), range(2)))
LINES_PAY = {
    "adds up": lambda a, b: ((0, 1, 0.4, 0)[a] + (b == 1)) / 2,
    "all or nothing": lambda a, b: float(a == b == 1),
}


@pytest.mark.parametrize(
    ("pays", "shares", "centred"),
    [("adds up", (0.567, 0.887), (0.452, 0.772)), ("all or nothing", (0.459, 0.662), (0.386, 0.572))],
)
def test_regression_shortens_the_gradient_of_what_is_written_and_keeps_its_direction(pays, shares, centred):
    written = LINES[1:] / LINES[1:].sum()
    unit = np.vstack([np.zeros(3), np.eye(3) - written])  # the gradients of log p of the line, where one is written
    chances = [float(LINES[a] * SECOND[b]) for a, b in BESIDE]
    true = sum(chance * LINES_PAY[pays](a, b) * unit[a] for (a, b), chance in zip(BESIDE, chances, strict=True))
    for size, share, less_the_mean in zip((4, 8), shares, centred, strict=True):
        found = np.zeros((2, 3))
        for group, chance in groups(BESIDE, chances, size):
            a, b = np.array(group).T
            places = [(np.arange(size), a), (np.arange(size), b)]
            values = regression.advantages(places, np.array([LINES_PAY[pays](*choice) for choice in group]))[0]
            found += chance / size * np.array([values, values - values.mean()]) @ unit[a]
        lengths = np.linalg.norm(found, axis=1)
        assert lengths / np.linalg.norm(true) == pytest.approx((share, less_the_mean), abs=1e-3)
        assert (found @ true / lengths / np.linalg.norm(true) > 0.999).all()
