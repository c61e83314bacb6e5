"""Structured diffs. See :mod:`codegym.diff.model` for what a diff holds and docs/diff.md for an example."""

from codegym.diff.files import diff_files
from codegym.diff.model import Change, Diff, FileDiff, Hunk
from codegym.diff.patch import apply, unified

__all__ = ["Change", "Diff", "FileDiff", "Hunk", "apply", "diff_files", "unified"]
