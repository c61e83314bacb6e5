"""Every diff that a test makes, wherever it is made, gives the new files when applied to the old ones.

The engine's one entry is wrapped when pytest imports this module, before any other module takes it by name and before
test modules make diffs of their own as they are collected. Only what runs in another program goes unseen.
"""

from __future__ import annotations

import functools

import pytest

import codegym.diff.files
from codegym.diff import Diff, apply

_diff_files = codegym.diff.files.diff_files
_wrong: list[str] = []


@functools.wraps(_diff_files)
def _checked(old, new, *args, **options) -> Diff:
    diff = _diff_files(old, new, *args, **options)
    if apply(diff, old) != new:
        _wrong.append(f"the diff of {', '.join(file.path for file in diff.files)} does not give the new files")
        raise AssertionError(_wrong[-1])
    return diff


codegym.diff.files.diff_files = codegym.diff.diff_files = _checked  # type: ignore[assignment]


@pytest.fixture(autouse=True)
def wrong_diffs():
    """Fails a test during which a diff was wrong, even where what made it bears the error."""
    _wrong.clear()
    yield _wrong
    assert not _wrong
