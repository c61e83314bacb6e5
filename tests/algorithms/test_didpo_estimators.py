"""What a change is worth: places and variants, each estimator's known answers and properties, tokens, execution."""

from __future__ import annotations

import itertools
import math
import random

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.core.cli import resolve
from algorithms.core.trajectory import Trajectory
from algorithms.credit_bench.policies import trajectory as replied
from algorithms.didpo import ALGORITHM
from algorithms.didpo.estimators import counterfactual, marginal, place, regression, shapley
from algorithms.didpo.judge import Judge
from algorithms.didpo.places import places_of
from algorithms.didpo.project import tokens_of
from algorithms.didpo.worth import BY_EXECUTION, FROM_ROLLOUTS, worth
from benchmarks.base import Task, reference
from codegym.actions.base import Action, Replace, Text
from codegym.actions.xml import Xml
from codegym.diff import apply
from tests.algorithms.environment_for_tests import ENV

FILE = "".join(f"def f{k}(x):\n    return x // {k + 2}\n\n" for k in range(3))
TASK = Task("task", "", "", "python", {"m.py": FILE.encode()}, (), ())


def write(member, reward, lines, **more):
    """A trajectory that writes ``lines[k]`` in function k, and in the texts given by keyword."""
    edits = [(f"x // {k + 2}", line) for k, line in lines.items()] + list(more.items())
    action = Action("edit", tuple(Replace("m.py", Text(old.encode()), Text(new.encode())) for old, new in edits))
    made = replied(TASK, Xml().render(action if edits else Action("submit")), member)
    made.turns[0].reward = reward
    return made


def test_places_are_definitions_and_unchanged_is_a_variant():
    group = [write(0, 1, {0: "x+2", 1: "x"}), write(1, 0, {0: "x + 2"}), write(2, 0, {0: "x - 2"}), write(3, 0, {})]
    first, second = places_of(group)
    assert (first.key, second.key) == (("m.py", "f0"), ("m.py", "f1"))
    assert [visit.variant for visit in first.visits] == [1, 1, 2, 0]
    assert [visit.variant for visit in second.visits] == [1, 0, 0, 0]
    reply = group[0].turns[0].reply
    assert [reply[slice(*span)] for span in first.visits[0].spans] == [b"x+2"]
    assert first.visits[3].spans == ()


def test_text_outside_of_definitions_is_a_place_by_its_region():
    group = [write(k, 0, {}, **{"def f1(x):": f"A = {k}\n\ndef f1(x):"}) for k in range(2)]
    (own,) = places_of(group)
    assert [visit.variant for visit in own.visits] == [1, 2]


def test_later_turns_are_compared_only_where_the_place_reads_the_same():
    def two_turns(member, first, second):
        made = write(member, 0, {0: first})
        files = {"m.py": FILE.replace("x // 2", first).encode()}
        action = Action("edit", (Replace("m.py", Text(first.encode()), Text(second.encode())),))
        later = replied(Task("task", "", "", "python", files, (), ()), Xml().render(action), member).turns[0]
        later.state_before = first
        return Trajectory("task", member, [*made.turns, later])

    group = [two_turns(0, "x + 2", "x"), two_turns(1, "x + 2", "x * 5"), two_turns(2, "x - 2", "x")]
    assert [(own.turn, [visit.member for visit in own.visits]) for own in places_of(group)] == [
        (0, [0, 1, 2]),
        (1, [0, 1]),
        (1, [2]),
    ]


def walk(member, text, *edits):
    """A trajectory whose turns replace ``old`` by ``new`` one after the other; ``text`` is the file it begins with."""
    made, files = [], {"m.py": text.encode()}
    for old, new in edits:
        action = Action("edit", (Replace("m.py", Text(old.encode()), Text(new.encode())),))
        turn = replied(Task("task", "", "", "python", files, (), ()), Xml().render(action), member).turns[0]
        turn.state_before = files["m.py"].decode()
        made, files = [*made, turn], apply(turn.diff, files)
    return Trajectory("task", member, made)


