"""The credit bench: its measures, its truth, its enumerable policy, and the whole of it in small."""

from __future__ import annotations

import contextlib
import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from algorithms.core.cli import load_algorithm
from algorithms.core.trajectory import Credit
from algorithms.credit_bench import bench, gradient, measure, quixbugs, truth
from algorithms.credit_bench.__main__ import main
from algorithms.credit_bench.policies import STRENGTHS, replies, tokens, trajectory
from codegym.diff import apply


def test_auc_and_spearman_of_known_values():
    good = np.array([True, True, False, False])
    assert measure.auc(np.array([3.0, 2, 1, 0]), good) == 1
    assert measure.auc(np.array([3.0, 1, 2, 0]), good) == 0.75
    assert measure.auc(np.zeros(4), good) == 0.5
    assert math.isnan(measure.auc(np.zeros(2), np.array([True, True])))
    assert measure.spearman(np.array([1.0, 2, 3]), np.array([10.0, 20, 15])) == pytest.approx(0.5)
    assert math.isnan(measure.spearman(np.ones(3), np.arange(3.0)))
    assert measure.ranks(np.array([5.0, 1, 5, 0.5 + 1e-13, 0.5])).tolist() == [4.5, 3, 4.5, 1.5, 1.5]


def test_wasted_credit():
    assert measure.wasted(np.array([1.0, -3, 0]), np.array([0.5, 0, 0])) == 0.75
    assert math.isnan(measure.wasted(np.zeros(2), np.zeros(2)))


def test_tokens_cover_the_reply():
    ends = tokens(b"abcdef = 12")
    assert ends.tolist() == [4, 6, 7, 8, 9, 11]


@pytest.fixture(scope="module")
def tiny():
    with contextlib.closing(benchmarks.load("repair", level="tiny", n_bugs=3, functions=4)) as made:
        yield made


def scripted(strength, count):
    return functools.partial(replies, policy=STRENGTHS[strength], count=count, seed=0)


def test_scripted_policies_write_what_their_chances_say(tiny):
    task = tiny.tasks("train")[0]
    always = type(STRENGTHS["weak"])(right=1.0, favourite=0.0, other=0.0, reword=0.0)
    (reply,) = set(replies(task, always, 3, seed=0))
    made = trajectory(task, reply, 0)
    assert apply(made.turns[0].diff, task.workspace)["m.py"].decode() == _fixed(task)
    never = type(always)(0.0, 0.0, 0.0, 0.0)
    assert replies(task, never, 1, seed=0) == ["<submit/>\n"]
    assert replies(task, STRENGTHS["weak"], 8, seed=1) == replies(task, STRENGTHS["weak"], 8, seed=1)


def _fixed(task):
    fixed = task.meta["fixed"]
    return fixed if isinstance(fixed, str) else fixed["m.py"].decode()


def test_the_truth_of_right_lines_is_positive_and_of_comments_zero(tiny):
    judge = truth.hidden_judge(tiny)
    (one,) = bench.scripted_cases(tiny.tasks("train")[1:2], judge, scripted("medium", 24))
    for own, values in zip(one.group, one.values, strict=True):
        start = judge.score(own.task_id, judge.base(own.task_id))
        assert values.sum() == pytest.approx(own.score - start)
    task = tiny.tasks("train")[1]
    fixed = {bug["fixed"].encode() for bug in task.meta["bugs"]}
    seen = set()
    for own, spans, values in zip(one.group, one.spans, one.values, strict=True):
        for span, value in zip(spans, values, strict=True):
            text = b"".join(own.turns[0].reply[slice(*part)] for part in span)
            if text in fixed:
                seen.add("right")
                assert value > 0
            if text.endswith(b"."):
                seen.add("comment")
                assert value == 0
    assert seen == {"right", "comment"}


def test_credit_by_shapley_values_is_right_and_grpo_s_less_so(tiny):
    judge = truth.hidden_judge(tiny)
    cases = list(bench.scripted_cases(tiny.tasks("train")[:3], judge, scripted("weak", 32)))
    methods = ["grpo", "didpo marginal", "didpo regression", "didpo shapley"]
    found = {row.method: row for row in bench.rows(cases, "weak", [16], methods, judge) if row.reward == "fractional"}
    assert found["didpo shapley"].auc == 1
    assert found["didpo shapley"].wasted == 0
    assert found["grpo"].auc < found["didpo marginal"].auc < 1
    assert found["didpo regression"].auc > 0.9


