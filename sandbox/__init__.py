"""Runs untrusted code. Knows nothing of tasks."""
