"""The udiff format: unified diffs as git and models write them, right or wrong counts, and their application."""

import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codegym.actions.base import Action, Delete, Hunk, Insert, Patch, Rename, Text, Write, get
from codegym.diff import diff_files, unified
from codegym.edits import EditError, apply_edits
from codegym.spans import reply_bytes, reply_text
from tests.pace import at_most

FORMAT = get("udiff")


def parse(reply: str) -> Action:
    action = FORMAT.parse(reply)
    raw = reply_bytes(reply)
    for edit in action.edits:
        texts = [text for hunk in edit.hunks for _, text in hunk.lines] if isinstance(edit, Patch) else []
        for text in texts:
            assert raw[slice(*text.span)] in (text.data, text.data.removesuffix(b"\n"))
    return action


def error(reply: str) -> str:
    action = parse(reply)
    assert (action.kind, action.edits) == ("invalid", ())
    assert action.error is not None
    return action.error


def fenced(diff: str) -> str:
    return f"I change it.\n```diff\n{diff}```\nDone."


def apply(files: dict, diff: str, **options) -> dict:
    action = parse(fenced(diff))
    assert action.error is None
    return apply_edits(files, action.edits, **options).files


def refused(files: dict, diff: str) -> str:
    before = dict(files)
    with pytest.raises(EditError) as info:
        apply(files, diff)
    assert files == before
    return str(info.value)


HEAD = "--- a/a\n+++ b/a\n"
ONE = HEAD + "@@ -1,2 +1,2 @@\n x\n-y\n+z\n"


def test_a_diff_is_read_with_and_without_a_fence():
    wanted = Action("edit", (Patch("a", (Hunk(((" ", Text(b"x\n")), ("-", Text(b"y\n")), ("+", Text(b"z\n"))), 1),)),))
    for reply in (
        fenced(ONE),
        ONE,
        ONE.rstrip("\n"),
        f"Look:\n\n{ONE}\nThat is all.",
        f"```\n{ONE}```",
        fenced("diff --git a/a b/a\nindex 1..2 100644\n" + ONE),
        fenced(ONE.replace("a/a", "a").replace("b/a", "a")),
        fenced(ONE.replace("a/a", "a/a\t2020-01-01 00:00:00")),
        f"<think>{fenced(HEAD)}</think>{fenced(ONE)}",
        fenced(ONE + "\n\n"),
    ):
        assert parse(reply) == wanted


def test_files_come_go_and_move():
    new = "diff --git a/n b/n\nnew file mode 100644\n"
    assert apply({}, "--- /dev/null\n+++ b/d/n\n@@ -0,0 +1,2 @@\n+1\n+2\n") == {"d/n": b"1\n2\n"}
    assert apply({}, new) == {"n": b""}
    assert apply({"a": b"x\ny\n", "b": b""}, "--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n") == {"b": b""}
    assert apply({"a": b"x\r\n", "b": b""}, "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n") == {"b": b""}
    move = "diff --git a/a b/c\nsimilarity index 90%\nrename from a\nrename to c\n"
    assert apply({"a": b"x\ny\n"}, move) == {"c": b"x\ny\n"}
    assert apply({"a": b"x\ny\n"}, move + ONE.replace("b/a", "b/c")) == {"c": b"x\nz\n"}
    assert "exists already and reads so" in refused({"n": b"1\n"}, "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+1\n")
    assert "first line that differs is 2" in refused(
        {"a": b"x\nz\n"}, "--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n"
    )


