"""The swebench package reads our runs, and we read its: on the fixture its reports and its summary are ours."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.swebench import report
from benchmarks.swebench.benchmark import SWEBench
from benchmarks.swebench.printed import read_log
from benchmarks.swebench.report import evaluate_predictions, write_predictions
from benchmarks.swebench.rows import read_row
from tests.benchmarks.swebench.test_swebench_printed import LOG, RAW

if importlib.util.find_spec("swebench") is None:
    pytest.skip("the swebench package is not here: pip install 'codegym[swebench]'", allow_module_level=True)

FOUR, FIVE, UNIT = "fixture__calc-4", "fixture__calc-5", "fixture__calc-u"
PARSERS = {FOUR: "parse_log_pytest", FIVE: "parse_log_pytest", UNIT: "parse_log_django"}


class Graded(NamedTuple):
    """A run of ours: where it lies, its predictions by id, its summary."""

    folder: Path
    predictions: dict[str, dict[str, str]]
    summary: dict[str, Any]

    def logs(self, name: str) -> Path:
        return self.folder / "logs" / "run_evaluation" / "r1" / "team__model" / name


@pytest.fixture(scope="module")
def graded(bench: SWEBench, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    folder = tmp_path_factory.mktemp("run")
    gold = bench.row(FOUR).patch
    write_predictions(
        folder / "p.jsonl", {FOUR: gold, FIVE: gold.replace("a + b", "a * b"), UNIT: gold}, model="team/model"
    )
    predictions = {each["instance_id"]: each for each in map(json.loads, (folder / "p.jsonl").read_text().splitlines())}
    return Graded(folder, predictions, evaluate_predictions(bench, folder / "p.jsonl", run_id="r1", folder=folder))


def theirs(bench: SWEBench, graded: Graded, name: str) -> dict[str, Any]:
    """The report that swebench makes of our log."""
    from swebench.harness.grading import get_eval_report
    from swebench.harness.utils import make_test_spec

    row = bench.row(name)
    whole = [each.replace("(unit.checks.Checks)", "(unit.checks.Checks.test_mul)") for each in row.pass_to_pass]
    spec = make_test_spec(
        {
            "instance_id": name,
            "image": "",
            "repo": row.repo,
            "version": row.version,
            "FAIL_TO_PASS": list(row.fail_to_pass),
            "PASS_TO_PASS": whole,  # as this Python prints it: swebench knows one spelling only
            "log_parser": PARSERS[name],
            "eval_type": row.eval_type,
            "eval_script": "true\n",
        }
    )
    found: dict[str, Any] = get_eval_report(
        spec, graded.predictions[name], str(graded.logs(name) / "test_output.txt"), True
    )
    return found


@pytest.mark.parametrize("name", PARSERS)
def test_its_report_of_our_log_is_ours(bench: SWEBench, graded: Graded, name: str) -> None:
    ours = (
        (graded.logs(name) / "report.json").read_text().replace("(unit.checks.Checks)", "(unit.checks.Checks.test_mul)")
    )
    assert theirs(bench, graded, name) == json.loads(ours)
    assert json.loads(ours)[name]["resolved"] == (name != FIVE)


def test_its_summary_of_our_run_is_ours(
    bench: SWEBench, graded: Graded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from swebench.harness.reporting import make_run_report

    monkeypatch.chdir(graded.folder)
    dataset = [{"instance_id": name} for name in bench.rows("test")]
    written = make_run_report(graded.predictions, dataset, "r1", report_dir=str(tmp_path))
    assert written.name == "team__model.r1.json"
    assert json.loads(written.read_text()) == graded.summary


def test_we_read_its_reports(bench: SWEBench, graded: Graded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PARSERS:
        place = tmp_path / "logs" / "run_evaluation" / "r1" / "team__model" / name
        place.mkdir(parents=True)
        (place / "report.json").write_text(json.dumps(theirs(bench, graded, name), indent=4))
    monkeypatch.delattr(report, "_evaluate")  # nothing is run again
    assert evaluate_predictions(bench, graded.folder / "p.jsonl", run_id="r1", folder=tmp_path) == graded.summary


def test_its_own_parser_reads_a_printed_log() -> None:
    run = read_log(read_row({**RAW, "log_parser": "parse_log_gotest"}), LOG, "TOKEN")
    assert run.status == {"TestAdd": "PASSED", "TestMul": "PASSED", "TestSkipped": "SKIPPED"}
    silent = read_row({**RAW, "log_parser": "parse_log_gotest", "eval_type": "fail_only"})
    assert read_log(silent, "TOKEN\n\nTOKEN\n", "TOKEN").tampered == "no test ran"
    assert not read_log(silent, "TOKEN\n12 specs, 0 failures\nTOKEN\n", "TOKEN").tampered
