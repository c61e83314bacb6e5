"""Structured diffs: known answers, the bytes they promise, where they fall back."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

import codegym.diff.files
from codegym.actions.base import Action, Insert, Lines, Replace, Text, Write, get
from codegym.diff import Diff, Hunk, apply, diff_files, unified
from codegym.diff.languages import PYTHON, language_of
from codegym.diff.lines import cut_lines
from codegym.diff.model import SCHEMA_VERSION
from codegym.diff.trees import parse
from codegym.edits import EditError, apply_edits
from codegym.env import CodeEnv
from codegym.spans import Origin, Span, reply_bytes
from tests.codegym.patching import patched
from tests.pace import at_most

SCHEMA = json.loads((Path(codegym.diff.__file__).parent / "schema.json").read_text())

OLD = b"""import os


class Stack:
    def push(self, a, b):
        return a - b

    @property
    def top(self):
        x = 1
        y = 2
        return x


def count(n):
    while n < 3:
        n += 1
    return n
"""


def changes(old: bytes, new: bytes, path: str = "a.py") -> list[tuple]:
    """(kind, node, symbol, old text, new text) of every change."""
    diff = diff_files({path: old}, {path: new})
    checked(diff, {path: old}, {path: new})
    (file,) = diff.files
    return [
        (c.kind, c.node, c.symbol, c.old and old[slice(*c.old)], c.new and new[slice(*c.new)]) for c in file.changes
    ]


def checked(diff: Diff, old: dict[str, bytes], new: dict[str, bytes]) -> None:
    """What holds for every diff."""
    assert apply(diff, old) == new
    assert [file.path for file in diff.files] == sorted(file.path for file in diff.files)
    for file in diff.files:
        before, after = old.get(file.old_path or "", b""), new.get(file.path, b"")
        for hunk in file.hunks:
            assert after[slice(*hunk.new)] == hunk.text
            assert before[slice(*hunk.old)] != hunk.text
        assert file.parsed or file.note
        for change in file.changes:
            assert (change.old is None) == (change.kind == "insert")
            assert (change.new is None) == (change.kind == "delete")
            assert change.old is None or change.old.end <= len(before)
            assert change.new is None or change.new.end <= len(after)
    data = json.loads(json.dumps(diff.to_dict()))
    assert Diff.from_dict(data) == diff
    assert diff_files(old, new) == diff_files(dict(reversed(old.items())), new)


# Syntax


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (b"a - b", b"a + b", [("update", "binary_operator", "Stack.push", b"a - b", b"a + b")]),
        (b"x = 1", b"x = 10", [("update", "integer", "Stack.top", b"1", b"10")]),
        (b"        y = 2\n", b"", [("delete", "expression_statement", "Stack.top", b"y = 2", None)]),
        (b"    @property\n", b"", [
            ("delete", "decorated_definition", "Stack.top",
             b"@property\n    def top(self):\n        x = 1\n        y = 2\n        return x", None),
            ("move", "function_definition", "Stack.top",
             *[b"def top(self):\n        x = 1\n        y = 2\n        return x"] * 2),
        ]),
        (b"self, a, b", b"self, a, b, c", [("insert", "identifier", "Stack.push", None, b"c")]),
        (b"import os\n", b"import sys\n", [("update", "identifier", "", b"os", b"sys")]),
        (b"n += 1", b"n -= 1", [("update", "augmented_assignment", "count", b"n += 1", b"n -= 1")]),
        (b"    return n\n", b"    return n\n\n\ndef more(k):\n    return k\n",
         [("insert", "function_definition", "more", None, b"def more(k):\n    return k")]),
        (b"        x = 1\n        y = 2\n", b"        y = 2\n        x = 1\n",
         [("move", "expression_statement", "Stack.top", b"y = 2", b"y = 2")]),
        (b"        n += 1\n", b"        if n:\n            n += 1\n", [
            ("insert", "if_statement", "count", None, b"if n:\n            n += 1"),
            ("move", "expression_statement", "count", b"n += 1", b"n += 1"),
        ]),
        (b"import os\n\n\n", b"import os\n\n", []),
        (b"class Stack", b"class Pile", [
            ("delete", "class_definition", "Stack", OLD[11:OLD.index(b"\n\n\ndef")], None),
            ("insert", "class_definition", "Pile", None, OLD[11:OLD.index(b"\n\n\ndef")].replace(b"Stack", b"Pile")),
        ]),
    ],
)  # fmt: skip
def test_changes_as_syntax(before, after, expected):
    assert OLD.count(before) == 1
    found = changes(OLD, OLD.replace(before, after))
    if before == b"class Stack":  # renamed: one update, for nearly everything in it stayed
        assert found == [("update", "identifier", "Pile", b"Stack", b"Pile")]
    else:
        assert sorted(found, key=str) == sorted(expected, key=str)


SHORT = b"""def a():
    x = compute(1, 2, 3)
    return x


