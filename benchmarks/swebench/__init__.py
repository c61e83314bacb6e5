"""SWE-bench and data sets of its shape: Lite, Verified, full, Multilingual, and any file of such rows.

::

    bench = benchmarks.load("swe-lite", rows="lite.jsonl", repositories="/data/clones")
    task = bench.task("django__django-15790")
    bench.grade(task, task.workspace).resolved      # False: nothing was changed

Importing this is cheap: nothing is read, and neither ``swebench`` nor ``docker`` is imported, before it is needed.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from benchmarks.base import register

if TYPE_CHECKING:
    from benchmarks.swebench.benchmark import SWEBench

#: benchmark -> its data set on the hub
DATA_SETS = {
    "swe-lite": "SWE-bench/SWE-bench_Lite",
    "swe-verified": "SWE-bench/SWE-bench_Verified",
    "swe-bench": "SWE-bench/SWE-bench",
    "swe-multilingual": "SWE-bench/SWE-bench_Multilingual",
}
URL = "https://github.com/{owner}/{name}.git"
TIMEOUT_S = 1800.0  # swebench's


def _make(
    name: str,
    *,
    rows: str | None = None,
    repositories: str | None = None,
    url: str | None = URL,
    cache: str | None = None,
    recipes: str | None = None,
    pip: str = "",
    mode: str = "native",
    image: str = "",
    backend: str = "auto",
    timeout: float = TIMEOUT_S,
) -> SWEBench:
    from benchmarks.swebench.benchmark import SWEBench  # late: loading a benchmark must stay cheap

    return SWEBench(
        name,
        rows=rows or DATA_SETS[name],
        repositories=repositories,
        url=url,
        cache=cache,
        recipes=recipes,
        pip=pip,
        mode=mode,
        image=image,
        backend=backend,
        timeout=timeout,
    )


for _name in DATA_SETS:
    register(_name)(functools.partial(_make, _name))
