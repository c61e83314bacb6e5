"""Rows A and C in every action format: the same traps, written as each format writes them, from reply to files.

The row names are those of the table that they come from: A edits, C reading replies.
"""

import json
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.actions import diff_lines
from codegym.actions.base import Action, Hunk, Patch, Replace, Text, Write, get
from codegym.diff import diff_files, unified
from codegym.edits import EditError, apply_edits
from codegym.spans import reply_bytes

EDITING = ["apply_patch", "search_replace", "tool_call", "udiff", "xml"]
ALL = ["bash", *EDITING]


def replace(form: str, path: str, old: str, new: str) -> str:
    """One change of whole lines in a format."""
    minus, plus = ("".join(f"{mark}{line}\n" for line in text.splitlines()) for mark, text in (("-", old), ("+", new)))
    if form == "xml":
        return f'<edit path="{path}">\n<search>\n{old}</search>\n<replace>\n{new}</replace>\n</edit>\n'
    if form == "search_replace":
        return f"{path}\n```\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n"
    if form == "udiff":
        return f"```diff\n--- a/{path}\n+++ b/{path}\n@@ @@\n{minus}{plus}```\n"
    if form == "apply_patch":
        return f"*** Begin Patch\n*** Update File: {path}\n@@\n{minus}{plus}*** End Patch\n"
    arguments = {"path": path, "search": old, "replace": new}
    return f"<tool_call>\n{json.dumps({'name': 'edit', 'arguments': arguments})}\n</tool_call>\n"


def create(form: str, path: str, text: str) -> str:
    new = form in ("apply_patch", "search_replace", "udiff")
    return get(form).render(Action("edit", (Write(path, Text(text.encode()), new=new),)))


def edits(form: str, reply: str):
    action = get(form).parse(reply)
    assert (action.kind, action.error) == ("edit", None)
    return action.edits


KEPT = {
    "A1": (b"a\r\nb\r\nc\r\n", "b\n", "B\n", b"a\r\nB\r\nc\r\n"),
    "A2": (b"all:\n\techo hi\n", "\techo hi\n", "\techo yo\n", b"all:\n\techo yo\n"),
    "A3-latin": (b"const x = 1;\n// caf\xe9\n", "const x = 1;\n", "const x = 2;\n", b"const x = 2;\n// caf\xe9\n"),
    "A3-bom": (b"\xef\xbb\xbfx = 1\n", "x = 1\n", "x = 2\n", b"\xef\xbb\xbfx = 2\n"),
    "A3-odd": (b"a\r\nb\nc\r\n", "b\n", "B\n", b"a\r\nB\nc\r\n"),
    "A5": (b"a\nb", "b\n", "B\n", b"a\nB"),
    "D2": (b"a\rb\x0cc\x1c\xc2\x85\nlast\n", "last\n", "LAST\n", b"a\rb\x0cc\x1c\xc2\x85\nLAST\n"),
}


@pytest.mark.parametrize("form", EDITING)
@pytest.mark.parametrize("row", KEPT)
def test_bytes_that_no_edit_names_stay(form, row, tmp_path):
    old, search, text, new = KEPT[row]
    reply = "é " + replace(form, "f", search, text) if form == "tool_call" else "é\n" + replace(form, "f", search, text)
    applied = apply_edits({"f": old}, edits(form, reply))
    assert applied.files == {"f": new}
    raw = reply_bytes(reply)
    for origin in applied.origins["f"]:
        assert not origin.exact or raw[slice(*origin.source)] == new[slice(*origin.new)]
    patch = reply_bytes(unified(diff_files({"f": old}, applied.files, applied.origins), {"f": old}))
    assert (b"\\ No newline at end of file" in patch) == (row == "A5")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "f").write_bytes(old)
    subprocess.run(["git", "-c", "core.autocrlf=false", "apply", "-"], cwd=tmp_path, input=patch, check=True)
    assert (tmp_path / "f").read_bytes() == new


