"""docs/actions.md: each example is read as the page says, and the format that it adds works in the environment."""

import re
from pathlib import Path

import pytest

from codegym.actions import base

PAGE = (Path(__file__).parents[2] / "docs" / "actions.md").read_text()
SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## )", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^(`{3,4})\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
KINDS = {
    "apply_patch": [("edit", 3)],
    "bash": [("shell", 0)],
    "search_replace": [("edit", 1)],
    "tool_call": [("edit", 1)],
    "udiff": [("edit", 1)],
    "xml": [("invalid", 0), ("invalid", 0)],
}


@pytest.mark.parametrize("name", KINDS)
def test_the_examples_are_read_as_the_page_says(name):
    section = dict(SECTION.findall(PAGE))[name]
    read = [base.get(name).parse(text) for _, text in EXAMPLE.findall(section)]
    assert [(action.kind, len(action.edits)) for action in read] == KINDS[name]
    assert "**Escape.**" in section


def test_xml_rows_are_read():
    for row in re.findall(r"^\| `(<[^`]*>)` \|", dict(SECTION.findall(PAGE))["xml"], re.MULTILINE):
        assert base.get("xml").parse(row).error is None, row


def test_the_format_of_the_page_can_be_added_and_used(monkeypatch, capsys):
    monkeypatch.setattr(base, "_FORMATS", dict(base._FORMATS))
    module, use = re.findall(r"```python\n(.*?)```", PAGE.split("## Adding a format")[1], re.DOTALL)
    exec(compile(module, "docs/actions.md", "exec"), {"__name__": "page"})
    form = base.get("sections")
    for action in (
        base.Action("shell", command="ls"),
        base.Action("submit"),
        base.Action("edit", (base.Write("a", base.Text(b"RUN\n")), base.Write("b", base.Text(b"")))),
    ):
        assert form.parse(form.render(action)) == action
    for reply, words in (("", "no action"), ("FILE a\nx\n", "ends inside"), ("RUN ls\nRUN ls", "two actions")):
        assert words in form.parse(reply).error
    with pytest.raises(ValueError, match="sections format cannot write"):
        form.render(base.Action("edit", (base.Delete("a"),)))
    exec(compile(use, "docs/actions.md", "exec"), {"__name__": "page"})
    assert "'valid': True" in capsys.readouterr().out


def test_a_format_is_imported_by_its_module(monkeypatch, tmp_path):
    monkeypatch.setattr(base, "_FORMATS", dict(base._FORMATS))
    module = re.search(r"```python\n(.*?)```", PAGE.split("## Adding a format")[1], re.DOTALL)[1]
    (tmp_path / "sections_of_mine.py").write_text(module)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="'sections' is unknown; there are: apply_patch, bash"):
        base.get("sections")
    assert base.get("sections_of_mine:sections").name == "sections"
    with pytest.raises(ImportError):
        base.get("no_such_module:sections")