@pytest.fixture(scope="module")
def programs():
    path = Path(__file__).parents[3] / "shared" / "data" / "quixbugs"
    if not path.exists():
        pytest.skip(f"no QuixBugs at {path}")
    with contextlib.closing(benchmarks.load("quixbugs", path=path)) as made:
        yield made


def test_replies_to_every_quixbugs_program_apply_and_pack_several_changes(programs):
    tasks = quixbugs.tasks(programs, 99)
    assert len(tasks) > 20
    most = []
    for task in tasks:
        made = quixbugs.replies(task, 12, seed=0)
        assert made == quixbugs.replies(task, 12, seed=0)
        groups = [trajectory(task, reply, 0) for reply in made]  # raises where an edit does not fit
        most.append(max(sum(len(file.hunks) for file in own.turns[0].diff.files) for own in groups))
    assert np.mean(np.array(most) >= 3) > 0.8


def test_regions_tell_changes_of_one_function_apart(programs):
    (task,) = (task for task in quixbugs.tasks(programs, 99) if task.id == "quixbugs/find_in_sorted")
    judge = truth.hidden_judge(programs, comments=True)
    made = functools.partial(quixbugs.replies, count=16, seed=0)
    cases = list(bench.scripted_cases([task], judge, made, by_symbol=False))
    methods = ["didpo regression", "didpo regression of regions", "didpo shapley of regions"]
    found = {row.method: row.auc for row in bench.rows(cases, "", [16], methods, judge) if row.reward == "fractional"}
    assert found["didpo shapley of regions"] == 1
    assert found["didpo regression of regions"] > found["didpo regression"]


@pytest.mark.parametrize("reward", bench.REWARDS)
def test_the_true_gradient_is_the_derivative_of_the_expected_reward(reward):
    step, true = 1e-5, gradient.true_gradient(reward)

    def expected(edits, writes):
        right = np.exp(writes)[:, 0] / np.exp(writes).sum(1) / (1 + np.exp(-edits))
        return float(np.prod(right) if reward == "all-or-nothing" else right.mean())

    edits = np.log(gradient.EDIT / (1 - gradient.EDIT))
    writes = np.log(gradient.WRITE)
    for k in range(gradient.PLACES):
        for column in range(4):
            moved = [(edits.copy(), writes.copy()) for _ in range(2)]
            for sign, (a, b) in zip((1, -1), moved, strict=True):
                if column == 0:
                    a[k] += sign * step
                else:
                    b[k, column - 1] += sign * step
            slope = (expected(*moved[0]) - expected(*moved[1])) / (2 * step)
            assert true[k, column] == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("reward", bench.REWARDS)
def test_the_estimated_gradient_of_plain_returns_is_the_true_one(reward):
    def returns(groups):
        return [[[np.full(len(one.turns[0].response_ids), one.turns[0].reward)] for one in own] for own in groups]

    found = gradient.estimate(returns, size=8, groups=300, reward=reward)
    assert found.cosine > 0.98
    assert 0 < found.error < found.noise


def test_averaging_over_a_variant_changes_no_gradient_and_execution_makes_it_less_noisy():
    found = bench.gradients(["dr_grpo", "didpo marginal", "didpo shapley"], [8], groups=120)
    noise = {one.method: one.estimate.noise for one in found if one.reward == "fractional"}
    assert noise["didpo marginal"] == pytest.approx(noise["dr_grpo"], rel=0.1)
    assert noise["didpo shapley"] < 0.9 * noise["dr_grpo"]


def test_the_length_of_a_gradient_is_that_of_its_share_of_the_truth():
    (found,) = (one for one in bench.gradients(["dr_grpo"], [4], groups=1000) if one.reward == "fractional")
    assert found.estimate.length == pytest.approx(3 / 4, abs=4 * found.estimate.error)  # (G - 1) / G
    (found,) = (one for one in bench.gradients(["rloo"], [4], groups=1000) if one.reward == "fractional")
    assert found.estimate.length == pytest.approx(1, abs=4 * found.estimate.error)