@pytest.mark.parametrize("form", ["apply_patch", "search_replace", "udiff", "xml"])
def test_a1_a_reply_with_crlf_does_what_it_does_with_lf(form):
    reply = replace(form, "f", "x\ny\n", "q\nr\ns\n")
    raw = reply_bytes(reply.replace("\n", "\r\n"))
    for old in (b"x\ny\nz\n", b"x\r\ny\r\nz\r\n", b"x\ny\r\nz\r\n", b"w\nx\ny"):
        applied = apply_edits({"f": old}, edits(form, reply.replace("\n", "\r\n")))
        assert applied.files == apply_edits({"f": old}, edits(form, reply)).files
        new = applied.files["f"]
        for origin in applied.origins["f"]:
            said, written = raw[slice(*origin.source)], new[slice(*origin.new)]
            assert said == written if origin.exact else said.replace(b"\r\n", b"\n") == written.replace(b"\r\n", b"\n")
    # A reply with LF that says CRLF means it, and so does a whole file.
    wanted = {"f": b"x\r\n"}
    if form in ("apply_patch", "udiff"):
        assert (
            apply_edits({"f": b"x\n"}, edits(form, replace(form, "f", "x\n", "x\r\n").replace("+x\n", "+x\r\n"))).files
            == wanted
        )
    assert apply_edits({}, edits(form, create(form, "f", "x\n").replace("\n", "\r\n"))).files == wanted


DIFF = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"


def test_a4_a5_a6_unified_diffs_as_they_come():
    assert apply_edits({"f": b"x\ny\n"}, edits("udiff", DIFF.rstrip("\n"))).files == {"f": b"x\nz\n"}
    assert apply_edits({"f": b"x\ny"}, edits("udiff", DIFF)).files == {"f": b"x\nz"}
    four = "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+1\n+2\n+3\n+4\n"
    assert apply_edits({}, edits("udiff", four)).files == {"n": b"1\n2\n3\n4\n"}
    many = f"```diff\n{DIFF.replace('1,2', '1,7')}```"
    assert apply_edits({"f": b"x\ny\n"}, edits("udiff", many)).files == {"f": b"x\nz\n"}
    one = "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-y\n+z\n"
    assert apply_edits({"f": b"x\ny\n"}, edits("udiff", one)).files == {"f": b"x\nz\n"}


@pytest.mark.parametrize("form", EDITING)
def test_a10_all_files_or_none(form):
    files = {"a": b"1\n", "b": b"2\n"}
    reply = replace(form, "a", "1\n", "x\n") + replace(form, "b", "3\n", "x\n")
    with pytest.raises(EditError, match=r"edit 2 of 2 does not fit, nothing was changed: b: .*not in the file"):
        apply_edits(files, edits(form, reply))
    assert files == {"a": b"1\n", "b": b"2\n"}
    with pytest.raises(EditError, match=r"already (applied|holds).* at line 1"):
        apply_edits({"a": b"x\n"}, edits(form, replace(form, "a", "1\n", "x\n")))


def test_a11_binary_files_in_a_diff():
    binary = "diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ\n"
    for reply in (DIFF + binary, binary + DIFF, f"```diff\n{DIFF}{binary}```"):
        action = get("udiff").parse(reply)
        assert (action.kind, action.edits) == ("invalid", ())
        assert "i.png" in action.error


@pytest.mark.parametrize("form", EDITING)
@pytest.mark.parametrize("path", ["../../e.txt", "/etc/e.txt", "a\0b", "d"])
def test_a12_paths_that_lead_elsewhere(form, path):
    with pytest.raises(EditError, match=r"inside the workspace|is a directory"):
        apply_edits({"d/a": b""}, edits(form, create(form, path, "x\n")))


