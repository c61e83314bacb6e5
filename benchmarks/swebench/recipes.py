"""How a repository's tests are run without its image: small data files, one per repository.

``recipes/django__django.json`` beside this module, or in a folder of your own, holds::

    {
      "repo": "django/django",
      "runner": "django",                     pytest, unittest or django; see inside/driver.py
      "names": "unittest",                    how test ids are written; see ids.py
      "tests": ["tests/"],                    folders that only the task writes to; see grading.py
      "path": ["."],                          folders of the workspace that go on sys.path
      "environments": [                       the first whose versions hold the row's
        {
          "versions": ["4.1", "4.2"],         of the data set's column; "*" holds all
          "python": ["3.9", "3.10"],          tried in this order
          "packages": ["asgiref", "sqlparse"],
          "files": {"src/_version.py": "version = '{version}'\\n"},   written into the workspace before the tests
          "env": {"LC_ALL": "C.UTF-8"},
          "arguments": ["--verbosity", "2"]   for the runner, before the test files
        }
      ]
    }

``environments`` rows inherit every key that stands above them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from benchmarks.swebench.rows import Row
from sandbox import SandboxError

RUNNERS = ("pytest", "unittest", "django")
NAMES = ("pytest", "unittest", "bare")
# The log parsers of swebench whose logs are pytest's.
_OF_PYTEST = {"pytest", "pytest_options", "pytest_v2", "seaborn", "matplotlib", "astroid", "flask", "marshmallow"}
_OF_PYTEST |= {"pvlib", "pyvista", "sqlfluff", "xarray", "pydicom", "requests", "pylint", "astropy", "scikit", "sphinx"}
_OWN = Path(__file__).with_name("recipes")


class RecipeError(SandboxError):
    """There is no recipe for a row, or it is no good; the message says what to write."""


@dataclass(frozen=True)
class Recipe:
    """What one environment is made of; see the module's text for the fields.

    ``graded_runner``: the test runner is the repository itself (pytest's own), so it comes from the workspace.
    ``options``: of the interpreter, such as ``("-W", "ignore")``.
    """

    repo: str
    runner: str
    names: str
    python: tuple[str, ...]
    versions: tuple[str, ...]
    packages: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    path: tuple[str, ...] = (".",)
    files: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    graded_runner: bool = False
    options: tuple[str, ...] = ()


def recipe_for(row: Row, folder: str | Path | None = None, *, image: bool = False) -> Recipe:
    """The recipe of a row: from ``folder``, else one of ours, else made of the row's ``install_config``.

    ``image``: packages are the image's, so any repository that pytest tests can do without a recipe.

    Raises :class:`RecipeError`.
    """
    if row.expected:
        from benchmarks.swebench import r2e  # late: it needs this module

        if not image:
            raise RecipeError(
                f"{row.instance_id}: R2E-Gym's tests are in its images only: use mode='docker' (--docker)"
            )
        return r2e.recipe_of(row)
    name = row.repo.replace("/", "__") + ".json"
    for place in (None if folder is None else Path(folder), _OWN):
        if place is not None and (place / name).is_file():
            for recipe in _read(place / name):
                if row.version in recipe.versions or "*" in recipe.versions:
                    files = {
                        path.replace("{version}", row.version): text.replace("{version}", row.version)
                        for path, text in recipe.files.items()
                    }
                    return replace(recipe, files=files)
            raise RecipeError(f"{row.instance_id}: {place / name} has no environment for version {row.version!r}")
    if row.install.get("python"):
        return _of_install(row)
    if row.log_parser and row.log_parser.removeprefix("parse_log_") not in _OF_PYTEST:
        if image:
            from benchmarks.swebench.printed import recipe_of  # late: it needs this module

            return recipe_of(row)
        raise RecipeError(
            f"{row.instance_id}: its tests leave only a printed log (log_parser={row.log_parser!r}), which is read "
            "where its image is: use mode='docker'"
        )
    if image:
        return Recipe(row.repo, "pytest", "pytest", (), ("*",), path=("src", "lib", "."))
    raise RecipeError(
        f"{row.instance_id}: no recipe to run {row.repo} without its image: give recipes=FOLDER with {name} "
        "(docs/swebench.md shows one), or mode='docker'"
    )


@functools.cache
def _read(path: Path) -> tuple[Recipe, ...]:
    try:
        raw = json.loads(path.read_text())
        above = {key: value for key, value in raw.items() if key != "environments"}
        return tuple(_recipe({**above, **each}) for each in raw["environments"])
    except (ValueError, KeyError, TypeError) as error:
        raise RecipeError(f"{path} is no recipe: {error}") from error


def _recipe(raw: Mapping[str, Any]) -> Recipe:
    known = {each.name for each in fields(Recipe)}
    if unknown := sorted(set(raw) - known):
        raise ValueError(f"unknown keys {', '.join(unknown)}")
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}
    recipe = Recipe(**values)
    if recipe.runner not in RUNNERS or recipe.names not in NAMES:
        raise ValueError(f"runner is one of {', '.join(RUNNERS)}; names is one of {', '.join(NAMES)}")
    return recipe


def _of_install(row: Row) -> Recipe:
    """SWE-rebench rows say what they need: a Python, a frozen list of packages, a pytest command."""
    install = row.install
    listed = str(install.get("requirements") or "").splitlines()
    packages = [line.strip() for line in listed if line.strip() and not line.startswith(("#", "-e"))]
    packages += [str(each) for each in install.get("pip_packages") or ()]
    if "pytest" not in str(install.get("test_cmd", "pytest")):
        raise RecipeError(f"{row.instance_id}: its test command is not pytest's: use mode='docker'")
    if not any(each.lower().startswith("pytest") for each in packages):
        packages.append("pytest")
    return Recipe(
        repo=row.repo,
        runner="pytest",
        names="pytest",
        python=(str(install["python"]),),
        versions=(row.version or "*",),
        packages=tuple(packages),
        path=(".", "src"),
    )