def test_counts_are_believed_only_where_they_fit():
    four = "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+1\n+2\n+3\n+4\n"
    assert apply({}, four) == {"n": b"1\n2\n3\n4\n"}
    assert apply_edits({}, parse(four).edits).files == {"n": b"1\n2\n3\n4\n"}
    assert apply({"a": b"x\ny\n"}, ONE.replace("-1,2 +1,2", "-1,9 +1,9")) == {"a": b"x\nz\n"}
    assert apply({"a": b"x\ny\n"}, HEAD + "@@ -2 +2 @@\n-y\n+z\n") == {"a": b"x\nz\n"}
    assert apply({"a": b"x\ny\n"}, HEAD + "@@ ... @@\n-y\n+z\n") == {"a": b"x\nz\n"}
    # Counted lines that look like the next file's head belong to the hunk.
    sql = HEAD + "@@ -1,2 +1,2 @@\n--- x\n+++ y\n q\n"
    assert apply({"a": b"-- x\nq\n"}, sql) == {"a": b"++ y\nq\n"}


def test_the_last_newline():
    mark = "\\ No newline at end of file\n"
    assert apply({"a": b"x\ny"}, ONE) == {"a": b"x\nz"}  # kept missing where the diff is silent
    assert apply({"a": b"x\ny"}, ONE.replace("-y\n", "-y\n" + mark)) == {"a": b"x\nz\n"}
    assert apply({"a": b"x\ny\n"}, ONE + mark) == {"a": b"x\nz"}
    assert apply({"a": b"x\ny"}, ONE.replace("-y\n", "-y\n" + mark) + mark) == {"a": b"x\nz"}
    assert apply({"a": b"x"}, HEAD + "@@ -1 +1,2 @@\n x\n+y\n") == {"a": b"x\ny"}
    assert apply({"a": b"x\r\ny"}, HEAD + "@@ -1,2 +1,3 @@\n x\n y\n+z\n") == {"a": b"x\r\ny\r\nz"}


def test_bytes_that_no_line_names_stay():
    assert apply({"a": b"x\r\ny\r\nw\n"}, ONE) == {"a": b"x\r\nz\r\nw\n"}
    assert apply({"a": b"\xef\xbb\xbfx\ny\n"}, ONE) == {"a": b"\xef\xbb\xbfx\nz\n"}
    assert apply({"a": b"\xef\xbb\xbfy\n"}, HEAD + "@@ -1 +1 @@\n-y\n+z\n") == {"a": b"\xef\xbb\xbfz\n"}
    assert apply({"a": b"x\ny\n\xe9\x0c\n"}, ONE) == {"a": b"x\nz\n\xe9\x0c\n"}


def test_where_hunks_belong():
    files = {"a": b"x\ny\nw\nx\ny\n"}
    assert apply(files, ONE.replace("-1,2 +1,2", "-4,2 +4,2")) == {"a": b"x\ny\nw\nx\nz\n"}
    assert "2 times, at lines 1-2, 4-5" in refused(files, ONE.replace("-1,2 +1,2", "-3,2 +3,2"))
    edits = parse(fenced(ONE.replace("-1,2", "-7,2"))).edits
    assert apply_edits({"a": b"w\nx\ny\n"}, edits).notes == ("a: hunk 1 applied at line 2, not 7",)
    two = HEAD + "@@ -4,2 +4,2 @@\n x\n-y\n+q\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"
    assert apply(files, two) == {"a": b"x\nz\nw\nx\nq\n"}
    assert "overlap at line 2" in refused({"a": b"x\ny\nw\n"}, ONE + "@@ -2,2 +2,2 @@\n y\n-w\n+v\n")
    assert apply({"a": b"x\ny\n"}, HEAD + "@@ -1,0 +2,1 @@\n+new\n") == {"a": b"x\nnew\ny\n"}
    assert "does not say where" in refused({"a": b"x\n"}, HEAD + "@@ @@\n+new\n")
    assert "has 1 line" in refused({"a": b"x\n"}, HEAD + "@@ -3,0 +4 @@\n+new\n")


