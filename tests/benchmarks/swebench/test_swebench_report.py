"""Predictions in, swebench's files out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks.swebench import benchmark
from benchmarks.swebench.benchmark import SWEBench
from benchmarks.swebench.report import evaluate_predictions, read_predictions, write_predictions
from benchmarks.swebench.running import Run

FOUR, FIVE, UNIT = "fixture__calc-4", "fixture__calc-5", "fixture__calc-u"


def test_a_run_and_its_files(bench: SWEBench, tmp_path):
    gold = bench.row(FOUR).patch
    source = tmp_path / "predictions.jsonl"
    wrong = gold.replace("a + b", "a * b")
    write_predictions(source, {FOUR: gold, FIVE: wrong, UNIT: ""}, model="team/model")
    lines: list[str] = []
    summary = evaluate_predictions(bench, source, run_id="r1", folder=tmp_path, tell=lines.append)
    assert summary == json.loads((tmp_path / "team__model.r1.json").read_text())
    assert summary["schema_version"] == 2
    counted = {key: value for key, value in summary.items() if key.endswith("_instances")}
    assert counted == {
        "total_instances": 3,
        "submitted_instances": 3,
        "completed_instances": 2,
        "resolved_instances": 1,
        "unresolved_instances": 1,
        "infra_failure_instances": 0,
        "ambiguous_failure_instances": 0,
        "empty_patch_instances": 1,
        "error_instances": 0,
    }
    assert (summary["resolved_ids"], summary["unresolved_ids"], summary["empty_patch_ids"]) == ([FOUR], [FIVE], [UNIT])
    place = tmp_path / "logs" / "run_evaluation" / "r1" / "team__model"
    names = ["eval.sh", "patch.diff", "report.json", "run_instance.log", "test_output.txt"]
    assert sorted(path.name for path in (place / FOUR).iterdir()) == names
    assert not (place / UNIT).exists()
    found = json.loads((place / FIVE / "report.json").read_text())[FIVE]
    assert (found["patch_successfully_applied"], found["resolved"]) == (True, False)
    assert found["tests_status"]["PASS_TO_PASS"] == {"success": ["tests/test_core.py::test_mul"], "failure": []}
    assert found["tests_status"]["FAIL_TO_PASS"]["success"] == ["tests/test_core.py::test_add"]  # 2 * 2 is 4
    assert "Applied Patch: git apply" in (place / FIVE / "run_instance.log").read_text()
    # nothing is run again
    (place / FIVE / "test_output.txt").unlink()
    assert evaluate_predictions(bench, source, run_id="r1", folder=tmp_path) == summary
    assert not (place / FIVE / "test_output.txt").exists()


def test_our_log_of_unittest_reads_as_unittest_prints(bench: SWEBench, tmp_path):
    evaluate_predictions(bench, "gold", run_id="r4", folder=tmp_path, ids=[UNIT])
    log = (tmp_path / "logs" / "run_evaluation" / "r4" / "gold" / UNIT / "test_output.txt").read_text()
    assert "\nAdding is commutative. ... ok\n" in log
    assert log.startswith(">>>>> Start Test Output\n")
    assert log.endswith("\n>>>>> End Test Output\n")


def test_a_patch_that_does_not_apply_is_a_report(bench: SWEBench, tmp_path):
    patch = bench.row(FOUR).patch.replace("calc/core.py", "calc/none.py")
    write_predictions(tmp_path / "p.jsonl", {FOUR: patch}, model="m")
    summary = evaluate_predictions(bench, tmp_path / "p.jsonl", run_id="r3", folder=tmp_path)
    assert summary["unresolved_ids"] == [FOUR]
    report = json.loads((tmp_path / "logs" / "run_evaluation" / "r3" / "m" / FOUR / "report.json").read_text())
    assert not report[FOUR]["patch_successfully_applied"]


def test_where_nothing_runs_not_even_the_reference_there_is_no_report(bench: SWEBench, tmp_path, monkeypatch):
    monkeypatch.setattr(benchmark, "run_tests", lambda plan, *_, **__: Run(dict.fromkeys(plan.row.ids), {}))
    write_predictions(tmp_path / "p.jsonl", {FOUR: bench.row(FOUR).patch}, model="m")
    summary = evaluate_predictions(bench, tmp_path / "p.jsonl", run_id="r4", folder=tmp_path)
    assert (summary["infra_failure_ids"], summary["unresolved_ids"]) == ([FOUR], [])
    assert "not even on its reference" in summary["failure_reasons"][FOUR]


def test_a_row_whose_own_patch_is_bad_ends_no_run(bench: SWEBench, tmp_path, monkeypatch):
    rows = bench.rows("test")
    bad = replace(rows[FOUR], instance_id="fixture__calc-bad", patch=rows[FOUR].patch.replace("a - b", "a / b"))
    monkeypatch.setattr(bench, "rows", lambda split: {"fixture__calc-bad": bad, UNIT: rows[UNIT]})
    monkeypatch.setattr(benchmark, "run_tests", lambda plan, *_, **__: Run(dict.fromkeys(plan.row.ids), {}))
    write_predictions(tmp_path / "p.jsonl", {"fixture__calc-bad": rows[FOUR].patch, UNIT: ""}, model="m")
    summary = evaluate_predictions(bench, tmp_path / "p.jsonl", run_id="r5", folder=tmp_path)
    assert (summary["infra_failure_ids"], summary["empty_patch_ids"]) == (["fixture__calc-bad"], [UNIT])
    assert "a patch of its own does not apply" in summary["failure_reasons"]["fixture__calc-bad"]


@pytest.mark.parametrize("suffix", ["json-list", "json-object", "jsonl"])
def test_forms_of_predictions(bench: SWEBench, tmp_path, suffix):
    one = {"instance_id": FOUR, "model_name_or_path": "m", "model_patch": "p"}
    path = tmp_path / ("p.jsonl" if suffix == "jsonl" else "p.json")
    path.write_text(json.dumps({"list": [one], "object": {FOUR: one}}.get(suffix.removeprefix("json-"), one)))
    assert read_predictions(path, bench.rows("test")) == {FOUR: one}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"instance_id": "x", "model_name_or_path": "m", "model_patch": ""}], "no instance 'x'"),
        ([{"instance_id": FOUR, "model_patch": ""}], "model_name_or_path"),
        ([{"instance_id": FOUR, "model_name_or_path": "m", "model_patch": ""}] * 2, "twice"),
        (
            [{"instance_id": name, "model_name_or_path": name, "model_patch": ""} for name in (FOUR, FIVE)],
            "several models",
        ),
    ],
)
def test_wrong_predictions_are_refused(bench: SWEBench, tmp_path, lines, message):
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ValueError, match=message):
        read_predictions(tmp_path / "p.jsonl", bench.rows("test"))
    with pytest.raises(ValueError, match=r"\.json or \.jsonl"):
        read_predictions(tmp_path / "p.txt", bench.rows("test"))