def test_equal_text_at_another_point_of_a_place_is_another_variant_on_every_turn():
    text, twice = "def g(y):\n    pass\n\n\ndef f(x):\n    return x\n", "    x += 1\n    x += 1\n    return x\n"
    ends = twice.replace("1", "2", 1), "2".join(twice.rsplit("1", 1))
    group = [
        walk(k, text, ("pass", f"y = {10**k}"), ("    return x\n", twice), ("(y)", f"(y={k})"), (twice, ends[k % 2]))
        for k in range(4)
    ]
    last = [own for own in places_of(group) if own.turn == 3]
    assert [(own.key[1], [visit.variant for visit in own.visits]) for own in last] == [("f", [1, 2, 1, 2])]
    # Alike before all turns, they are the same variants.
    group = [walk(k, text, ("    return x\n", twice), (twice, ends[k % 2])) for k in range(4)]
    assert [visit.variant for visit in places_of(group)[-1].visits] == [1, 2, 1, 2]


def test_place_is_the_return_against_the_place():
    assert place.advantages(np.array([1.0, 0, 0, 0])).tolist() == [0.75, -0.25, -0.25, -0.25]


def test_marginal_known_answers():
    variants, returns = np.array([1, 1, 2, 0]), np.array([1.0, 0.5, 0.0, 0.1])
    mean = 0.4
    shrunk = marginal.advantages(variants, returns)
    assert shrunk == pytest.approx([0.7 / 3, 0.7 / 3, -mean / 2, -0.3 / 2])


def ridge_by_hand(places, returns, ridge):
    columns, owners = [], []
    for number, (rows, variants) in enumerate(places):
        for variant in np.unique(variants[variants > 0]):
            column = np.zeros(len(returns))
            column[rows] = variants == variant
            columns.append(column - column.mean())
            owners.append((number, variant))
        if len(rows) < len(returns):
            column = np.ones(len(returns))
            column[rows] = 0
            columns.append(column - column.mean())
            owners.append((number, None))
    x = np.array(columns).T.reshape(len(returns), len(columns))
    beta = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ (returns - returns.mean()))
    effects = dict(zip(owners, beta, strict=True))
    return [[effects.get((n, variant), 0.0) for variant in variants] for n, (_, variants) in enumerate(places)]


@given(st.integers(0, 10_000), st.sampled_from([0.25, 1.0, 4.0]))
@settings(max_examples=60, deadline=None)
def test_regression_equals_the_normal_equations(seed, ridge):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 12))
    returns = rng.random(size)
    places = []
    for _ in range(int(rng.integers(1, 4))):
        rows = np.sort(rng.choice(size, int(rng.integers(2, size + 1)), replace=False))
        places.append((rows, rng.integers(0, 3, len(rows))))
    wanted = ridge_by_hand(places, returns, ridge)
    for own, expected in zip(regression.advantages(places, returns, ridge), wanted, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-9)


def test_the_chosen_ridge_foresees_best_when_a_row_is_left_out():
    rng = np.random.default_rng(1)
    rows, returns = np.arange(10), rng.random(10)
    places = [(rows, rng.integers(0, 2, 10)) for _ in range(2)]

    def error(ridge):
        total = 0.0
        x = np.array([variants for _, variants in places]).T
        for k in range(10):
            left = np.delete(np.arange(10), k)
            design = np.concatenate([np.ones((9, 1)), x[left]], axis=1)
            penalty = np.diag([0.0] + [ridge] * x.shape[1])
            beta = np.linalg.solve(design.T @ design + penalty, design.T @ returns[left])
            total += (returns[k] - beta[0] - x[k] @ beta[1:]) ** 2
        return total

    best = min(regression.RIDGES, key=error)
    chosen, wanted = regression.advantages(places, returns), regression.advantages(places, returns, best)
    np.testing.assert_allclose(chosen[0], wanted[0])