def test_refusals():
    second = ONE + ONE.replace("/a", "/b")
    message = refused({"a": b"x\ny\n", "b": b"x\nq\n"}, second)
    assert "edit 2 of 2 does not fit, nothing was changed: b: what hunk 1 takes for the file's lines" in message
    assert "nearest is at lines 1-2:\nx\nq" in message
    assert "hunk 1 seems already applied: its lines as they shall be are at lines 1-2" in refused({"a": b"x\nz\n"}, ONE)
    add = HEAD + "@@ -1 +1,2 @@\n x\n+z\n"
    assert "seems already applied" in refused({"a": b"x\nz\n"}, add)
    assert apply({"a": b"x\nz\n"}, HEAD + "@@ -1,2 +1,3 @@\n x\n+z\n z\n") == {"a": b"x\nz\nz\n"}
    assert "did you mean aa" in refused({"aa": b""}, ONE.replace("/a", "/aaa"))


def test_tolerance_is_told():
    diff = HEAD + "@@ @@\n x:\n-y\n+z\n+  w\n"
    files = {"a": b"x:  \n  y\n"}
    assert "differs only in" in refused(files, diff.replace(" x:\n", ""))
    edits = parse(fenced(HEAD + "@@ @@\n-  y\n+  z\n")).edits
    applied = apply_edits({"a": b"  y \n"}, edits, tolerant=True)
    assert applied.files == {"a": b"  z\n"}
    assert applied.notes == ("a: matched at line 1 although trailing blanks differ",)
    edits = parse(fenced(HEAD + "@@ @@\n-y\n+z\n+  w\n")).edits
    applied = apply_edits({"a": b"x\n\ty\n"}, edits, tolerant=True)
    assert applied.files == {"a": b"x\n\tz\n\t  w\n"}


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "no action"),
        ("```diff\n```", "names no file"),
        (fenced(HEAD), "holds no hunk"),
        (fenced(HEAD + "@@ -1 +1 @@\n"), "holds no lines"),
        (fenced(ONE) + "\n```bash\nls\n```", "two actions in one reply, a diff and a ```bash block"),
        (fenced(ONE)[:-12], "ends inside the ```diff block"),
        (ONE[:-4], "ends inside a hunk"),
        (HEAD + "@@ @@\n-y\n+z\n", "does not say how long it is"),
        (fenced("diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n" + ONE), "x.png: is binary"),
        (fenced(ONE + "Binary files a/x.png and b/x.png differ\n"), "Binary files a/x.png"),
        ("Binary files a/x.png and b/x.png differ\n" + ONE, "Binary files a/x.png"),
        (fenced("diff --git a/x b/x\nindex 1..2\nGIT binary patch\nliteral 1\n"), "x: is binary"),
        (
            fenced("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"),
            "l: is a link",
        ),
        (fenced("diff --git a/l b/l\nindex 1..2 120000\n" + ONE.replace("/a", "/l")), "l: is a link"),
        (fenced("diff --git a/l b/l\ndeleted file mode 120000\n"), "l: is a link"),
        (fenced(ONE.replace("b/a", "b/c")), "two files, a and c"),
        (fenced("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n"), "both sides"),
        (fenced("--- /dev/null\n+++ b/n\n@@ -1 +1,2 @@\n x\n+y\n"), "must begin with +"),
        (fenced("diff --git a/a b/b\ncopy from a\ncopy to b\n"), "copies"),
        (fenced(ONE + "Then more.\n"), "'Then more.'"),
        (ONE.replace("+z", "+</think> z") + ONE, "after reasoning, a diff must stand between"),
    ],
)
def test_errors_say_what_is_wrong(reply, words):
    assert words in error(reply)


FILE = st.lists(st.sampled_from([b"a", b"b", b"-- c", b"+d", b"", b"\\x", b"\xff", b"@@", b"```"]), max_size=7).map(
    lambda lines: b"\n".join(lines)
)


@settings(max_examples=50, deadline=None)
@given(FILE, FILE)
def test_what_the_project_prints_is_read_and_applied(old, new):
    before = {'é \t".py': old, "b": b""}
    after = {'é \t".py': new, "b": b""}
    diff = diff_files(before, after)
    if diff.files:
        action = parse(unified(diff, before))
        assert apply_edits(before, action.edits).files == after
        reply = FORMAT.render(action)
        assert parse(reply) == action


