"""Rows of R2E-Gym: a commit of a repository, an image of what it was before, and what each test must come out as.

::

    row = read(raw)                                  # "sympy__<commit>", of R2E-Gym/R2E-Gym-Lite, -Subset or -V1
    row.expected["TestAdd.test_small[1]"]            # "PASSED", "FAILED" or "ERROR"
    plan_of(row, recipe_of(row), base, (), image)    # with the hidden tests and the test command of its image

The image holds the repository with a virtual environment at /testbed/.venv, the tests at /r2e_tests and the command
that runs them at /testbed/run_tests.sh. The command of most is pytest's, which is recorded test by test; any other
(xvfb-run around it, a script around unittest) is run as it stands and its printed log is read. The solution is the
commit's change of Python files that are no tests; its change of tests goes to the graded files. Source of these facts:
https://github.com/R2E-Gym/R2E-Gym (src/r2egym: agenthub/runtime/docker.py, commit_models/, repo_analysis/).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, NoReturn

from benchmarks.base import Workspace
from benchmarks.swebench import images
from benchmarks.swebench.ids import LISTED, without_file
from benchmarks.swebench.printed import ESCAPE, PRINTED, WORK, framed
from benchmarks.swebench.recipes import Recipe
from benchmarks.swebench.rows import Row, RowError
from benchmarks.swebench.tree import Plan
from sandbox import SandboxError

_TESTS, _COMMAND, _VENV = "r2e_tests", "run_tests.sh", ".venv"
#: What no agent may see of an image: the tests, and what images were made from, which some may still hold.
HIDDEN = (
    *(f"/{_TESTS}", f"/root/{_TESTS}", f"/root/{_COMMAND}", _TESTS, _COMMAND),
    *("expected_test_output.json", "execution_result.json", "parsed_commit.json", "syn_issue.json"),
    *("modified_files.json", "modified_entities.json"),
)
_TEST_FOLDERS = frozenset({"test", "tests", "Test", "Tests"})
_SIGNS = {"context": " ", "added": "+", "deleted": "-"}
_PATH = f"{images.BASE}/{_VENV}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SUMMARY = re.compile(r"^=+ short test summary info =+$", re.M)
_LINE = re.compile(rf"^({'|'.join(LISTED)}) (\S.*)$", re.M)


def read(raw: Mapping[str, Any]) -> Row:
    """A row. Its id is its repository's name and its commit. Raises RowError when it cannot be judged."""
    repo, commit = str(raw.get("repo_name") or ""), str(raw.get("commit_hash") or "")
    if not repo or not commit:
        raise RowError(f"a row of R2E-Gym without {'commit_hash' if repo else 'repo_name'}: nothing names it")
    name = f"{repo}__{commit}"
    if not raw.get("docker_image"):
        _refuse(name, "docker_image is empty, and its tests are in its image only")
    statement = str(raw.get("problem_statement") or "").split("[ISSUE]")[-1].split("[/ISSUE]")[0].strip()
    if not statement:
        _refuse(name, "problem_statement is empty")
    expected = _expected(raw["expected_output_json"], name)
    patch, test_patch = _patches(raw.get("parsed_commit_content"), name)
    return Row(
        instance_id=name,
        repo=repo,
        base_commit="",  # the repository is named without its owner: there is nothing to clone
        patch=patch,
        test_patch=test_patch,
        problem_statement=statement,
        version="",
        fail_to_pass=(),  # the row does not say which of them fail before
        pass_to_pass=tuple(expected),
        image=str(raw["docker_image"]),
        expected=expected,
    )


def _refuse(name: str, reason: str) -> NoReturn:
    raise RowError(f"{name}: {reason}; take the row as R2E-Gym/R2E-Gym-Lite, -Subset or -V1 has it")


def _expected(value: Any, name: str) -> dict[str, str]:
    found = _object(value, name, "expected_output_json")
    if unknown := sorted({str(each) for each in found.values()} - set(LISTED)):
        _refuse(name, f"expected_output_json holds {unknown[0]!r}, which is none of {', '.join(LISTED)}")
    expected = {without_file(ESCAPE.sub("", test)): str(found[test]) for test in sorted(found)}
    if "PASSED" not in expected.values():
        _refuse(name, "expected_output_json names no test that must pass, so nothing could be judged")
    if "" in expected:
        _refuse(name, "expected_output_json holds a test without a name")
    return expected


def _object(value: Any, name: str, key: str) -> Mapping[str, Any]:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, Mapping):
        _refuse(name, f"{key} is no JSON object")
    return found


def _patches(value: Any, name: str) -> tuple[str, str]:
    """The commit's patch of Python files that are no tests, and that of those that are."""
    commit = _object(value, name, "parsed_commit_content")
    patches = {False: "", True: ""}
    try:
        for each in commit["file_diffs"]:
            path = str(each["header"]["file"]["path"])
            if path.endswith(".py") and not each.get("is_binary_file"):
                patches[_is_test(path)] += _patch(path, each)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        _refuse(name, f"parsed_commit_content cannot be read ({type(error).__name__}: {error})")
    if not patches[False]:
        _refuse(name, "its commit changes no Python file but tests, so there is no solution")
    return patches[False], patches[True]