def test_regression_says_what_is_gained_against_leaving_alone():
    rows, returns = np.arange(9), np.array([0.0, 0, 0, 0.5, 0.5, 0.5, 1, 1, 1])
    alone, half, right = (
        regression.advantages([(rows, np.repeat([0, 1, 2], 3))], returns, 1e-9)[0][k] for k in (0, 3, 6)
    )
    assert (alone, half, right) == pytest.approx((0, 0.5, 1), abs=1e-6)
    # Where nobody left it alone, effects are those against each other.
    values = regression.advantages([(rows, np.repeat([1, 2, 3], 3))], returns, 1e-9)[0]
    assert values == pytest.approx(returns - 0.5, abs=1e-6)


def test_regression_tells_effects_apart_that_come_together():
    # The right line at place 0 comes mostly with the right one at place 1; only place 0 matters.
    a = np.array([1, 1, 1, 1, 0, 0, 0, 0])
    b = np.array([1, 1, 1, 0, 1, 0, 0, 0])
    rows, returns = np.arange(8), a.astype(float)
    first, second = regression.advantages([(rows, a), (rows, b)], returns, 0.25)
    assert abs(second[0]) < 0.1 * first[0]
    assert marginal.advantages(b, returns)[0] == pytest.approx(0.25 * 4 / 5)


@pytest.mark.parametrize("estimator", FROM_ROLLOUTS)
@given(st.data())
@settings(max_examples=30, deadline=None)
def test_estimates_from_rollouts_scale_with_the_returns_and_have_a_zero(estimator, data):
    lines = st.dictionaries(st.integers(0, 2), st.sampled_from(["x + 2", "x * 3", "x - 4"]))
    size = data.draw(st.integers(2, 7))
    written = [data.draw(lines) for _ in range(size)]
    rewards = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=size, max_size=size))
    found = worth([write(k, r, w) for k, (r, w) in enumerate(zip(rewards, written, strict=True))], estimator, 1.0)
    scaled = worth(
        [write(k, 2 * r + 3, w) for k, (r, w) in enumerate(zip(rewards, written, strict=True))], estimator, 1.0
    )
    shuffled_order = list(reversed(range(size)))
    shuffled = worth([write(k, rewards[k], written[k]) for k in shuffled_order], estimator, 1.0)
    for (own, values), (_, twice), (_, other) in zip(found, scaled, shuffled, strict=True):
        if estimator == "place":
            assert abs(values.sum()) < 1e-9
        if estimator == "regression":
            assert not values[[visit.variant == 0 for visit in own.visits]].any()
        np.testing.assert_allclose(twice, 2 * values, atol=1e-9)
        np.testing.assert_allclose(other[::-1], values, atol=1e-9)
        if estimator != "place":
            for variant in {visit.variant for visit in own.visits}:
                same = [v for visit, v in zip(own.visits, values, strict=True) if visit.variant == variant]
                assert np.ptp(same) < 1e-9


def brute_force_shapley(count, value):
    phi = np.zeros(count)
    for order in itertools.permutations(range(count)):
        done = frozenset()
        for k in order:
            phi[k] += value(done | {k}) - value(done)
            done = done | {k}
    return phi / math.factorial(count)


def test_shapley_values_equal_brute_force_on_200_cases():
    rng = random.Random(0)
    for case in range(200):
        count = 1 + case % 6
        table = {}
        value = lambda made, table=table: table.setdefault(made, rng.random())  # noqa: E731
        np.testing.assert_allclose(shapley.exact(count, value), brute_force_shapley(count, value), atol=1e-12)
    assert shapley.exact(0, lambda made: 0.0).tolist() == []


