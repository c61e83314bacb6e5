"""The example of docs/diff.md runs and prints what the page says."""

import contextlib
import io
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_worked_example_prints_what_the_page_says():
    page = (DOCS / "diff.md").read_text()
    code, printed = re.search(r"```python\n(.*?)```\n\nwhich prints\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/diff.md", "exec"), {})
    assert out.getvalue().rstrip("\n") == printed.rstrip("\n")
