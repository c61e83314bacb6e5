"""The example of docs/diff.md runs and prints what the page says; so does the format of docs/actions.md."""

import contextlib
import io
import re
from pathlib import Path

from codegym.actions import base

DOCS = Path(__file__).parents[2] / "docs"


def test_the_worked_example_prints_what_the_page_says():
    page = (DOCS / "diff.md").read_text()
    code, printed = re.search(r"```python\n(.*?)```\n\nwhich prints\n\n```text\n(.*?)```", page, re.DOTALL).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/diff.md", "exec"), {})
    assert out.getvalue().rstrip("\n") == printed.rstrip("\n")


def test_the_format_of_the_page_can_be_added(monkeypatch):
    monkeypatch.setattr(base, "_FORMATS", dict(base._FORMATS))
    code = re.search(r"```python\n(.*?)```", (DOCS / "actions.md").read_text(), re.DOTALL)[1]
    exec(compile(code, "docs/actions.md", "exec"), {"__name__": "page"})
    bash = base.get("bash")
    for action in (base.Action("shell", command="ls"), base.Action("submit")):
        assert bash.parse(bash.render(action)) == action
    assert bash.parse("").kind == "invalid"