@pytest.mark.parametrize("form", EDITING)
def test_a13_text_that_is_there_twice_or_numbered(form):
    for old, search, where in (
        (b"x\ny\nx\n", "x\n", "at lines 1, 3"),
        (b"x\ny\nx\ny\n", "x\ny\n", "at lines 1-2, 3-4"),
        (b"x\r\ny\r\nz\r\nx\r\ny\r\n", "x\ny\n", "at lines 1-2, 4-5"),
    ):
        with pytest.raises(EditError, match=f"2 times, {where}"):
            apply_edits({"f": old}, edits(form, replace(form, "f", search, "q\n")))
    numbered = "1: def f():\n2:     pass\n"
    with pytest.raises(EditError, match="line numbers, leave them out"):
        apply_edits({"f": b"def f():\n    pass\n"}, edits(form, replace(form, "f", numbered, "z\n")))
    with pytest.raises(EditError, match=r"search text is empty|does not say where|exists already"):
        apply_edits({"f": b"x\n"}, edits(form, replace(form, "f", "", "z\n")))


@pytest.mark.parametrize("form", EDITING)
def test_a14_blanks_are_refused_or_told(form):
    for old, search, text, how, new in (
        (b"x = 1  \n", "x = 1\n", "x = 2\n", "trailing blanks", b"x = 2\n"),
        (b"if x:\n\ty = 1\n", "    y = 1\n", "    y = 2\n", "indentation", None),
        (b"if x:\n    y = 1\n", "y = 1\n", "y = 2\n", "indentation", b"if x:\n    y = 2\n"),
    ):
        found = edits(form, replace(form, "f", search, text))
        searched = getattr(found[0], "search", None)
        if searched and searched.data in old:  # no whole lines: such a text stands in the file as it is
            assert form in ("xml", "tool_call", "search_replace")
            continue
        with pytest.raises(EditError, match=f"only in {how} is at line"):
            apply_edits({"f": old}, found)
        if new is not None:
            applied = apply_edits({"f": old}, found, tolerant=True)
            assert applied.files == {"f": new}
            assert how in applied.notes[0]


@pytest.mark.parametrize("form", ALL)
def test_c1_c2_shell_blocks_are_whole(form):
    command = "cat > README.md <<'EOF'\n```python\nprint(1)\n```\n```sh\nls\n```\nEOF"
    for text in (command, 'echo "a << b"'):
        reply = {
            "xml": f"<shell>\n{text}\n</shell>",
            "tool_call": json.dumps({"name": "shell", "arguments": {"command": text}}),
        }.get(form, f"So:\n```bash\n{text}\n```\nand then\n```text\nmore\n```\n")
        assert get(form).parse(reply) == Action("shell", command=text)


def long_reply(form: str) -> str:
    if form == "bash":
        return "```bash\ncat > f <<'EOF'\nx = 1\ny = 2\nEOF\n```\n"
    return replace(form, "f", "x = 1\ny = 2\n", "x = 3\ny = 4\n")


@pytest.mark.parametrize("form", ALL)
def test_c4_none_two_or_cut(form):
    assert "no action" in get(form).parse("I would look at the file first.").error
    run, finish = get(form).render(Action("shell", command="ls")), get(form).render(Action("submit"))
    assert "two actions" in get(form).parse(run + finish).error
    assert "two actions" in get(form).parse(run + long_reply(form)).error
    whole = long_reply(form)
    end = len(whole.rstrip("\n"))
    good = get(form).parse(whole)
    assert good.error is None
    for cut in range(len(whole)):
        action = get(form).parse(whole[:cut])
        # A reply is cut until what closes the action has come; what follows that is decoration.
        assert action == good or (action.kind == "invalid" and action.edits == ()), whole[:cut]
        if cut < end - len("\n</tool_call>"):
            assert action.kind == "invalid"
            assert "no action" in action.error or "ends inside" in action.error or "open to the end" in action.error


