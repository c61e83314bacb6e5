"""What the hidden tests' verdict pays: all or nothing, or by the share that pass; and, for studies, with wrong results.

paid(grade, "score", noise=0.1, key=b"the episode")
"""

from __future__ import annotations

import random

from benchmarks.base import Grade

VERDICTS = ("resolved", "score")


def paid(grade: Grade, kind: str, noise: float = 0.0, key: bytes = b"") -> float:
    """The reward of a verdict: for ``resolved`` 1 if every hidden test passes, for ``score`` the share that pass.

    With ``noise`` each test's result is turned round with that chance, as by flaky tests; which ones is a function of
    ``key``. The grade itself stays as it is.
    """
    if not noise or not grade.tests:
        return grade.score if kind == "score" else float(grade.resolved)
    rng = random.Random(key)
    passed = [(grade.tests[test] == "passed") != (rng.random() < noise) for test in sorted(grade.tests)]
    return sum(passed) / len(passed) if kind == "score" else float(all(passed))