def test_sampled_shapley_values_share_out_everything_and_come_close():
    rng = random.Random(3)
    table: dict[frozenset[int], float] = {}
    value = lambda made: table.setdefault(made, rng.random())  # noqa: E731
    exact = shapley.exact(6, value)
    found = shapley.sampled(6, value, orders=2000, seed=1)
    assert found.sum() == pytest.approx(value(frozenset(range(6))) - value(frozenset()))
    assert np.abs(found - exact).max() < 0.02
    assert found.tolist() == shapley.sampled(6, value, orders=2000, seed=1).tolist()


def test_counterfactual_is_what_reverting_costs():
    value = lambda made: float({0, 1} <= made) + 0.5 * (2 in made)  # noqa: E731
    assert counterfactual.values(3, value).tolist() == [1, 1, 0.5]
    assert shapley.exact(3, value).tolist() == [0.5, 0.5, 0.5]


def judge(budget=1000):
    """A third of the score per function that adds its number, as executed text says."""

    def evaluate(task_id, files):
        text = files["m.py"].decode()
        return sum(f"x + {k + 2}" in text for k in range(3)) / 3

    return Judge(lambda task_id: TASK.workspace, evaluate, budget)


def test_execution_runs_each_workspace_once_and_stops_at_its_budget():
    group = [write(0, 1, {0: "x + 2", 1: "x"}), write(1, 0, {0: "x + 2", 1: "x"}), write(2, 0, {2: "x + 4"})]
    budget = 4096
    one = judge(budget=budget)
    found = {own.key[1]: values.tolist() for own, values in worth(group, "shapley", 1.0, one)}
    assert found["f0"] == pytest.approx([1 / 3, 1 / 3, 0])
    assert found["f1"] == pytest.approx([0, 0, 0])
    assert found["f2"] == pytest.approx([0, 0, 1 / 3])
    assert budget - one.left == 5  # nothing, f0, f1, both; f2
    poor = judge(budget=4)
    assert [values.tolist() for _, values in worth(group, "shapley", 1.0, poor)][-1] == [0, 0, 0]
    for budget, unknown in ((5, 0), (4, 1), (0, 3)):
        algorithm = ALGORITHM(ALGORITHM.Config(estimator="shapley"), judge=judge(budget))
        assert algorithm.credit(group).metrics["credit/unknown"] == unknown / 3


def test_execution_replays_the_turns_before():
    first = write(0, 0, {0: "x + 2"})
    files = {"m.py": FILE.replace("x // 2", "x + 2").encode()}
    edits = tuple(Replace("m.py", Text(a.encode()), Text(b.encode())) for a, b in (("x + 2", "x"), ("x // 3", "x + 3")))
    later = replied(Task("task", "", "", "python", files, (), ()), Xml().render(Action("edit", edits)), 0).turns[0]
    group = [Trajectory("task", 0, [*first.turns, later])]
    found = [(own.turn, own.key[1], values.tolist()) for own, values in worth(group, "counterfactual", 1.0, judge())]
    assert found == [
        (0, "f0", [pytest.approx(1 / 3)]),
        (1, "f0", [pytest.approx(-1 / 3)]),
        (1, "f1", [pytest.approx(1 / 3)]),
    ]


