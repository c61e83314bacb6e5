"""Tasks, where they come from, and how a solution is graded.

Importing this registers the benchmarks; what they need is imported when it is used::

    bench = benchmarks.load("repair", level="tiny", n_bugs="1-3")
"""

from benchmarks import bigcodebench as bigcodebench
from benchmarks import classeval as classeval
from benchmarks import contests as contests
from benchmarks import evalplus as evalplus
from benchmarks import exercism as exercism
from benchmarks import humaneval as humaneval
from benchmarks import humanevalfix as humanevalfix
from benchmarks import mbpp as mbpp
from benchmarks import quixbugs as quixbugs
from benchmarks import repair as repair
from benchmarks import stdio as stdio
from benchmarks import swebench as swebench
from benchmarks.base import Benchmark as Benchmark
from benchmarks.base import Grade as Grade
from benchmarks.base import Task as Task
from benchmarks.base import Test as Test
from benchmarks.base import load as load