def _is_test(path: str) -> bool:
    """What R2E-Gym takes for a test."""
    *folders, name = path.split("/")
    return path.startswith("test_") or name.startswith("test_") or name.endswith("_test.py") or _below_tests(folders)


def _below_tests(folders: Sequence[str]) -> bool:
    return not _TEST_FOLDERS.isdisjoint(folders)


def _patch(path: str, diff: Mapping[str, Any]) -> str:
    """The unified diff of one file; "" where only its mode changes."""
    mode = str(diff["header"].get("misc_line") or "")
    old = "/dev/null" if "new file mode" in mode else f"a/{path}"
    new = "/dev/null" if "deleted file mode" in mode else f"b/{path}"
    lines = [f"diff --git a/{path} b/{path}", *(line for line in mode.split("\n") if " file mode " in line)]
    if len(lines) == 1 and not diff["hunks"]:
        return ""
    if diff["hunks"]:
        lines += [f"--- {old}", f"+++ {new}"]
    for hunk in diff["hunks"]:
        ranges = [hunk["descriptor"][f"{side}_range"] for side in ("old", "new")]
        starts = [int(each["start"]) for each in ranges]
        left = [1 if each.get("length") is None else int(each["length"]) for each in ranges]
        lines.append(f"@@ -{starts[0]},{left[0]} +{starts[1]},{left[1]} @@")
        for line in hunk["line_group"]["all_lines"]:
            kind, text = line["type"], line["content"]
            if kind == "note":
                lines.append(f"\\ {text}")
            elif any(left):  # the last hunk holds the end of the commit's text as one more line
                left = [left[0] - (kind != "added"), left[1] - (kind != "deleted")]
                lines.append(_SIGNS[kind] + text)
        if any(left):
            raise ValueError(f"a hunk of {path} does not have the lines it tells of")
    return "\n".join(lines) + "\n"


def recipe_of(row: Row) -> Recipe:
    """How such a row is run in its image, but for what its test command says."""
    env = {"PATH": _PATH, "VIRTUAL_ENV": f"{images.BASE}/{_VENV}"}
    return Recipe(row.repo, "pytest", "r2e", (), ("*",), tests=(_TESTS, _COMMAND, _VENV), path=("src", "."), env=env)


def plan_of(row: Row, recipe: Recipe, base: Workspace, executable: tuple[str, ...], image: str) -> Plan:
    """The task's side of a grade, with the tests and the command of the image, which still has them.

    Raises SandboxError when the image lacks them, RowPatchError as Plan does.
    """
    found = images.files_of(image, f"/{_TESTS}")[0]
    tests = {f"{_TESTS}/{path}": data for path, data in found.items() if not path.endswith(".pyc")}
    if not any(path.startswith(f"{_TESTS}/test_") for path in tests):
        raise SandboxError(f"the image of {row.instance_id} has no /{_TESTS}/test_*.py: it is none of R2E-Gym's")
    command = images.text_of(image, f"{images.BASE}/{_COMMAND}")
    folders = {
        str(PurePosixPath(*parts[: at + 1]))
        for parts in (path.split("/")[:-1] for path in base)
        for at, part in enumerate(parts)
        if part in _TEST_FOLDERS
    }
    recipe = replace(recipe, tests=(*recipe.tests, *sorted(folders)))
    if plain := of_pytest(command):
        env, options, arguments = plain
        recipe = replace(recipe, env={**recipe.env, **env}, options=options, arguments=arguments)
    else:
        recipe = replace(recipe, runner=PRINTED, names=PRINTED)
        paths = ":".join(f"{WORK}/{each}" for each in recipe.path)
        row = replace(row, eval_script=framed([f"export PYTHONPATH={paths} PATH={_PATH}"], command.splitlines()))
    return Plan(row, recipe, base, executable, tests=tests)


def of_pytest(command: str) -> tuple[dict[str, str], tuple[str, ...], tuple[str, ...]] | None:
    """What a command that is pytest's and nothing else says: variables, options of Python, arguments but the tests.

    ``A=1 .venv/bin/python -W ignore -m pytest -rA r2e_tests`` is one; None for any other.
    """
    lines = [line for line in command.splitlines() if line.strip() and not line.startswith("#")]
    try:
        words = shlex.split(lines[0]) if len(lines) == 1 else []
    except ValueError:
        return None
    env: dict[str, str] = {}
    while words and (variable := re.fullmatch(r"([A-Za-z_]\w*)=(.*)", words[0], re.S)):
        env[variable[1]] = variable[2]
        del words[0]
    options: list[str] = []
    if words[:1] != [f"{_VENV}/bin/python"]:
        return None
    del words[0]
    while words[:1] == ["-W"]:
        options += words[:2]
        del words[:2]
    if words[:2] != ["-m", "pytest"] or words[-1].rstrip("/") != _TESTS or re.search(r"[;&|<>$`]", command):
        return None
    return env, tuple(options), tuple(each for each in words[2:-1] if each != "-rA")


def parse(log: str) -> dict[str, str]:
    """The statuses of a printed log: what stands below its summary's head. Of a test listed twice the last counts.

    A log with two heads says nothing: one of them was printed by the code under test.
    """
    parts = _SUMMARY.split(log)
    return {without_file(test): status for status, test in _LINE.findall(parts[1])} if len(parts) == 2 else {}