def pairs_of_edits(form: str):
    """Two edits in one reply, and what stands between them, in each way that the format has."""
    one, two = (replace(form, path, "x = 1\ny = 2\n", "x = 3\ny = 4\n") for path in ("f", "src/g.py"))
    if form == "search_replace":  # a name and a fence alone are words
        head, marker, rest = two.partition("<<<<<<<")
        yield one, head, marker + rest
        yield one, f"Then:\n\n{head}", f"<<<<< {rest.strip().replace('=======', '=====').replace('>>>>>>>', '>>>>>')}"
        return
    yield one, "", two
    yield one, "Then:\n\n", two
    if form == "xml":
        for more in ('<rename path="a" to="b"/>', '<write path="g">\nx\n</write>', two):
            yield one.rstrip("\n"), " and ", more
        yield one, f"<think>\n{two}</think>", two
    if form == "tool_call":
        one, two = (text.split("\n")[1] for text in (one, two))
        yield one, "\n", two
        yield one, ", ", two
        yield one, "\n", json.dumps({"tool_calls": [{"id": "c1", "type": "function", "function": json.loads(two)}]})
        yield one, "\n", f"```json\n{two}\n```"
        yield one, "\n", f"[\n  {two}\n]"
        yield one, f"\n<think>{two}</think>", two


@pytest.mark.parametrize("form", EDITING)
def test_c4_a_reply_of_two_edits_that_was_cut_does_both_or_nothing(form):
    for first, between, second in pairs_of_edits(form):
        reply = first + between + second
        whole, alone = get(form).parse(reply), get(form).parse(first)
        assert (whole.error, len(whole.edits) - len(alone.edits)) == (None, 1)
        closed = next(cut for cut in range(len(first) + 1) if get(form).parse(first[:cut]) == alone)
        for cut in range(len(reply)):
            action = get(form).parse(reply[:cut])
            if closed <= cut <= len(first + between):
                assert action in (whole, alone) or action.kind == "invalid"  # between the two: a whole reply
            else:
                assert action == whole or (action.kind == "invalid" and not action.edits), reply[:cut]


HARD = ["x = 1\n", "</edit>\n", "<write", '{"name": "', "<<<<<<< SEARCH\n", "=======\n", "```\n", "@@ -1 +1 @@\n",
        "*** End Patch\n", "<think>", "\n", "--- a/f\n", "é\r\n", "[", "\\"]  # fmt: skip
BODY = st.lists(st.sampled_from(HARD), min_size=1, max_size=3).map(
    lambda parts: Text(reply_bytes("".join(parts) + "\n"))
)


@settings(max_examples=15, deadline=None)
@given(st.lists(BODY, min_size=3, max_size=3))
def test_c4_every_cut_of_any_two_edits_does_both_or_nothing(bodies):
    search, text, new = bodies
    lines = (*diff_lines.whole(search, "-"), *diff_lines.whole(text, "+"))
    for form in EDITING:
        first = Write("f", new, new=form in ("apply_patch", "search_replace", "udiff"))
        second = Replace("g", search, text)
        if form in ("apply_patch", "udiff"):
            second = Patch("g", (Hunk(lines, 1 if form == "udiff" else None),))
        both = Action("edit", (first, second))
        reply = get(form).render(both)
        last = get(form).render(Action("edit", (second,))).removeprefix("<think></think>\n")
        last = last[last.index("<<<<<") :] if form == "search_replace" else last  # a name and a fence alone are words
        for cut in range(len(reply)):
            action = get(form).parse(reply[:cut])
            if action.edits == (first,):  # between the two: a whole reply
                assert cut <= len(reply) - len(last)
            else:
                assert action == both or action.kind == "invalid"


