"""Replies that broke public tools, walked from the reply's text to the patch: read, applied, diffed, applied again.

The row names are those of the table that they come from: A edits, C reading replies, D diffs.
"""

import subprocess

import pytest

from codegym.actions.base import Action, get
from codegym.diff import apply, diff_files, unified
from codegym.edits import EditError, apply_edits
from codegym.spans import reply_bytes

XML = get("xml")


def edit(path: str, search: str, text: str) -> str:
    return f'<edit path="{path}">\n<search>\n{search}\n</search>\n<replace>\n{text}\n</replace>\n</edit>'


CODE_WITH_TAGS = 'TAIL = "</edit>"\nCDATA = "]]>"\nHEAD = "<search>"\nFENCE = """```"""\n'

APPLIED = {
    "A1": ({"a": b"a\r\nb\r\nc\r\n"}, edit("a", "b\nc", "B\nc"), {"a": b"a\r\nB\r\nc\r\n"}),
    "A2": (
        {"Makefile": b"all:\n\techo hi\n"},
        edit("Makefile", "echo hi", "echo yo"),
        {"Makefile": b"all:\n\techo yo\n"},
    ),
    "A3-latin": (
        {"a.js": b"const x = 1;\n// caf\xe9 note\n"},
        edit("a.js", "x = 1", "x = 2"),
        {"a.js": b"const x = 2;\n// caf\xe9 note\n"},
    ),
    "A3-bom": ({"a.py": b"\xef\xbb\xbfx = 1\n"}, edit("a.py", "x = 1", "x = 2"), {"a.py": b"\xef\xbb\xbfx = 2\n"}),
    "A3-odd": ({"a": b"a\r\nb\nc\r\n"}, edit("a", "a\nb", "A\nb"), {"a": b"A\r\nb\nc\r\n"}),
    "A5": ({"a": b"a\nb"}, edit("a", "b", "B"), {"a": b"a\nB"}),
    "C6": (
        {"a.py": b"x = 1\ny = 2\n"},
        "<think>" + edit("a.py", "x = 1", "x = 9") + "</think>Now:\n"
        '<edit path="a.py"><search>x = 1</search><replace>x = 3</replace>'
        "<search>y = 2</search><replace>y = 4</replace></edit>" + edit("a.py", "y = 4", "y = 5"),
        {"a.py": b"x = 3\ny = 5\n"},
    ),
    "C7": (
        {"a.py": b""},
        f'<write path="a.py" id="k1">\n{CODE_WITH_TAGS}</write id="k1">',
        {"a.py": CODE_WITH_TAGS.encode()},
    ),
    "D1": (
        {"café.py": b"x = 1\n", "sp ace.py": b"x = 1\n", "t\tab": b"x = 1\n", 'q"uote': b"x = 1\n"},
        "".join(edit(path, "x = 1", "x = 2") for path in ("café.py", "sp ace.py", "t\tab"))
        + edit('q"uote', "x = 1", "x = 2").replace('"q"uote"', "'q\"uote'"),
        {"café.py": b"x = 2\n", "sp ace.py": b"x = 2\n", "t\tab": b"x = 2\n", 'q"uote': b"x = 2\n"},
    ),
    "D2": (
        {"a": b"a\rb\x0cc\x1cd\xc2\x85e\xe2\x80\xa8f\nlast\n"},
        '<lines path="a" first="2" last="2">\nLAST\n</lines>',
        {"a": b"a\rb\x0cc\x1cd\xc2\x85e\xe2\x80\xa8f\nLAST\n"},
    ),
    "D3": ({"a": b"x\n"}, '<write path="d/empty"></write>', {"a": b"x\n", "d/empty": b""}),
}


@pytest.mark.parametrize("row", APPLIED)
def test_applied(row, tmp_path):
    old, reply, new = APPLIED[row]
    action = XML.parse(reply)
    assert (action.kind, action.error) == ("edit", None)
    applied = apply_edits(old, action.edits)
    assert applied.files == new
    diff = diff_files(old, applied.files, applied.origins)
    assert apply(diff, old) == new
    raw = reply_bytes(reply)
    for file in diff.files:
        for hunk in file.hunks:
            if b"\r\n" not in hunk.text:
                assert b"".join(raw[slice(*span)] for span in hunk.source) == hunk.text
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for path, data in old.items():
        (tmp_path / path).write_bytes(data)
    patch = reply_bytes(unified(diff, old))
    subprocess.run(["git", "-c", "core.autocrlf=false", "apply", "-"], cwd=tmp_path, input=patch, check=True)
    assert {path: (tmp_path / path).read_bytes() for path in new} == new


REFUSED = {
    "A10": ({"a": b"1\n", "b": b"2\n"}, edit("a", "1", "x") + edit("b", "3", "x"), "edit 2 of 2"),
    "A12-up": ({}, '<write path="../../e.txt">x</write>', "inside the workspace"),
    "A12-absolute": ({}, '<write path="/etc/e.txt">x</write>', "inside the workspace"),
    "A12-nul": ({}, '<write path="a\0b">x</write>', "inside the workspace"),
    "A12-directory": ({"d/a": b""}, '<write path="d">x</write>', "is a directory"),
    "A13-line": ({"a": b"x\ny\nx\n"}, edit("a", "x", "z"), "at lines 1, 3"),
    "A13-lines": ({"a": b"x\ny\nx\ny\n"}, edit("a", "x\ny", "z"), "at lines 1-2, 3-4"),
    "A13-empty": ({"a": b"x\n"}, edit("a", "", "z"), "search text is empty"),
    "A13-numbers": ({"a": b"def f():\n    pass\n"}, edit("a", "1: def f():\n2:     pass", "z"), "line numbers"),
    "A14-trailing": ({"a": b"x = 1  \n"}, edit("a", "x = 1\n", "z"), "trailing blanks is at line 1"),
    "A14-indent": ({"a": b"if x:\n\ty = 1\n"}, edit("a", "    y = 1", "z"), "indentation is at line 2"),
}


@pytest.mark.parametrize("row", REFUSED)
def test_refused(row):
    old, reply, words = REFUSED[row]
    before = dict(old)
    with pytest.raises(EditError, match=words):
        apply_edits(old, XML.parse(reply).edits)
    assert old == before


def test_c1_and_c2_shell_blocks_are_whole():
    command = "cat > README.md <<'EOF'\n```python\nprint(1)\n```\n```sh\nls\n```\nEOF"
    assert XML.parse(f"<shell>\n{command}\n</shell>") == Action("shell", command=command)
    assert XML.parse('<shell>echo "a << b"</shell>') == Action("shell", command='echo "a << b"')


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("I would look at the file first.", "no action"),
        ("<shell>ls</shell> <submit/>", "two actions"),
        (edit("a", "x", "y")[:-20], "the reply ends inside"),
        (edit("a", "x", 'print("</edit>")'), 'id="k1"'),
    ],
)
def test_c4_and_c7_errors_name_what_is_wrong(reply, words):
    action = XML.parse(reply)
    assert (action.kind, action.edits) == ("invalid", ())
    assert words in action.error
