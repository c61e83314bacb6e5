"""Structured diffs. See :mod:`codegym.diff.model` for what a diff holds."""