def b():
    return 0
"""
COMPUTE = b"    x = compute(1, 2, 3)\n"
SPLIT = b"""class A:
    def first(self) -> str:
        \"\"\"All.\"\"\"
        one = self.take(1, 2)
        two = self.take(one, 3)
        return f"{one} {two}"
"""
SECOND = b"        return self.second()\n\n    def second(self) -> str:\n"
LOOP = b"""def f(x):
    while True:
        with x.lock:
            x.wait(1, 2)
        x.go(3, 4)
"""


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        (b"from x import A, B, C\n", b"from x import B, D, C\n", []),
        (b"f(a, bb)\n", b"f(bb, cc)\n", []),
        (b"t + s\n", b"s + t\n", [b"t"]),
        (b"self.a = os.getpid()\nf(1, 2)\n", b"f(1, 2)\nsuper().__init__()\n", []),
        (b"f(len(a.b, 1), k)\n", b"f(k, len(a.b, 2))\n", [b"len(a.b, 1)"]),
        # Text that no hunk touches decides what its parents are.
        (SHORT, SHORT.replace(COMPUTE, b"").replace(b"    return 0", COMPUTE + b"    return 0"), [COMPUTE.strip()]),
        (SPLIT, SPLIT.replace(b"        one", SECOND + b"        one"),
         [b'"""All."""', SPLIT[SPLIT.index(b'"""All') : -1]]),  # the body went to another function
        (LOOP, LOOP.replace(b"        x.go", b"        if x:\n            return\n        x.go"), []),
    ],
)  # fmt: skip
def test_a_move_is_of_something_that_is_recognisably_the_same(old, new, moved):
    assert [change[3] for change in changes(old, new) if change[0] == "move"] == moved


def test_whole_files():
    assert changes(b"", b"x = 1\n") == [("insert", "expression_statement", "", None, b"x = 1")]
    diff = diff_files({"a.py": b"x = 1\n", "b.py": b"y\n"}, {"b.py": b"y\n", "c.py": b"z\n", "d.py": b""})
    assert [(f.path, f.old_path, f.status, [c.kind for c in f.changes]) for f in diff.files] == [
        ("a.py", "a.py", "deleted", ["delete"]),
        ("c.py", None, "added", ["insert"]),
        ("d.py", None, "added", []),
    ]
    assert diff_files({"a": b"1"}, {"a": b"1"}) == Diff()


def test_renames():
    old = {"a.py": b"x\n", "b.py": b"x\n", "c.py": b"", "k": b"1"}
    new = {"d.py": b"x\n", "e.py": b"x\n", "f.py": b"", "k": b"1"}
    diff = diff_files(old, new)
    checked(diff, old, new)
    assert [(f.path, f.old_path, f.status) for f in diff.files] == [
        ("c.py", "c.py", "deleted"),
        ("d.py", "a.py", "renamed"),
        ("e.py", "b.py", "renamed"),
        ("f.py", None, "added"),
    ]


