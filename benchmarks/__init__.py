"""Tasks, where they come from, and how a solution is graded.

Importing this registers the benchmarks; what they need is imported when it is used::

    bench = benchmarks.load("repair", level="tiny", n_bugs="1-3")
"""

from benchmarks import humaneval as humaneval
from benchmarks import humanevalfix as humanevalfix
from benchmarks import quixbugs as quixbugs
from benchmarks import repair as repair
from benchmarks.base import Benchmark as Benchmark
from benchmarks.base import Grade as Grade
from benchmarks.base import Task as Task
from benchmarks.base import Test as Test
from benchmarks.base import load as load
