"""Predictions in, reports out, in swebench's files: its tools read our runs and we read theirs.

::

    summary = evaluate_predictions(bench, "predictions.jsonl", run_id="mine")   # or "gold"
    write_predictions("predictions.jsonl", {"django__django-15790": patch}, model="mine")

Written below ``logs/run_evaluation/<run_id>/<model>/<instance_id>/``: patch.diff, eval.sh, run_instance.log,
test_output.txt, report.json; and the summary ``<model>.<run_id>.json`` with schema_version 2. test_output.txt holds,
between swebench's markers, one line per record that swebench's parsers read; what the tests printed is in
run_instance.log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.data import read_rows
from benchmarks.swebench.benchmark import MACHINE, SWEBench, to_grade, verdict
from benchmarks.swebench.ids import Lists
from benchmarks.swebench.patches import PatchError, apply
from benchmarks.swebench.printed import PRINTED, commands
from benchmarks.swebench.rows import Row
from benchmarks.swebench.running import Run

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
APPLIED, NOT_APPLIED, TIMED_OUT = ">>>>> Applied Patch", ">>>>> Patch Apply Failed", ">>>>> Tests Timed Out"
KEYS = ("instance_id", "model_name_or_path", "model_patch")
_DJANGO = {"PASSED": "ok", "XFAIL": "ok", "FAILED": "FAIL", "ERROR": "ERROR", "SKIPPED": "skipped", "XPASS": "FAIL"}

Prediction = Mapping[str, Any]


def read_predictions(source: str | Path, rows: Mapping[str, Row]) -> dict[str, Prediction]:
    """The predictions by instance id: ``gold``, or a .jsonl, or a .json with a list or an object of them.

    Raises ValueError for another kind of file, a prediction without its keys, an unknown id, or an id given twice.
    """
    if str(source) == "gold":
        if any(row.reversed_patch for row in rows.values()):
            raise ValueError("gold: the rows' patches make the bug: leave out --predictions to grade their reverse")
        return {
            name: {"instance_id": name, "model_name_or_path": "gold", "model_patch": row.patch}
            for name, row in rows.items()
        }
    path = Path(source)
    if path.suffix not in (".json", ".jsonl"):
        raise ValueError(f"predictions={source}: give gold, or a .json or .jsonl file")
    found: dict[str, Prediction] = {}
    for each in read_rows(path):
        if missing := [key for key in KEYS if key not in each]:
            raise ValueError(f"{each.place} has no {missing[0]!r}; a prediction has {', '.join(KEYS)}")
        name = each["instance_id"]
        if name not in rows:
            raise ValueError(f"{path}: there is no instance {name!r} in this data set")
        if name in found:
            raise ValueError(f"{path}: {name} is predicted twice")
        found[name] = each
    if len({each["model_name_or_path"] for each in found.values()}) > 1:
        raise ValueError(f"{path}: predictions of several models; give a file for each")
    return found


def write_predictions(path: str | Path, patches: Mapping[str, str], *, model: str) -> None:
    """A predictions.jsonl: patches by instance id. An unfinished file is never left."""
    lines = [json.dumps(dict(zip(KEYS, (name, model, patch), strict=True))) for name, patch in patches.items()]
    written = Path(path).with_name(Path(path).name + ".new")
    written.write_text("".join(line + "\n" for line in lines))
    written.replace(path)


def evaluate_predictions(
    bench: SWEBench,
    source: str | Path,
    *,
    run_id: str,
    split: str = "test",
    ids: Collection[str] | None = None,
    folder: str | Path = ".",
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Grade predictions and write their reports; instances with a report are not run again. Returns the summary.

    Raises ValueError as :func:`read_predictions` does, and for an id that is not in the split.
    """
    rows = bench.rows(split)
    if unknown := sorted(set(ids or ()) - set(rows)):
        raise ValueError(f"no instance {unknown[0]!r} in {bench.source}")
    predictions = read_predictions(source, rows)
    chosen = {name: each for name, each in predictions.items() if not ids or name in ids}
    if not chosen:
        raise ValueError(f"{source} holds no prediction to grade")
    model = str(next(iter(chosen.values()))["model_name_or_path"])
    logs = Path(folder) / "logs" / "run_evaluation" / run_id / model.replace("/", "__")
    infra: dict[str, str] = {}
    for name, prediction in chosen.items():
        place = logs / name
        if not prediction["model_patch"]:
            tell(f"{name}  empty patch")
            continue
        if not (place / "report.json").exists():
            reason = _evaluate(bench, rows[name], str(prediction["model_patch"]), place)
            if reason:
                infra[name] = reason
                tell(f"{name}  infra error: {reason}")
                continue
        tell(f"{name}  {'resolved' if _resolved(place, name) else 'not resolved'}")
    summary = summarize(list(rows) if not ids else list(ids), chosen, logs, infra)
    path = Path(folder) / f"{model.replace('/', '__')}.{run_id}.json"
    path.write_text(json.dumps(summary, indent=4) + "\n")
    return summary