def leaves(text: bytes, spans: list) -> list[bytes]:
    """The texts of the leaves that lie in none of the spans."""
    found, todo = [], [parse(PYTHON, text).root_node]
    while todo:
        node = todo.pop()
        if node.child_count:
            todo.extend(reversed(node.children))
        elif not any(start <= node.start_byte and node.end_byte <= end for start, end in spans):
            found.append(node.text)
    return [leaf for leaf in found if leaf not in (b",", b"(", b")", b":", b";", b"[", b"]", b"{", b"}", b"")]


PYTHON_LINES = [
    "x = 1", "y = f(x, 2)", "return x", "if x:", "    y = 3", "def g(a):", "    return a + 1", "class C:", "f(x)",
    "    def m(self): pass", "    z = [i for i in y if i > 2]", "@d", "# note", "", "s = '''a", "b'''",
]  # fmt: skip


OUT_OF_PLACE = (
    ["f(x)", "    y = 3", "f(x)", "if x:", "    y = 3"],
    ["f(x)", "if x:", "    y = 3", "f(x)", "    y = 3"],
)


def test_a_subtree_whose_inside_has_a_partner_elsewhere():
    old, new = ("\n".join(lines).encode() for lines in OUT_OF_PLACE)
    (file,) = diff_files({"a.py": old}, {"a.py": new}).files
    assert leaves(old, [c.old for c in file.changes if c.old]) == leaves(new, [c.new for c in file.changes if c.new])


@settings(deadline=None)
@given(st.lists(st.sampled_from(PYTHON_LINES), max_size=12), st.randoms(use_true_random=False))
def test_outside_the_changes_the_syntax_is_equal(lines, rng: random.Random):
    old = "\n".join(lines).encode()
    mutated = list(lines)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(mutated))
        kind = rng.randint(0, 3)
        if kind == 0:
            mutated.insert(at, rng.choice(PYTHON_LINES))
        elif mutated[at:]:
            line = mutated.pop(at)
            if kind == 1:
                mutated.insert(rng.randint(0, len(mutated)), line)
            elif kind == 2:
                mutated.insert(at, line.replace("x", "w").replace("+", "-"))
    new = "\n".join(mutated).encode()
    files = {"a.py": old}, {"a.py": new}
    diff = diff_files(*files)
    checked(diff, *files)
    for file in diff.files:
        if file.parsed:
            gone = [change.old for change in file.changes if change.old]
            come = [change.new for change in file.changes if change.new]
            assert leaves(old, gone) == leaves(new, come)


# Bytes

BLOB = st.lists(st.sampled_from([b"a", b"b", b"\n", b"\r\n", b"\r", b"\x0c", b"\x85", b"\0", b"\xff", b"aa\n"])).map(
    b"".join
)
FILES = st.dictionaries(st.sampled_from(["a.py", "b", "c é.py", "d\udcff"]), BLOB)


@settings(deadline=None)
@given(FILES, FILES)
def test_any_bytes(old, new):
    checked(diff_files(old, new), old, new)


def test_lines_split_at_newline_only():
    old = b"a\x0c\x1c\rb\xe2\x80\xa8c\x85\nd\n"
    assert cut_lines(old, old.replace(b"d", b"e")).cuts == [(len(old) - 2, len(old), len(old) - 2, len(old))]
    (file,) = diff_files({"a": old}, {"a": old.replace(b"b", b"B")}).files
    assert [(h.old, h.text) for h in file.hunks] == [((0, 10), b"a\x0c\x1c\rB\xe2\x80\xa8c\x85")]


# Sources


def edited(reply: str, files: dict[str, bytes]):
    applied = apply_edits(files, get("xml").parse(reply).edits)
    return diff_files(files, applied.files, applied.origins), reply_bytes(reply)


