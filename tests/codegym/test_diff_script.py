"""Edit scripts: what they say, that they replay to the byte, and what changes but blanks, comments and names."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import codegym.diff
from codegym.diff import apply, diff_files
from codegym.diff.languages import language_of
from codegym.diff.script import edit_script
from codegym.diff.trees import parse

SOURCES = {
    "a.py": b"".join(path.read_bytes() for path in sorted(Path(codegym.diff.__file__).parent.glob("[l-p]*.py"))),
    "a.js": b"""export const f = (x, y) => { return `a${x}b` + "q\\n" + y[0]; };
// note
class A { m(a) { if (a) { f(a, 1); } else { g(); } } }
""",
    "a.go": b"""package p

// note
func (s *S) M(x []int) []int {
\tif x == nil {
\t\treturn x[1:]
\t}
\tfmt.Println("a\\n", x)
\treturn x[:1]
}
""",
    "A.java": b'class A { /* note */ int m(int a) { for (int i = 0; i < a; i++) { s += "x" + i; } return a; } }\n',
    "a.rs": b'fn main() { let x: Vec<u8> = vec![1, 2, 3]; // note\n    p!("{}", x.len()); match x { _ => {} } }\n',
    "a.c": b"#include <a.h>\n#define N 3\nstatic int f(int *p) { /* note */ while (*p) { p++; } return N ? *p : 0; }\n",
    "a.cpp": b"namespace n { template <class T> class A { int m() const { return x<T>(1); } }; }\n",
    "a.ts": b"interface I { p(x: string): void }\nconst t = <T,>(a: T): T => a; // note\n",
}


def told(old: bytes, new: bytes, path: str = "a.py") -> list[tuple[str, str, str]]:
    """(kind, node, symbol) of every action on syntax, after the checks that hold for every script."""
    script = edit_script(old, new, path)
    assert script.replay(old) == new
    assert script == edit_script(old, new, path)
    steps = [action for action in script.actions if action.kind != "space"]
    assert script.count() == len(steps)
    for action in steps:
        assert (action.old is None) == (action.kind == "insert")
        assert (action.new is None) == (action.kind == "delete")
        if action.kind in ("move", "update"):  # nothing becomes another kind of node, but for a file that is all error
            was = script.nodes[action.number]
            assert was.kind == action.node or was.parent == 0
    return [(action.kind, action.node, action.symbol) for action in steps]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"x = f(1)\n", b"x = f(2, y)\n",
         [("update", "integer", ""), ("insert", ",", ""), ("insert", "identifier", "")]),
        (b"x = 1\n", b"x  =  1 # no\n", [("insert", "comment", "")]),
        (b"a - b\n", b"a + b\n", [("insert", "+", ""), ("delete", "-", "")]),
        (b"x = y\n", b"x = f(y)\n", [
            ("insert", "call", ""), ("insert", "identifier", ""), ("insert", "argument_list", ""),
            ("insert", "(", ""), ("move", "identifier", ""), ("insert", ")", ""),
        ]),
        (b"a = 1\nb = 2\n", b"b = 2\na = 1\n", [("move", "expression_statement", "")]),
        (b"with f():\n    g(1)\n    assert 'no' in h(te.error)\n", b"with f():\n    g(1)\nassert 'no' in h(te.value)\n",
         [("move", "assert_statement", ""), ("update", "identifier", "")]),
        (b"s = 'a\\nb'\n", b"s = 'c\\nb'\n", [("update", "string_content", "")]),
        (b"x[1:]\n", b"x[:1]\n", [("insert", ":", ""), ("delete", ":", "")]),
        (b"def f():\n    return 1\n", b"def f():\n    return 2\n", [("update", "integer", "f")]),
        (b"x = 1\n", b"x = 1\n\n\n", []),
        (b"", b"x\n", [("insert", "module", ""), ("insert", "expression_statement", ""), ("insert", "identifier", "")]),
    ],
)  # fmt: skip
def test_scripts(old, new, expected):
    found = told(old, new)
    if old == b"":  # whether the empty module is a node of its own is the grammar's business
        found = [step for step in found if step[1] != "module"]
        expected = expected[1:]
    assert sorted(found) == sorted(expected)


def test_lines_where_there_is_no_syntax():
    assert told(b"a\nb\n", b"a\nc\n", "a.txt") == [("update", "line", "")]
    assert told(b"a\n\0b\n", b"a\n\0b\nc\n", "a.py") == [("insert", "line", "")]


WORD = re.compile(rb"\w+|[^\w\s]|\s+")


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(sorted(SOURCES)), st.integers(0, 10**6))
def test_any_change_replays(path, seed):
    rng = random.Random(seed)
    words = WORD.findall(SOURCES[path])
    at = rng.randrange(len(words))
    words = words[at : at + 300] if rng.random() < 0.5 else words[:600]
    old, changed = b"".join(words), list(words)
    for _ in range(rng.randint(1, 6)):
        start = rng.randrange(len(changed) + 1)
        taken = changed[start : start + rng.randint(0, 20)]
        kind = rng.randrange(4)
        if kind == 0:
            del changed[start : start + len(taken)]
        elif kind == 1:
            changed[start:start] = rng.sample(words, min(3, len(words)))
        elif kind == 2:
            del changed[start : start + len(taken)]
            to = rng.randrange(len(changed) + 1)
            changed[to:to] = taken
        elif taken:
            changed[start] = rng.choice([b"x1", b"\n", b"(", b"\xff", b"  ", b"# c\n", b"\n$\n", b"\n`\n"])
    new = b"".join(changed)
    told(old, new, path)
    files = {path: old}, {path: new}
    diff = diff_files(*files)
    assert apply(diff, files[0]) == files[1]
    for file in diff.files:
        assert file.parsed != any(parse(language_of(path), text).root_node.has_error for text in (old, new))
        assert file.parsed or file.note
        comments = language_of(path).comments
        for hunk in file.hunks:
            if hunk.only == "whitespace":
                assert b"".join(hunk.text.split()) == b"".join(old[slice(*hunk.old)].split())
        if file.only == "comments":
            assert all(change.node in comments for change in file.changes)


# Marks


@pytest.mark.parametrize(
    ("path", "old", "new", "only", "hunks"),
    [
        ("a.py", b"x = 1\ny = 2\n", b"x  = 1\n\ny = 2\n", "whitespace", ["whitespace"]),
        ("a.py", b"x = 1  # a\ny = 2\n", b"x = 1  # b\ny = 2 # c\n", "comments", ["comments"]),
        ("a.py", b"x = 1\n\ny = 2\nz\n", b"x = 3\n\ny  = 2\nz\n", "", ["", "whitespace"]),
        ("a.py", b"f(a)\nk\nx = 1 # b\n", b"f(a,)\nk\nx = 1 # c\n", "", ["", "comments"]),
        ("a.py", b"f(\n    a\n)\n", b"f(\n    a,  # now\n)\n", "", [""]),
        ("a.py", b"if x:\n    y\n    z\n", b"if x:\n    y\nz\n", "", [""]),
        ("a.py", b"s = 'a b'\n", b"s = 'a  b'\n", "", [""]),
        ("a.py", b"x[1:]\n", b"x[:1]\n", "", [""]),
        ("a.js", b"f('a');\n", b'f("a");\n', "", [""]),
        ("a.js", b"f(a);\n", b"f(a)\n", "", [""]),
        ("a.c", b"int x; /* a */\n", b"int x; // a\n", "comments", ["comments"]),
        ("a.txt", b"a b\n", b"a  b\n", "whitespace", ["whitespace"]),
        ("a.txt", b"a b\n", b"ab\n", "", [""]),
    ],
)
def test_marks(path, old, new, only, hunks):
    (file,) = diff_files({path: old}, {path: new}).files
    assert (file.only, [hunk.only for hunk in file.hunks]) == (only, hunks)
    assert bool(file.changes) == (only != "whitespace" or not file.parsed)


def test_a_byte_order_mark_is_no_blank():
    (file,) = diff_files({"a.py": b"\xef\xbb\xbfx = 1\n"}, {"a.py": b"x = 1\n"}).files
    assert (file.only, file.changes, file.note) == ("", (), "no syntax changed")


# Renames


LONG = b"".join(b"def f%d():\n    return %d\n\n\n" % (k, k) for k in range(20))


def test_a_renamed_file_that_changed_is_one_file():
    old = {"a.py": LONG, "b.py": LONG.replace(b"return", b"yield"), "c.txt": LONG}
    new = {"d/e.py": LONG.replace(b"return 3", b"return 4"), "f.py": old["b.py"]}
    diff = diff_files(old, new)
    assert apply(diff, old) == new
    found = [
        (f.path, f.old_path, f.status, [(c.kind, c.symbol) for c in f.changes if f.path != "c.txt"]) for f in diff.files
    ]
    assert found == [
        ("c.txt", "c.txt", "deleted", []),
        ("d/e.py", "a.py", "renamed", [("update", "f3")]),
        ("f.py", "b.py", "renamed", []),
    ]  # fmt: skip


def test_a_rename_that_is_known_needs_no_likeness():
    old, new = {"a.py": b"x = 1\n"}, {"b.py": b"something(else_)\n"}
    assert [file.status for file in diff_files(old, new).files] == ["deleted", "added"]
    (file,) = diff_files(old, new, renamed={"b.py": "a.py", "c.py": "a.py"}).files
    assert (file.path, file.old_path, file.status) == ("b.py", "a.py", "renamed")