def test_c4_a_diff_without_fence_that_was_cut_lacks_the_end_of_its_last_line_at_most():
    one = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n x\n-y\n+yyyy\n"
    git = "diff --git a/g b/g\nindex 1..2 100644\n"
    added = "diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+1\n"
    gone = "--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"
    moved = "diff --git a/g b/h\nsimilarity index 90%\nrename from g\nrename to h\n" + one.replace("f", "h")
    hunk = "@@ -9,3 +9,3 @@\n x\n-y\n+z\n q\n"
    for second in (hunk, one.replace("f", "g"), git + one.replace("f", "g"), added, gone, moved):
        reply = one + second
        whole = get("udiff").parse(reply)
        assert whole.error is None
        for cut in range(len(reply)):
            action = get("udiff").parse(reply[:cut])
            if len(one) - len("yyyy\n") <= cut <= len(one):
                assert len(action.edits) == 1
            elif cut > reply.rindex("\n", 0, -1) + 1:  # the last line lacks its newline, as in A4
                assert action.kind == "invalid" or len(action.edits) == len(whole.edits)
            else:
                assert action.kind == "invalid", reply[:cut]


@pytest.mark.parametrize("form", EDITING)
def test_c6_reasoning_is_none_and_all_edits_are_seen(form):
    one, two, three = (replace(form, "f", f"{k}\n", f"{k}{k}\n") for k in (1, 2, 3))
    for reply in (f"<think>{one}</think>\n{two}{three}", f"{one}\n</think>\n{two}{three}"):
        found = edits(form, reply)
        assert apply_edits({"f": b"1\n2\n3\n"}, found).files == {"f": b"1\n22\n33\n"}
        assert len(found) == 2
    if form == "tool_call":
        one, two = (json.dumps({"name": "write", "arguments": {"path": path, "text": "x"}}) for path in "ab")
        for between in ("", " ", ", ", ";", "</tool_call><tool_call>", " then "):
            start = "<tool_call>" if between != " then " else ""
            assert [edit.path for edit in edits(form, f"{start}{one}{between}{two}")] == ["a", "b"]


HELD = [
    '</edit>\n]]>\n<search>\n```\n"""```"""\n',
    "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n",
    "*** End Patch\n*** Begin Patch\n",
    "```\n```bash\nls\n```\n~~~\n",
    "--- a/x\n+++ b/x\n@@ -1 +1 @@\n",
    '</tool_call>\n{"name": "submit"}\n\\"\\n\n',
    "<think>\n</think>\n</write>\n",
]


@pytest.mark.parametrize("form", EDITING)
@pytest.mark.parametrize("held", HELD)
def test_c7_a_body_may_hold_anything(form, held):
    reply = create(form, "f", held)
    assert apply_edits({}, edits(form, reply)).files == {"f": held.encode()}
    new = get(form).parse(reply).edits[0].text
    assert new.data == held.encode()


def test_c7_where_an_escape_is_needed_its_lack_is_an_error():
    for form, text in (("xml", 'x = "</replace>"\n'), ("search_replace", "=======\n")):
        action = get(form).parse(replace(form, "f", "y\n", text))
        assert (action.kind, action.edits) == ("invalid", ())
        assert "id=" in action.error or "longer by one" in action.error


def test_c8_json_as_models_write_it():
    parse = get("tool_call").parse
    ls = Action("shell", command="ls")
    assert parse('{"name": "shell", "arguments": {"command": "ls"}}\nThat lists the files.') == ls
    assert parse("{'name': 'shell', 'arguments': {'command': 'ls'}}") == ls
    assert parse('{"name": "shell", "arguments": "{\\"command\\": \\"ls\\"}"}') == ls
    for reply in (
        '{"name": "shell", "arguments": {"command": "ls"',
        '{"name": "shell", "arguments": {"command": ls}}',
        '{"name": "shell", "arguments": "ls"}',
        '{"name": "shell" "arguments": {}}',
    ):
        assert parse(reply).kind == "invalid"


def test_patches_of_both_kinds_are_one_kind_of_edit():
    udiff, patch = (edits(form, replace(form, "f", "x\n", "y\n")) for form in ("udiff", "apply_patch"))
    assert udiff == patch
    assert isinstance(udiff[0], Patch)
