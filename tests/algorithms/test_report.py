"""What a person sees of a run: coloured replies, the page, the table, TensorBoard."""

from __future__ import annotations

import html
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console as RichConsole

from algorithms.core.trainer import Trainer
from algorithms.report import observers
from algorithms.report.console import Console, closing_table
from algorithms.report.html import coloured, write_report
from tests.algorithms.training_for_tests import Relative, make_config, make_model


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    config = make_config(
        make_model(folder / "model"), folder / "run", trainer__logger=["tensorboard"], trainer__report=True
    )
    Trainer(config, Relative(), observers(config)).run()
    return folder / "run"


def pieces(text: str) -> list[tuple[str, float]]:
    """(text, advantage) of the spans of a coloured reply."""
    found = re.findall(r"<span style='[^']*' title='([^']*)'>(.*?)</span>", text, re.DOTALL)
    return [(html.unescape(part), float(value)) for value, part in found]


def test_every_byte_of_a_reply_has_its_tokens_advantage() -> None:
    turn = {"reply": "ab<é>", "token_ends": [1, 3, 5, 6], "advantages": [0.5, -1.0, 0.0, 0.25]}
    shown = pieces(coloured(turn, [], 1.0))
    assert shown == [("a", 0.5), ("b<", -1.0), ("é", 0.0), (">", 0.25)]
    assert "".join(part for part, _ in shown) == turn["reply"]


def test_anchors_are_outlined_where_they_are_even_inside_a_token() -> None:
    turn = {"reply": "abcdef", "token_ends": [3, 6], "advantages": [1.0, -1.0]}
    text = coloured(turn, [(2, 5, "anchor-one", 0.7)], 1.0)
    inside = re.search(r"<b class=anchor title='anchor anchor-o, advantage \+0.700'>(.*?)</b>", text)
    assert inside is not None
    assert pieces(inside[1]) == [("c", 1.0), ("de", -1.0)]
    assert [part for part, _ in pieces(text)] == ["ab", "c", "de", "f"]


def test_page_holds_the_run_and_needs_nothing_else(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)
    evaluations = [json.loads(line) for line in (run / "eval.jsonl").read_text().splitlines()]
    for row in evaluations:
        assert f"<td>{row['step']}<td>sampled<td>{row['sampled/success']:.1%}" in page
    first = json.loads((run / "trajectories" / "step_000001.jsonl").read_text().splitlines()[0])
    best = max(first["trajectories"], key=lambda member: member["return"])
    assert html.escape(best["turns"][0]["observation"]) in page
    assert page.count("<svg") == 2
    assert page.count(" open>") == 1


def test_page_can_be_written_again_and_only_from_a_run(run: Path, tmp_path: Path) -> None:
    before = (run / "report.html").read_bytes()
    assert write_report(run).read_bytes() == before
    with pytest.raises(FileNotFoundError, match="no run folder"):
        write_report(tmp_path)


def test_tensorboard_has_the_metrics_of_every_step(run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for key in ("reward/mean", "grad_norm"):
        written = [(event.step, event.value) for event in events.Scalars(key)]
        assert written == [(row["step"], pytest.approx(row[key], rel=1e-6)) for row in rows]


@pytest.mark.parametrize("terminal", [False, True])
def test_console_tells_every_step_and_closes_with_both_evaluations(terminal: bool, run: Path, tmp_path: Path) -> None:
    output = io.StringIO()
    console = Console(RichConsole(file=output, force_terminal=terminal, width=160, highlight=False))
    config = make_config(run.parent / "model", tmp_path / "run", trainer__steps=3)
    Trainer(config, Relative(), [console]).run()
    text = output.getvalue()
    assert "held-out success (95 % interval)" in text
    assert "sampled" in text.split("interval)")[1]
    assert "greedy" in text.split("interval)")[1]
    assert "everything is in" in text  # no report was asked for
    if terminal:
        assert "3/3" in text
        assert "left" in text
    else:
        assert [line.split()[1] for line in text.splitlines() if line.startswith("step ")] == ["1/3", "2/3", "3/3"]


def test_closing_table_has_the_change_in_points() -> None:
    before = {"sampled/success": 0.25, "sampled/low": 0.2, "sampled/high": 0.3}
    after = {"sampled/success": 0.75, "sampled/low": 0.7, "sampled/high": 0.8}
    output = io.StringIO()
    RichConsole(file=output, width=120).print(closing_table((0, before), (40, after)))
    assert "+50.0 points" in output.getvalue()
    assert "25.0% [20.0%, 30.0%]" in output.getvalue()