def test_sources_are_the_bytes_that_wrote_the_change():
    diff, raw = edited(
        '<edit path="a.py"><search>a - b</search><replace>a + b</replace>'
        "<search>        y = 2\n        return x</search><replace>        return x</replace></edit>",
        {"a.py": OLD},
    )
    (file,) = diff.files
    texts = lambda spans: [raw[slice(*span)] for span in spans]  # noqa: E731
    update, delete = file.changes
    assert (texts(update.source), texts(update.place)) == ([b"a + b"], [b'<edit path="a.py">', b"a - b"])
    assert update.source[0].start == raw.index(b"a + b")
    assert (texts(delete.source), texts(delete.place)) == (
        [],
        [b'<edit path="a.py">', b"        y = 2\n        return x"],
    )
    assert [texts(hunk.source) for hunk in file.hunks] == [[b"a + b"], []]
    assert file.hunks[1].place == delete.place


@pytest.mark.parametrize(
    ("edits", "moved"),
    [
        ('<lines path="a.py" first="1" last="1"></lines><insert path="a.py" line="1">\nx = 1\n</insert>', b"x = 1"),
        ('<lines path="a.py" first="2" last="2"></lines><insert path="a.py" line="0">\ny = 2\n</insert>', b"y = 2"),
    ],
)
@pytest.mark.parametrize("around", [b"%b", b"def f():\n%b"])
def test_of_two_statements_that_changed_places_the_one_that_was_written_moved(edits, moved, around):
    old = around % b"x = 1\ny = 2\n"
    if around != b"%b":
        old = old.replace(b"x", b"    x").replace(b"y", b"    y")
        edits = re.sub("[xy] =", r"    \g<0>", re.sub(r'(?<==")(\d)', lambda line: str(int(line[0]) + 1), edits))
    diff, _ = edited(edits, {"a.py": old})
    (change,) = diff.files[0].changes
    assert (change.kind, old[slice(*change.old)]) == ("move", moved)
    assert change.source


def test_changes_that_no_edit_wrote_have_no_source():
    (file,) = diff_files({"a.py": OLD}, {"a.py": OLD.replace(b"-", b"+")}, {"b.py": ()}).files
    assert (file.hunks[0].source, file.changes[0].source, file.changes[0].place) == ((), (), ())


@pytest.mark.parametrize(
    "reply",
    ['<insert path="a" line="1">\nx\n</insert>', '<insert path="a" line="2">\nx\n</insert>',
     '<insert path="a" line="0">\nx\n</insert>', '<lines path="a" first="2" last="2"></lines>',
     '<lines path="a" first="1" last="1"></lines>', '<lines path="a" first="3" last="3"></lines>'],
)  # fmt: skip
@pytest.mark.parametrize("path", ["a", "a.py"])
def test_one_of_several_equal_lines_is_the_one_that_was_written(reply, path):
    reply = reply.replace('"a"', f'"{path}"')
    diff, raw = edited(reply, {path: b"x\nx\nx\n"})
    (hunk,) = diff.files[0].hunks
    assert hunk.place
    assert hunk.text == b"".join(raw[slice(*span)] for span in hunk.source)
    assert all(change.place for change in diff.files[0].changes)


def test_a_whole_file_written_again_gives_credit_to_what_changed():
    new = OLD.replace(b"a - b", b"a + b")
    diff, raw = edited(f'<write path="a.py">\n{new.decode()}</write>', {"a.py": OLD})
    (change,) = diff.files[0].changes
    assert [raw[slice(*span)] for span in change.source] == [b"a + b"]
    assert [raw[slice(*hunk.source[0])] for hunk in diff.files[0].hunks] == [b"        return a + b\n"]