def summarize(
    dataset: Sequence[str], predictions: Mapping[str, Prediction], logs: Path, infra: Mapping[str, str]
) -> dict[str, Any]:
    """The summary with schema_version 2, from the reports below ``logs``."""
    empty = [name for name, each in predictions.items() if not each["model_patch"]]
    done = [name for name in predictions if name not in empty and (logs / name / "report.json").exists()]
    resolved = [name for name in done if _resolved(logs / name, name)]
    groups = {
        "completed": done,
        "incomplete": [name for name in dataset if name not in predictions],
        "empty_patch": empty,
        "submitted": list(predictions),
        "resolved": resolved,
        "unresolved": [name for name in done if name not in resolved],
        "infra_failure": list(infra),
        "ambiguous_failure": [],
        "error": [name for name in predictions if name not in empty and name not in done],
    }
    counted = ("submitted", "completed", "resolved", "unresolved", "infra_failure", "ambiguous_failure")
    return {
        "total_instances": len(dataset),
        **{f"{group}_instances": len(groups[group]) for group in (*counted, "empty_patch", "error")},
        **{f"{group}_ids": sorted(names) for group, names in groups.items()},
        "failure_reasons": dict(sorted(infra.items())),
        "schema_version": 2,
    }


def report(row: Row, lists: Lists, *, applied: bool, resolved: bool) -> dict[str, Any]:
    """What report.json holds of one instance."""

    def split(results: Mapping[str, bool]) -> dict[str, list[str]]:
        good = [name for name, each in results.items() if each]
        return {"success": good, "failure": [name for name in results if name not in good]}

    nothing: dict[str, list[str]] = {"success": [], "failure": []}
    found: dict[str, Any] = {
        "patch_is_None": False,
        "patch_exists": True,
        "patch_successfully_applied": applied,
        "resolved": resolved,
        "infra_failure": False,
    }
    if applied:
        found["tests_status"] = {
            "FAIL_TO_PASS": split(lists.fail_to_pass),
            "PASS_TO_PASS": split(lists.pass_to_pass),
            "FAIL_TO_FAIL": nothing,
            "PASS_TO_FAIL": nothing,
        }
    return {row.instance_id: found}


def _evaluate(bench: SWEBench, row: Row, patch: str, place: Path) -> str:
    """Grade one prediction and write its files, report.json last. Returns the machine's failure, "" if none."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "patch.diff").write_bytes(patch.encode(errors="surrogateescape"))
    try:
        return _grade(bench, row, patch, place)
    except MACHINE as error:
        (place / "run_instance.log").write_text(f"{error}\n")
        return str(error)


def _grade(bench: SWEBench, row: Row, patch: str, place: Path) -> str:
    nothing = Run(dict.fromkeys(row.ids), {})
    plan, environment = bench.plan(row), bench.environment(row)
    command = f"{environment.python} -m {plan.recipe.runner} {' '.join([*plan.recipe.arguments, *plan.directives()])}"
    if plan.recipe.runner == PRINTED:
        command = "\n".join(commands(plan.row.eval_script)[1])
    (place / "eval.sh").write_text(f"#!/bin/bash\n# what was run, by its own driver, in a sandbox\n{command}\n")
    try:
        applied = apply(plan.base, patch)
    except PatchError as error:
        (place / "run_instance.log").write_text(f"{NOT_APPLIED}:\n{error}\n")
        (place / "test_output.txt").write_text(f"{NOT_APPLIED}\n")
        _write_report(place, report(row, verdict(row, nothing), applied=False, resolved=False))
        return ""
    run = bench.run(row, applied.files)
    grade = to_grade(row, run)
    note = f"tampered: {run.tampered}\n" if run.tampered else ""
    (place / "run_instance.log").write_text(f"{APPLIED}: {applied.rung}\n{note}{run.log}")
    if run.infra:
        return run.infra
    (place / "test_output.txt").write_text(test_output(plan.recipe.names, run))
    _write_report(place, report(row, verdict(row, run), applied=True, resolved=grade.resolved))
    return ""


def test_output(names: str, run: Run) -> str:
    """The log that swebench's parsers read the same statuses from. A run that was tampered with has no results."""
    if run.timed_out or run.tampered:
        return f"{TIMED_OUT}\n" if run.timed_out else f"tampered: {run.tampered}\n"
    if names == PRINTED:
        return f"{START}\n{run.log}\n{END}\n"
    lines = []
    for name, status in run.seen.items():
        if names == "unittest":
            # as unittest prints it: the docstring's line takes the verdict
            lines += [name] if name in run.docs else []
            lines.append(f"{run.docs.get(name, name)} ... {_DJANGO[status]}")
        elif names == "bare":
            lines.append(f"{name.split('::')[-1]} {'ok' if status in ('PASSED', 'XFAIL') else status[0]}")
        else:
            lines.append(f"{status} {name}")
    return "\n".join([START, *lines, END, ""])


def _write_report(place: Path, found: Mapping[str, Any]) -> None:
    (place / "report.json.new").write_text(json.dumps(found, indent=4))
    (place / "report.json.new").replace(place / "report.json")


def _resolved(place: Path, name: str) -> bool:
    try:
        return bool(json.loads((place / "report.json").read_text())[name]["resolved"])
    except (OSError, ValueError, KeyError):
        return False
