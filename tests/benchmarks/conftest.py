"""Two small programs, and graders to run them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.grading.examples import ExampleGrader


@pytest.fixture(scope="session")
def grader() -> Iterator[ExampleGrader]:
    with ExampleGrader(workers=2) as made:
        yield made


QUEUE = '''\
"""A queue with priorities, and what it can report."""


class JobQueue:
    """Jobs by priority, lowest number first; equal priorities in order of arrival."""

    def __init__(self, limit=10):
        self.limit = limit
        self.jobs = []
        self.arrived = 0

    def add(self, name, priority=0):
        """Add a job. Raises ValueError when full."""
        if len(self.jobs) >= self.limit:
            raise ValueError("full")
        self.jobs.append((priority, self.arrived, name))
        self.arrived += 1

    def take(self):
        """Remove and return the first job's name, None when there is none."""
        if not self.jobs:
            return None
        first = min(self.jobs)
        self.jobs.remove(first)
        return first[2]

    def waiting(self):
        """Names in the order they will be taken."""
        return [name for _, _, name in sorted(self.jobs)]
'''
REPORT = '''\
"""Reports on numbers."""


def above(values, bound):
    """How many values are greater than the bound."""
    count = 0
    for value in values:
        if value > bound:
            count += 1
    return count


def runs(values):
    """Lengths of runs of equal values."""
    lengths = []
    start = 0
    for i in range(1, len(values) + 1):
        if i == len(values) or values[i] != values[start]:
            lengths.append(i - start)
            start = i
    return lengths


def middle(text, size):
    """The middle part of a text, left of centre when it cannot be exact."""
    start = (len(text) - size) // 2
    return text[start:start + size]
'''
FILES = {
    "jobs": {
        "jobqueue.py": QUEUE,
        "visible.txt": "order:\n>>> from jobqueue import JobQueue\n>>> q = JobQueue()\n>>> q.add('a', 2)\n"
        ">>> q.add('b', 1)\n>>> q.waiting()\n['b', 'a']\n",
        "hidden.txt": "take:\n>>> from jobqueue import JobQueue\n>>> q = JobQueue(3)\n>>> q.add('a', 2)\n"
        ">>> q.add('b', 2)\n>>> q.add('c')\n>>> q.take()\n'c'\n>>> q.take(), q.take(), q.take()\n('a', 'b', None)\n"
        "\nfull:\n>>> from jobqueue import JobQueue\n>>> q = JobQueue(1)\n>>> q.add('a')\n>>> q.add('b')\n"
        "Traceback (most recent call last):\nValueError: full\n>>> q.waiting(), q.arrived\n(['a'], 1)\n",
    },
    "numbers": {
        "report.py": REPORT,
        "visible.txt": "above:\n>>> from report import above\n>>> above([1, 5, 3], 2)\n2\n",
        "hidden.txt": "above:\n>>> from report import above\n>>> above([4, 4, 9], 4), above([], 0)\n(1, 0)\n\n"
        "runs:\n>>> from report import runs\n>>> runs([1, 1, 2, 3, 3, 3]), runs([])\n([2, 1, 3], [])\n\n"
        "middle:\n>>> from report import middle\n>>> middle('abcdef', 2), middle('abcde', 2)\n('cd', 'bc')\n",
    },
}


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name, files in FILES.items():
        (folder / name).mkdir()
        for path, text in files.items():
            (folder / name / path).write_text(text)
    return folder
