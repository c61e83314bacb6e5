"""pass@k, Wilson's interval and the report, by known answers."""

from __future__ import annotations

import itertools
import math

import pytest

from codegym.report import Report, Row, pass_at_k, wilson


def row(task, attempt=0, resolved=False, infra=None, **other):
    values = {"score": float(resolved), "reward": 0.0, "turns": 2, "invalid": 1, "seconds": 0.0, "patch": ""} | other
    return Row(task, attempt, f"t/{task}", resolved, stop_reason="submitted", infra_error=infra, **values)


@pytest.mark.parametrize(("n", "c"), [(n, c) for n in range(1, 7) for c in range(n + 1)])
def test_pass_at_k_is_the_share_of_draws_with_a_success(n, c):
    attempts = [True] * c + [False] * (n - c)
    for k in range(1, n + 1):
        draws = list(itertools.combinations(attempts, k))
        assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))


@pytest.mark.parametrize("bad", [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)])
def test_pass_at_k_refuses(bad):
    with pytest.raises(ValueError, match="needs 0 <= c <= n"):
        pass_at_k(*bad)


def test_wilson_known_answers():
    # Newcombe 1998, table I (method 3): 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for hits, n, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        assert wilson(hits / n, n) == pytest.approx((low, high), abs=5e-5)
    assert wilson(1.0, 10)[1] == pytest.approx(1.0)
    assert wilson(0.0, 20)[0] == pytest.approx(0.0)
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_report_averages_tasks_and_leaves_infra_errors_out():
    rows = [row(0, 0, True), row(0, 1, False), row(1, 0, False), row(1, 1, False), row(2, 0, infra="no image")]
    report = Report("e", "test", tuple(rows))
    assert report.outcomes == [(2, 1), (2, 0)]
    assert report.infra_errors == 1
    assert report.pass_at(1) == 0.25
    assert report.pass_at(2) == 0.5
    assert math.isnan(report.pass_at(3))
    assert report.interval == wilson(0.25, 2)  # two tasks, whatever the attempts
    table = report.table()
    for part in (
        "2 tasks, 4 episodes",
        "25.0 %",
        "pass@2",
        "invalid actions  4 of 8",
        "infra errors     1",
        "no image",
    ):
        assert part in table


def test_report_without_a_valid_row():
    table = Report("e", "test", (row(0, infra="gone"),)).table()
    assert "0 tasks, 0 episodes" in table
    assert "gone" in table