LINE = st.sampled_from(["x = 1\n", "y = x + 2\n", "f(x)\n", "if x:\n    y = 1\n", "\n", "z", "x = 1\r\n"])
CODE = st.lists(LINE, max_size=6).map("".join).map(str.encode)
EDIT = st.one_of(
    st.builds(Write, st.sampled_from(["a.py", "b.py"]), st.builds(Text, CODE)),
    st.builds(Replace, st.just("a.py"), st.builds(Text, CODE), st.builds(Text, CODE)),
    st.builds(Insert, st.just("a.py"), st.integers(0, 4), st.builds(Text, CODE)),
    st.builds(lambda n, k, t: Lines("a.py", n, n + k, Text(t)), st.integers(1, 4), st.integers(0, 2), CODE),
)


@settings(deadline=None)
@given(CODE, st.lists(EDIT, min_size=1, max_size=3))
def test_exact_sources_hold_the_new_text(old, edits):
    reply = get("xml").render(Action("edit", tuple(edits)))
    raw = reply_bytes(reply)
    files = {"a.py": old}
    try:
        applied = apply_edits(files, get("xml").parse(reply).edits)
    except EditError:
        return
    diff = diff_files(files, applied.files, applied.origins)
    assert apply(diff, files) == applied.files
    patch = unified(Diff(tuple(file for file in diff.files if file.path == "a.py")), files)
    assert patched(old, reply_bytes(patch)) == applied.files["a.py"]
    for file in diff.files:
        after = applied.files[file.path]
        origins = applied.origins[file.path]
        exact = all(origin.exact for origin in origins)
        for item in (*file.hunks, *(change for change in file.changes if change.new)):
            # Every hunk was written by edits. Old text that syntax counts as inserted elsewhere was not.
            if item in file.hunks or any(h.new.start < item.new.end and item.new.start < h.new.end for h in file.hunks):
                assert item.source or item.place
            if exact and item.new:
                written = b"".join(
                    after[max(item.new.start, o.new.start) : min(item.new.end, o.new.end)] for o in origins
                )
                assert b"".join(raw[slice(*span)] for span in item.source) == written


# Fall-backs


def test_half_written_code_is_compared_by_lines():
    (file,) = diff_files({"a.py": OLD}, {"a.py": OLD + b"\ndef half(\n"}).files
    assert (file.parsed, file.note) == (False, "a syntax error in the new file at line 20, compared by lines there")
    assert [(c.kind, c.node, c.symbol) for c in file.changes] == [("insert", "line", "")]
    (file,) = diff_files({"a.txt": b"a\nb\n"}, {"a.txt": b"a\nc\n"}).files
    assert (file.language, file.note) == (None, "no grammar for this kind of file")


DEEP = b"x = " + b"(" * 5_000 + b"1" + b")" * 5_000 + b"\n"
CHAIN = b"x = " + b"a + " * 5_000 + b"1\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"x = 1\n" * 10_000, b"x = 1\n" * 9_999),
        (b"x = 1\n" * 10_000, b"y = 1\n" * 10_000),
        (b"x = 1\n" * 10_000, b"x = 1\ny = 2\n" * 5_000),
        (b"x = 1\n" * 20_000, b"y = 1\n" * 20_000),
        (b"x" * 1_000_000, b"x" * 500_000 + b"y" + b"x" * 499_999),
        (b"s = '" + b"x" * 1_000_000 + b"'\n", b"s = '" + b"y" * 1_000_000 + b"'\n"),
        (b"x = [" + b"1," * 300_000 + b"]\n", b"x = [" + b"2," * 300_000 + b"]\n"),
        (DEEP, DEEP.replace(b"1", b"2")),
        (CHAIN, CHAIN.replace(b"1", b"2")),
        (CHAIN, b"".join(b"a + b + "[k % 2 * 4 :][:4] for k in range(5_000)) + CHAIN),
        (b"".join(b" " * k + b"if x:\n" for k in range(300)) + b" " * 300 + b"y\n", b"if y:\n\tif x:\n        y\n"),
        (b"f(" * 3_000 + b"1" + b")" * 3_000, b"f(g(" * 1_500 + b"2" + b")" * 3_000),
    ],
)
@pytest.mark.parametrize("path", ["a.py", "a.txt"])
def test_time_is_bounded(path, old, new):
    with at_most(350):
        diff = diff_files({path: old}, {path: new})
    assert apply(diff, {path: old}) == {path: new}
    assert diff.files[0].parsed or diff.files[0].note


