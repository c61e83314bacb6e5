"""The apply_patch format: the Begin Patch form."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.actions.base import Action, Delete, Hunk, Insert, Patch, Rename, Text, Write, get
from codegym.edits import EditError, apply_edits
from codegym.spans import reply_bytes, reply_text
from tests.pace import at_most

FORMAT = get("apply_patch")


def parse(reply: str) -> Action:
    action = FORMAT.parse(reply)
    raw = reply_bytes(reply)
    for edit in action.edits:
        for hunk in edit.hunks if isinstance(edit, Patch) else ():
            for text in (*hunk.above, *(text for _, text in hunk.lines)):
                assert raw[slice(*text.span)] in (text.data, text.data.removesuffix(b"\n"))
    return action


def error(reply: str) -> str:
    action = parse(reply)
    assert (action.kind, action.edits) == ("invalid", ())
    assert action.error is not None
    return action.error


def patch(body: str) -> str:
    return f"I change it.\n*** Begin Patch\n{body}*** End Patch\nDone."


def apply(files: dict, body: str) -> dict:
    action = parse(patch(body))
    assert action.error is None
    return apply_edits(files, action.edits).files


def refused(files: dict, body: str) -> str:
    with pytest.raises(EditError) as info:
        apply(files, body)
    return str(info.value)


ONE = "*** Update File: m.py\n@@ def f():\n-    x = 1\n+    x = 2\n"


def test_a_patch_is_read_wherever_it_stands():
    lines = (("-", Text(b"    x = 1\n")), ("+", Text(b"    x = 2\n")))
    wanted = Action("edit", (Patch("m.py", (Hunk(lines, None, (Text(b"def f():"),)),)),))
    for reply in (
        patch(ONE),
        patch(ONE).replace("\n", "  \n", 2),
        f"```\n{patch(ONE)}\n```",
        f"```bash\napply_patch <<'EOF'\n*** Begin Patch\n{ONE}*** End Patch\nEOF\n```",
        f"<think>{patch('')}</think>{patch(ONE)}",
    ):
        assert parse(reply) == wanted


def test_all_that_a_patch_can_do():
    files = {"m.py": b"def f():\n    x = 1\n", "old.py": b"", "a": b"1\n2\n"}
    body = ONE + "*** Add File: d/new.py\n+a\n+\n*** Delete File: old.py\n"
    body += "*** Update File: a\n*** Move to: b\n@@\n 1\n+1.5\n 2\n*** End of File\n"
    assert apply(files, body) == {"m.py": b"def f():\n    x = 2\n", "d/new.py": b"a\n\n", "b": b"1\n1.5\n2\n"}
    assert apply({"a": b"1\n"}, "*** Update File: a\n*** Move to: b\n") == {"b": b"1\n"}
    assert apply({"a": b"1\r\n2"}, "*** Update File: a\n-2\n+3\n") == {"a": b"1\r\n3"}
    assert apply({"a": b"1\n"}, "*** Update File: a\n@@\n+2\n*** End of File\n") == {"a": b"1\n2\n"}
    assert apply({"a": b"1\n"}, "*** Update File: a\n@@ 1\n+2\n") == {"a": b"1\n2\n"}


TWICE = b"class A:\n    def f():\n        x = 1\nclass B:\n    def f():\n        x = 1\n"
CHANGE = "-        x = 1\n+        x = 2\n"


def test_lines_above_say_which_place():
    second = TWICE[:-2] + b"2\n"
    assert apply({"m": TWICE}, f"*** Update File: m\n@@ class B:\n@@ def f():\n{CHANGE}") == {"m": second}
    assert apply({"m": TWICE}, f"*** Update File: m\n@@ class B:\n{CHANGE}") == {"m": second}
    assert apply({"m": TWICE}, f"*** Update File: m\n@@ class B:\n class B:\n     def f():\n{CHANGE}") == {"m": second}
    assert apply({"m": TWICE}, f"*** Update File: m\n{CHANGE}*** End of File\n") == {"m": second}
    assert "more than once, at lines 2, 5" in refused({"m": TWICE}, f"*** Update File: m\n@@ def f():\n{CHANGE}")
    assert "2 times, at lines 3, 6" in refused({"m": TWICE}, f"*** Update File: m\n@@\n{CHANGE}")
    message = refused({"m": TWICE}, f"*** Update File: m\n@@ class C:\n{CHANGE}")
    assert "the line 'class C:', which hunk 1 names, is not in the file; the nearest is at line 1:\nclass A:" in message
    assert "does not say where" in refused({"m": TWICE}, "*** Update File: m\n@@\n+y\n")
    assert "exists already" in refused({"m": TWICE}, "*** Add File: m\n+y\n")


def test_a_refusal_says_where_the_lines_are():
    files = {"m": b"x\nclass Ab:\n  y\nz\n"}

    def why(hunk: str) -> str:
        return refused(files, f"*** Update File: m\n{hunk}")

    assert (
        why("@@\n-x\n+q\n*** End of File\n")
        == "m: the lines of hunk 1 are at line 1, but not at the end of the file, as it says"
    )
    assert why("@@ class Ab:\n-x\n+q\n").endswith("are at line 1, but not below line 2, which it names")
    assert why("@@ y\n-z\n+q\n@@ z\n@@ class Ab:\n+q\n").endswith(
        "hunk 2 names the line 'class Ab:', which is at line 2, but not below line 4, which it names before"
    )
    assert "nearest is at line 2:\nclass Ab:" in why("@@ class A:\n-  y\n+q\n")
    assert "which hunk 1 names, is not in the file" in why("@@ class Ab:\n@@ def f():\n-  y\n+q\n")


def test_commands_and_the_end():
    assert parse("```bash\npytest -q\n```") == Action("shell", command="pytest -q")
    assert parse("```bash\nsubmit\n```") == Action("submit")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "no action"),
        ("*** Begin Patch", "ends inside a patch"),
        (patch("")[:-5], "holds nothing"),
        (f"*** Begin Patch\n{ONE}", "ends inside a patch"),
        (f"*** Begin Patch\n{ONE}*** End Pa", "ends inside a patch"),
        (f"*** Begin Patch\n{ONE}"[:-10], "ends inside a patch"),
        ("*** Begin Patch\n*** Update File: m.py\n@@ def", "ends inside a patch"),
        ("*** Begin Patch\n*** Update Fi", "ends inside a patch"),
        (patch("*** Update File: m.py\n"), "no hunk"),
        (patch("*** Update File: \n"), "names no file"),
        (patch("*** Update File: m.py\n@@ x\n"), "holds no lines"),
        (patch("*** Add File: m.py\n x\n"), "must begin with +"),
        (patch(ONE + "x = 3\n"), "'x = 3', which is no part"),
        (patch(ONE) + "\n```sh\nls\n```", "two actions"),
    ],
)
def test_errors_say_what_is_wrong(reply, words):
    assert words in error(reply)


PIECES = ["*** Begin Patch\n", "*** End Patch\n", "*** Update File: a\n", "*** Add File: b\n", "*** Delete File: c\n",
          "*** Move to: d\n", "*** End of File\n", "@@\n", "@@ x\n", " x\n", "-x\n", "+y\n", "\n", "\\ No\n",
          "```bash\n", "```\n", "<think>", "</think>", "\udcff", "apply_patch\n"]  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.text(st.characters()), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_gives_an_action(reply):
    action = parse(reply)
    assert (action.kind == "invalid") == (action.error is not None)


LINE = st.one_of(st.sampled_from(PIECES).map(reply_bytes), st.binary(max_size=9)).map(
    lambda data: data.replace(b"\n", b"") + b"\n"
)
ABOVE = LINE.map(bytes.strip).filter(lambda data: data and b"\r" not in data).map(Text)
PATH = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=5)
WHOLE = st.lists(LINE, max_size=4).map(lambda lines: Text(b"".join(lines)))
HUNK = st.builds(
    Hunk,
    st.lists(st.tuples(st.sampled_from(" -+"), st.builds(Text, LINE)), min_size=1, max_size=5).map(tuple),
    above=st.lists(ABOVE, max_size=2).map(tuple),
    at_end=st.booleans(),
)
EDIT = st.one_of(
    st.builds(Patch, PATH, st.lists(HUNK, min_size=1, max_size=3).map(tuple)),
    st.builds(Write, PATH, WHOLE, new=st.just(True)),
    st.builds(Delete, PATH),
    st.builds(Rename, PATH, PATH),
)
ACTION = st.one_of(
    st.lists(EDIT, min_size=1, max_size=4).map(lambda edits: Action("edit", tuple(edits))),
    LINE.filter(bytes.strip).map(lambda data: Action("shell", command=reply_text(data))),
    st.just(Action("submit")),
)


@settings(max_examples=50, deadline=None)
@given(ACTION)
def test_what_is_rendered_reads_back(action):
    assert parse(FORMAT.render(action)) == action


def test_what_cannot_be_written_is_refused():
    hunk = Hunk((("+", Text(b"x\n")),), 3)
    for edit in (Write("a", Text(b"x\n")), Insert("a", 1, Text(b"")), Patch("a", (hunk,)), Delete("a", Text(b"x"))):
        with pytest.raises(ValueError, match="apply_patch format cannot write"):
            FORMAT.render(Action("edit", (edit,)))


@pytest.mark.parametrize("unit", ["*** Begin Patch\n", ONE, "@@\n", "+x\n", "\n", "\\\n"])
def test_time_is_linear_in_the_length(unit):
    with at_most(150):
        parse(patch(unit * (20_000 // len(unit))))
        parse(patch("*** Update File: a\n" + unit * (20_000 // len(unit))))