def test_ppo_s_critic_foresees_a_task_s_mean(tiny):
    judge = truth.hidden_judge(tiny)
    cases = bench.split(list(bench.scripted_cases(tiny.tasks("train")[:2], judge, scripted("medium", 16))), 8)
    groups = [one.group for one in cases]
    truth.reward(groups, "fractional")
    found = [
        (own.task_id, own.episode_return, float(tokens[0]))
        for group, credit in zip(groups, bench.make("ppo")(groups), strict=True)
        for own, (tokens,) in zip(group, credit.advantages, strict=True)
    ]
    means = {task: np.mean([r for own, r, _ in found if own == task]) for task, _, _ in found}
    assert len(means) == 2
    left, given = np.array([r - means[task] for task, r, _ in found]), np.array([a for *_, a in found])
    slope, start = np.polyfit(left, given, 1)  # whitened: shifted and scaled, all tokens of the step alike
    assert slope > 0
    np.testing.assert_allclose(given, slope * left + start, atol=1e-5)


@pytest.mark.parametrize("name", ["dapo", "gspo", "cispo"])
def test_methods_that_are_left_out_have_grpo_s_credit(name, tiny):
    (one,) = bench.scripted_cases(tiny.tasks("train")[:1], truth.hidden_judge(tiny), scripted("medium", 8))
    truth.reward([one.group], "fractional")
    method = load_algorithm(name)
    found, grpo = method(method.Config()).credit(one.group), bench.make("grpo")([one.group])[0]
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(found.advantages, grpo.advantages, strict=True))


def test_a_method_that_compares_all_groups_of_a_step_gets_them_at_once(monkeypatch):
    class Whole:
        Config = dict

        def __init__(self, config):
            pass

        def credit_step(self, groups):
            return [Credit([]) for _ in groups]

    monkeypatch.setattr(bench, "load_algorithm", lambda name: Whole)
    assert len(bench.make("grpo")([[], []])) == 2


def test_the_bench_writes_its_figures(tmp_path, capsys):
    small = ["--tasks", "1", "--bugs", "2", "--functions", "3", "--replies", "8", "--sizes", "4,8"]
    options = [
        *small,
        "--methods",
        "grpo;ppo;didpo marginal",
        "--gradient-groups",
        "9",
        "--quixbugs",
        str(tmp_path / "no"),
    ]
    assert main([*options, "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert "didpo marginal" in told.out
    said = told.err.splitlines()
    assert [line for line in said if line.startswith("measuring")] == [
        f"measuring {what}" for what in ("weak", "medium", "strong", "quixbugs", "the gradient")
    ]
    assert any(line.startswith("quixbugs is left out: the data of quixbugs is not at") for line in said)
    data = json.loads((tmp_path / "credit.json").read_text())
    assert {row["method"] for row in data["rows"]} == {"grpo", "ppo", "didpo marginal"}
    assert {(one["method"], one["size"]) for one in data["gradients"]} == {
        (method, size) for method in ("grpo", "ppo", "didpo marginal") for size in (4, 8)
    }
    every = (tmp_path / "complete.md").read_text()
    assert every in told.out
    assert all(f"| didpo marginal | fractional | {size} |" in every for size in (4, 8))
    assert every.count("| grpo |") == len([row for row in data["rows"] if row["method"] == "grpo"]) + 4
    assert (tmp_path / "credit.svg").read_text().startswith("<?xml")
    capsys.readouterr()
    assert main([*small, "--policies", "best", "--out", str(tmp_path)]) == 2
    assert (
        capsys.readouterr().err == "error: --policies: there is no 'best'; there are: weak, medium, strong, quixbugs\n"
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sizes", "a"], "--sizes: 'a' is no list of whole numbers; write them as 4,8,16"),
        (["--sizes", "1"], "--sizes: a group has from 2 to --replies=128 members, not 1"),
        (["--sizes", "4,8", "--replies", "4"], "--sizes: a group has from 2 to --replies=4 members, not 8"),
        (["--tasks", "0"], "--tasks=0 must be at least 1"),
        (["--gradient-groups", "0"], "--gradient-groups=0 must be at least 1"),
        (["--policies", ""], "--policies: none is left; name one, or give a --checkpoint"),
        (["--methods", "none"], "no method named 'none'; there are: grpo; "),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_runs(tmp_path, capsys, options, says):
    assert main([*options, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {says}")