def test_what_is_rendered_applies_with_git(tmp_path):
    edits = (
        Patch("a b", (Hunk((("-", Text(b"x\n")), ("+", Text(b"y\n")), ("+", Text(b"z"))), 1),)),
        Write("n", Text(b"1\n2"), new=True),
        Delete("gone", Text(b"1\n")),
        Rename("é", "e"),
        Patch("e", (Hunk(((" ", Text(b"q\n")), ("+", Text(b"r\n"))), 1),)),
    )
    old = {"a b": b"x\n", "gone": b"1\n", "é": b"q\n"}
    reply = FORMAT.render(Action("edit", edits))
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for path, data in old.items():
        (tmp_path / path).write_bytes(data)
    diff = reply_bytes(reply.removeprefix("```diff\n").removesuffix("```\n"))
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=tmp_path, input=diff, check=True)
    new = apply_edits(old, parse(reply).edits).files
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == new
    assert new == {"a b": b"y\nz", "n": b"1\n2", "e": b"q\nr\n"}


PIECES = ["--- a/a\n", "+++ b/a\n", "@@ -1 +1 @@\n", "@@ @@\n", " x\n", "-x\n", "+y\n", "\n", "\\ No\n",
          "diff --git a/a b/a\n",
          "rename from a\n", "```diff\n", "```\n", "<think>", "</think>", "Binary files a and b differ\n",
          "\udcff", "-- x"]  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.text(st.characters()), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_gives_an_action(reply):
    action = parse(reply)
    assert (action.kind == "invalid") == (action.error is not None)


LINE = st.one_of(st.sampled_from(PIECES).map(reply_bytes), st.binary(max_size=9)).map(
    lambda data: data.replace(b"\n", b"") + b"\n"
)
TEXT = st.builds(Text, LINE)
PATH = st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=5)
HUNK = st.builds(
    Hunk,
    st.lists(st.tuples(st.sampled_from(" -+"), TEXT), min_size=1, max_size=5).map(tuple),
    st.integers(0, 99),
)
WHOLE = st.lists(LINE, max_size=4).map(lambda lines: Text(b"".join(lines)))
EDIT = st.one_of(
    st.builds(Patch, PATH, st.lists(HUNK, min_size=1, max_size=3).map(tuple)),
    st.builds(Write, PATH, WHOLE, new=st.just(True)),
    st.builds(Delete, PATH, WHOLE.filter(lambda text: text.data) | st.none()),
    st.tuples(PATH, PATH).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: Rename(*pair)),
)
ACTION = st.one_of(
    st.lists(EDIT, min_size=1, max_size=4).map(lambda edits: Action("edit", tuple(edits))),
    LINE.filter(bytes.strip).map(lambda data: Action("shell", command=reply_text(data))),
    st.just(Action("submit")),
)


@settings(max_examples=50, deadline=None)
@example(Action("edit", (Rename("a b", " "), Write("c d", Text(b""), new=True), Delete("e ", Text(b"1\n")))))
@given(ACTION)
def test_what_is_rendered_reads_back(action):
    assert parse(FORMAT.render(action)) == action


def test_what_cannot_be_written_is_refused():
    for edit in (Write("a", Text(b"x\n")), Insert("a", 1, Text(b"")), Patch("a", ())):
        with pytest.raises(ValueError, match="udiff format cannot write"):
            FORMAT.render(Action("edit", (edit,)))


@pytest.mark.parametrize("unit", ["--- a/a\n+++ b/a\n", ONE, "@@ @@\n", "+x\n", "\n", "\\\n", "diff --git "])
def test_time_is_linear_in_the_length(unit):
    with at_most(200):
        parse(fenced(unit * (20_000 // len(unit))))
        parse(HEAD + "@@ @@\n" + unit * (20_000 // len(unit)))