def test_too_many_lines_are_one_hunk():
    rng = random.Random(0)
    old, new = (b"".join(b"%d\n" % rng.randrange(100) for _ in range(20_000)) for _ in range(2))
    (file,) = diff_files({"a": old}, {"a": new}).files
    assert (len(file.hunks), "too many lines to align" in file.note) == (1, True)


def test_a_long_file_with_few_changes_has_few_small_hunks():
    old = b"".join(b"line %d\n" % k for k in range(50_000))
    new = old.replace(b"line 7\n", b"LINE 7\n").replace(b"line 49990\n", b"")
    (file,) = diff_files({"a": old}, {"a": new}).files
    assert [(old[slice(*hunk.old)], hunk.text) for hunk in file.hunks] == [
        (b"line 7", b"LINE 7"),
        (b"line 49990\n", b""),
    ]


def test_a_wrong_diff_fails_the_test_that_made_it(monkeypatch, wrong_diffs, toy):
    """Whoever made it: the environment takes the same engine."""
    env = CodeEnv(benchmark=toy)
    env.reset(seed=0)
    monkeypatch.setattr(codegym.diff.files, "Hunk", lambda old, new, text, *rest: Hunk(old, new, text + b"!", *rest))
    with pytest.raises(AssertionError, match="the diff of a does not give the new files"):
        diff_files({"a": b"1"}, {"a": b"2"})
    with pytest.raises(AssertionError):
        env.step('<write path="a.py">\nx = 1\n</write>')
    assert len(wrong_diffs) == 2
    wrong_diffs.clear()


def test_every_process_says_the_same():
    """Whatever the order of sets: the same pair gives the same bytes."""
    code = """if True:
        import json, pathlib, codegym.diff as d
        folder = pathlib.Path(d.__file__).parent
        old, new = ({"a.py": (folder / name).read_bytes()} for name in ("tree.py", "forest.py"))
        diff = d.diff_files(old, new)
        print(json.dumps(diff.to_dict()), d.unified(diff, old))
    """
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


# Serialisation


def test_the_schema_describes_the_data():
    assert SCHEMA["$id"] == f"urn:codegym:diff:{SCHEMA_VERSION}"
    Draft202012Validator.check_schema(SCHEMA)
    old, new = {"a.py": OLD, "b": b"x"}, {"a.py": OLD.replace(b"- b", b"+ c"), "c": b"x", "d": b"\xff"}
    data = diff_files(old, new, {"a.py": [Origin(Span(50, 60), Span(1, 11), Span(0, 1))]}).to_dict()
    assert {file["status"] for file in data["files"]} == {"modified", "renamed", "added"}
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(data)))
    del data["files"][0]["changes"][0]["symbol"]
    with pytest.raises(ValidationError, match="'symbol' is a required property"):
        Draft202012Validator(SCHEMA).validate(data)


def test_another_version_is_refused():
    with pytest.raises(ValueError, match="version 0; this reads versions 1 to 2"):
        Diff.from_dict({"version": 0, "files": []})


def test_another_workspace_is_refused():
    diff = diff_files({"a": b"x\ny\n"}, {"a": b"x\nz\n"})
    for files in ({}, {"a": b"x"}):
        with pytest.raises(ValueError, match="apply the diff to the files it was made from"):
            apply(diff, files)


def test_languages_go_by_name():
    assert [language_of(path) is not None for path in ("a.py", "d.py/x", "b.pyi", "py", ".py", "a.txt")] == [
        True, False, True, False, True, False,
    ]  # fmt: skip