@pytest.mark.parametrize("estimator", [*FROM_ROLLOUTS, *BY_EXECUTION])
@pytest.mark.parametrize("content", ["auto", "sum"])
def test_content_gets_the_change_s_worth_and_all_else_the_episode_s(estimator, content):
    group = [write(0, 1, {0: "x + 2", 1: "x"}), write(1, 0, {0: "x - 2"}), write(2, 0.5, {0: "x + 2"}), write(3, 0, {})]
    config = ALGORITHM.Config(estimator=estimator, content=content, lam=2.0)
    result = ALGORITHM(config, judge=judge()).credit(group)
    returns = np.array([1, 0, 0.5, 0])
    episode = (returns - returns.mean()) / returns.std(ddof=1)
    expected = [np.full(len(own.turns[0].response_ids), episode[i]) for i, own in enumerate(group)]
    found = worth(group, estimator, config.gamma, judge())
    gained = np.array(
        [
            sum(values[own.visits.index(v)] for own, values in found for v in own.visits if v.member == i)
            for i in range(4)
        ]
    )
    unit = (gained if estimator in BY_EXECUTION else returns).std(ddof=1)
    for own, values in found:
        for visit, value in zip(own.visits, values, strict=True):
            for span in visit.spans:
                first, last = tokens_of(span, group[visit.member].turns[0].token_ends)
                assert last > first
                kept = episode[visit.member] if content == "sum" or estimator == "regression" else 0
                expected[visit.member][first:last] = kept + 2 * value / unit
    for tokens, (found,) in zip(expected, result.advantages, strict=True):
        np.testing.assert_allclose(found, tokens, atol=1e-6)
    reply = group[0].turns[0].reply
    head = group[0].turns[0].token_ends.searchsorted(reply.index(b"x // 2") + 1)
    assert result.advantages[0][0][head] == pytest.approx(episode[0], abs=1e-6)
    assert result.anchors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "regression", "eta": 0.5}, r"algorithm\.eta=0\.5 does nothing .*=regression; it is for within"),
        ({"estimator": "place", "diff_std": True}, r"algorithm\.diff_std=True does nothing"),
        ({"estimator": "marginal", "judge_budget": 3}, r"algorithm\.judge_budget=3 .* for counterfactual, shapley"),
        ({"estimator": "within", "center": True}, r"algorithm\.center=True does nothing .*=within"),
        (
            {"estimator": "place", "center": True},
            r"does nothing .*=place; it is for regression, counterfactual, shapley",
        ),
        ({"judge": "nonsense"}, r"algorithm\.judge=nonsense does nothing"),
        ({"estimator": "shapley", "gamma": 0.5}, r"algorithm\.gamma=0\.5 does nothing"),
    ],
)
def test_options_that_an_estimator_does_not_read_are_refused(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        ALGORITHM.Config(**options)
    assert "\n" not in str(caught.value)


def judge_settings(*more):
    return resolve(ALGORITHM, ["algorithm.estimator=shapley", "trainer.run_dir=runs/none", *more])


@pytest.mark.parametrize("own", [[], ["algorithm.judge=codegym/Repair-v0", "env.kwargs.verdict=score"]])
def test_the_judge_of_a_run_runs_the_hidden_tests_of_its_tasks(own):
    config = judge_settings(*own)
    algorithm = ALGORITHM(config.algorithm)
    algorithm.prepare(config)
    task = gymnasium.make(config.env.id, **config.env.kwargs).unwrapped.benchmark.tasks("train")[3]
    assert algorithm.judge.base(task.id) == task.workspace
    assert algorithm.judge.score(task.id, task.workspace) < 1 == algorithm.judge.score(task.id, reference(task))
    assert algorithm.judge.left == config.algorithm.judge_budget - 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["algorithm.judge=codegym/Nonsense-v0"], r"algorithm\.judge=codegym/Nonsense-v0: "),
        (
            ["algorithm.judge=codegym/HumanEval-v0"],
            r"algorithm\.judge=codegym/HumanEval-v0 knows no task 'tiny/.* leave",
        ),
        ([f"env.id={ENV}"], r"env\.id=.*Small-v0 has no hidden tests to run"),
    ],
)
def test_a_judge_that_does_not_know_the_tasks_is_refused_before_a_run(settings, message):
    config = judge_settings(*settings)
    with pytest.raises(ValueError, match=message) as caught:
        ALGORITHM(config.algorithm).prepare(config)
    assert "\n" not in str(caught.value)


def test_unknown_estimators_are_named():
    with pytest.raises(ValueError, match=r"algorithm\.estimator"):
        ALGORITHM.Config(estimator="oracle")
