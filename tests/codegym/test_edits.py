"""Applying edits: every replay of a trap that applies to these kinds, and the origins of what was written."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codegym.actions.base import Action, Hunk, Insert, Lines, Patch, Rename, Replace, Text, Write, get
from codegym.edits import Applied, EditError, apply_edits
from codegym.spans import Span, reply_bytes
from sandbox import files
from tests.pace import at_most


def replace(path: str, search: bytes, text: bytes) -> Replace:
    return Replace(path, Text(search, Span(0, len(search))), Text(text, Span(100, 100 + len(text))), Span(50, 60))


def text(data: bytes) -> Text:
    return Text(data, Span(100, 100 + len(data)))


def one(data: bytes, edit, **options) -> bytes:
    return apply_edits({"a": data}, [edit], **options).files["a"]


def refused(files, *edits, **options) -> str:
    before = dict(files)
    with pytest.raises(EditError) as info:
        apply_edits(files, edits, **options)
    assert files == before
    return str(info.value)


# Rows of the replay table: A1 to A3 keep every byte that is not named.


def test_crlf_stays():
    assert one(b"a\r\nb\r\nc\r\n", replace("a", b"b\nc", b"B\nc")) == b"a\r\nB\r\nc\r\n"
    assert one(b"a\r\nb\r\nc\r\n", replace("a", b"b\n", b"B\nx\n")) == b"a\r\nB\r\nx\r\nc\r\n"
    assert one(b"a\r\nb\r\nc\r\n", replace("a", b"b", b"B\nx")) == b"a\r\nB\r\nx\r\nc\r\n"
    assert one(b"a\r\nb\r\n", Insert("a", 1, text(b"x\ny"))) == b"a\r\nx\r\ny\r\nb\r\n"
    assert one(b"a\r\nb\r\n", Lines("a", 2, 2, text(b"x\ny\n"))) == b"a\r\nx\r\ny\r\n"
    assert one(b"a\r\nb\r\n", replace("a", b"a\r\nb", b"c\r\nd")) == b"c\r\nd\r\n"
    assert one(b"x\r\n\r\nfoo\r\n", replace("a", b"\nfoo", b"bar")) == b"x\r\nbar\r\n"
    assert one(b"x\r\n\r\nfoo\r\n", replace("a", b"\nfoo", b"\nbar")) == b"x\r\n\r\nbar\r\n"
    assert one(b"x\r\nb\r\n", replace("a", b"\nb", b"")) == b"x\r\n"


def test_the_whole_file_is_taken_as_written():
    assert one(b"a\r\n", Write("a", text(b"b\n"))) == b"b\n"


def test_tabs_stay():
    assert one(b"all:\n\techo hi\n", replace("a", b"echo hi", b"echo yo")) == b"all:\n\techo yo\n"


def test_odd_bytes_stay():
    old = b"const x = 1;\n// caf\xe9 note\n"
    assert one(old, replace("a", b"1", b"2")) == old.replace(b"1", b"2")
    assert one(b"\xef\xbb\xbfx = 1\n", Lines("a", 1, 1, text(b"y\n"))) == b"\xef\xbb\xbfy\n"
    assert one(b"\xef\xbb\xbfx = 1\n", Insert("a", 0, text(b"y\n"))) == b"\xef\xbb\xbfy\nx = 1\n"
    assert one(b"\xef\xbb\xbf", Insert("a", 0, text(b"y\n"))) == b"\xef\xbb\xbfy\n"


def test_an_odd_line_end_stays():
    old = b"a\r\nb\nc\r\nd\r\n"
    assert one(old, replace("a", b"c", b"C")) == b"a\r\nb\nC\r\nd\r\n"
    assert one(old, replace("a", b"a\nb\nc\n", b"A\nb\nc\n")) == b"A\r\nb\nc\r\nd\r\n"
    assert one(old, replace("a", b"a\nb\nc\n", b"a\nb\nnew\nc\n")) == b"a\r\nb\nnew\r\nc\r\nd\r\n"
    assert one(old, replace("a", b"b\nc\n", b"x\ny\nb\nc\n")) == b"a\r\nx\r\ny\r\nb\nc\r\nd\r\n"


def test_a_missing_last_newline_stays_missing():
    assert one(b"a\nb", replace("a", b"b", b"B")) == b"a\nB"
    assert one(b"a\nb", Lines("a", 2, 2, text(b"B\n"))) == b"a\nB"
    assert one(b"a\nb", Insert("a", 2, text(b"c\n"))) == b"a\nb\nc"
    assert one(b"a\r\nb", Insert("a", 2, text(b"c\r\n"))) == b"a\r\nb\r\nc"
    assert one(b"a\nb\n", Insert("a", 2, text(b"c"))) == b"a\nb\nc\n"
    assert one(b"a\nb\n", Lines("a", 1, 1, text(b"c"))) == b"c\nb\n"
    assert one(b"", Insert("a", 0, text(b"c"))) == b"c\n"


def test_lines_split_at_newline_only():
    old = b"a\x0c\x1c\rb\xe2\x80\xa8c\x85\nd\n"
    assert one(old, Lines("a", 2, 2, text(b"D\n"))) == old.replace(b"d", b"D")
    assert one(old, Lines("a", 1, 1, text(b""))) == b"d\n"


def test_all_or_nothing():
    message = refused({"a": b"1\n", "b": b"2\n"}, replace("a", b"1", b"x"), replace("b", b"3", b"x"))
    assert message.startswith("edit 2 of 2 does not fit, nothing was changed: b: ")


@pytest.mark.parametrize(
    "path", ["../../e.txt", "/etc/passwd", "", ".", "a/", "a/..", "d/../a", "a\0b", "d", "a/b", "x" * 256, "./"]
)
def test_paths_that_are_refused(path):
    assert refused({"a": b"1\n", "d/e": b"2\n"}, Write(path, text(b"x")))


def test_one_spelling_of_a_path():
    assert apply_edits({"d/a": b"1"}, [Write("./d//a", text(b"2"))]).files == {"d/a": b"2"}
    assert apply_edits({}, [Write("new/b", text(b""))]).files == {"new/b": b""}


def test_paths_are_as_deep_as_a_sandbox_reads_back():
    deepest = "d/" * files.MAX_DEPTH + "x"
    assert apply_edits({}, [Write("./" + deepest, text(b"1"))]).files == {deepest: b"1"}
    assert "deeper than 256" in refused({}, Write("d/" + deepest, text(b"1")))
    assert "deeper than 256" in refused({"a": b"1"}, Rename("a", "d/" + deepest))


def test_a_missing_file_is_named():
    assert "did you mean src/main.py?" in refused({"src/main.py": b""}, replace("src/man.py", b"a", b"b"))
    assert "no such file" in refused({}, Insert("a", 0, text(b"x")))


def test_ambiguous_text_names_every_place():
    assert "2 times, at lines 1, 3:" in refused({"a": b"x\ny\nx\n"}, replace("a", b"x", b"z"))
    assert "2 times, at lines 1-2, 4-5:" in refused({"a": b"x\r\ny\r\nz\r\nx\r\ny\r\n"}, replace("a", b"x\ny\n", b"z"))
    assert "2 times, at lines 1, 1:" in refused({"a": b"aaa\n"}, replace("a", b"aa", b"z"))
    assert "at least 100 times" in refused({"a": b"x\n" * 10_000}, replace("a", b"x", b"z"))


def test_empty_search_text():
    assert "empty" in refused({"a": b"x\n"}, replace("a", b"", b"z"))


def test_pasted_line_numbers():
    old = b"def f():\n    return 1\n"
    for search in (b"2:     return 1", b"     1\tdef f():\n     2\t    return 1", b"1: def f():\n2:     return 1"):
        assert "line numbers" in refused({"a": old}, replace("a", search, b"z"))
    assert "line numbers" not in refused({"a": b"x = 1 + 2\n"}, replace("a", b"7 + 2", b"z"))


def test_the_nearest_place_is_shown():
    old = b"import os\n\n\ndef area(w, h):\n    return w * h\n\n\ndef volume(w, h, d):\n    return w * h * d\n"
    message = refused({"a": old}, replace("a", b"def volume(w, h):\n    return w * h * d", b"z"))
    assert "nearest is at lines 8-9:\ndef volume(w, h, d):\n    return w * h * d" in message
    assert refused({"a": b""}, replace("a", b"x", b"y")) == "a: the search text is not in the file"


def test_blanks_that_differ():
    old = b"if x:\n    y = 1  \n    z = 2\n"
    trailing = replace("a", b"    y = 1\n    z = 2", b"    y = 3\n    z = 2")
    assert "differs only in trailing blanks is at lines 2-3:" in refused({"a": old}, trailing)
    applied = apply_edits({"a": old}, [trailing], tolerant=True)
    assert applied.files["a"] == b"if x:\n    y = 3\n    z = 2\n"
    assert applied.notes == ("a: matched at lines 2-3 although trailing blanks differ",)
    flat = replace("a", b"y = 1\nz = 2\n", b"y = 3\nif y:\n    z = 4\n")
    assert "only in indentation is at lines 2-3:" in refused({"a": old}, flat)
    applied = apply_edits({"a": old}, [flat], tolerant=True)
    assert applied.files["a"] == b"if x:\n    y = 3\n    if y:\n        z = 4\n"
    deep = replace("a", b"      y = 1\n      z = 2", b"      y = 3")
    assert one(old, deep, tolerant=True) == b"if x:\n    y = 3\n"
    uneven = replace("a", b"y = 1\n    z = 2", b"y = 3")
    assert "only in indentation" in refused({"a": old}, uneven, tolerant=True)
    assert "occurs 2" not in refused({"a": b" x\n  x\n"}, replace("a", b"x ", b"y"), tolerant=True)


def test_already_done():
    assert "already holds the replacement at line 2" in refused({"a": b"a\nnew\n"}, replace("a", b"old", b"new"))
    assert refused({"a": b"a\n"}, Write("a", text(b"a\n"))) == "nothing changed: a already reads so"
    assert "already reads so" in refused({"a": b"a\n"}, Insert("a", 0, text(b"")))
    applied = apply_edits({"a": b"a\nb\n"}, [replace("a", b"a", b"a"), replace("a", b"b", b"c")])
    assert applied.notes == ("a: edit 1 changed nothing, the file already reads so",)


def test_line_numbers_outside_the_file():
    assert refused({"a": b"x\ny\n"}, Lines("a", 2, 3, text(b"z"))) == "a: has 2 lines, so there is no line 3"
    assert refused({"a": b"x"}, Insert("a", 2, text(b"z"))) == "a: has 1 line, so there is no line 2"
    assert "end before they start" in refused({"a": b"x\ny\n"}, Lines("a", 2, 1, text(b"z")))


def test_long_files_are_refused_in_bounded_time():
    with at_most(200):
        refused({"a": b"same line\n" * 10_000}, replace("a", b"same line\n" * 4_999 + b"other", b"z"))
        refused({"a": b"x" * 1_000_000}, replace("a", b"y" * 1_000_000, b"z"))


# Origins


def spans(applied: Applied) -> list[tuple]:
    return [(tuple(o.new), tuple(o.source), o.exact) for o in applied.origins["a"]]


def test_origins_say_who_wrote_what():
    applied = apply_edits({"a": b"x = 1\n"}, [replace("a", b"1", b"22")])
    (origin,) = applied.origins["a"]
    assert (origin.new, origin.source, origin.place, origin.header) == ((4, 6), (100, 102), (0, 1), (50, 60))


def test_origins_say_what_they_replaced():
    edits = [replace("a", b"b", b"12345"), replace("a", b"d\n", b""), replace("a", b"45c", b"z\ny")]
    applied = apply_edits({"a": b"abcd\ne\n"}, edits)
    assert applied.files["a"] == b"a123z\nye\n"
    assert [(o.new, o.old) for o in applied.origins["a"]] == [((1, 4), (1, 5)), ((4, 7), (1, 5)), ((7, 7), (1, 5))]
    assert apply_edits({}, [Write("a", text(b"x"))]).origins["a"][0].old == (0, 0)


def test_translated_line_ends_are_inexact_alone():
    applied = apply_edits({"a": b"a\r\nb\r\n"}, [replace("a", b"b", b"bb\nc")])
    assert spans(applied) == [((3, 5), (100, 102), True), ((5, 7), (102, 103), False), ((7, 8), (103, 104), True)]


def test_origins_are_shifted_and_cut_by_later_edits():
    applied = apply_edits({"a": b"abc\n"}, [replace("a", b"b", b"12345"), replace("a", b"a", b"")])
    assert spans(applied) == [((0, 0), (100, 100), True), ((0, 5), (100, 105), True)]
    applied = apply_edits({"a": b"abc\n"}, [replace("a", b"b", b"12345"), replace("a", b"3", b"xy")])
    assert spans(applied) == [((1, 3), (100, 102), True), ((3, 5), (100, 102), True), ((5, 7), (103, 105), True)]
    applied = apply_edits({"a": b"abc\n"}, [replace("a", b"b", b""), replace("a", b"ac", b"z")])
    assert spans(applied) == [((0, 1), (100, 101), True)]


LINE = st.lists(st.sampled_from([b"a", b"b", b" ", b"\t", b"\xff"]), max_size=3).map(b"".join)
BLOB = st.lists(st.tuples(LINE, st.sampled_from([b"\n", b"\r\n", b"\r", b""])).map(b"".join), max_size=6).map(b"".join)
EDIT = st.one_of(
    st.builds(Write, st.sampled_from("ab"), st.builds(Text, BLOB)),
    st.builds(Replace, st.just("a"), st.builds(Text, BLOB), st.builds(Text, BLOB)),
    st.builds(Insert, st.just("a"), st.integers(0, 4), st.builds(Text, BLOB)),
    st.builds(lambda n, k, t: Lines("a", n, n + k, Text(t)), st.integers(1, 4), st.integers(0, 2), BLOB),
)


@given(BLOB, st.lists(EDIT, min_size=1, max_size=4), st.booleans())
def test_exact_origins_are_exact(old, edits, tolerant):
    reply = get("xml").render(Action("edit", tuple(edits)))
    raw = reply_bytes(reply)
    try:
        applied = apply_edits({"a": old}, get("xml").parse(reply).edits, tolerant=tolerant)
    except EditError:
        return
    for path, origins in applied.origins.items():
        data, end = applied.files[path], 0
        for origin in origins:
            assert end <= origin.new.start <= origin.new.end <= len(data)
            end = origin.new.end
            if origin.exact:
                assert raw[slice(*origin.source)] == data[slice(*origin.new)]
        # What no origin covers is old text, in its order.
        if path == "a":
            kept, position = [], 0
            for origin in origins:
                kept.append(data[position : origin.new.start])
                position = origin.new.end
            position_old = 0
            for part in [*kept, data[position:]]:
                position_old = old.find(part, position_old)
                assert position_old >= 0
                position_old += len(part)


PLAIN = st.lists(st.sampled_from([b"a", b"b", b" ", b"\n", b"\n", b"\r\n"]), max_size=5).map(b"".join)
PLAIN_LINE = st.sampled_from([b"a\n", b"b\r\n", b"\n", b"a"])
HUNK = st.lists(st.tuples(st.sampled_from(" -+"), st.builds(Text, PLAIN_LINE)), min_size=1, max_size=4).map(tuple)
OLD = st.lists(st.sampled_from([b"a", b"b", b" ", b"\r\n", b"\r\n", b"\n", b"\r"]), max_size=9).map(b"".join)


@settings(max_examples=150, deadline=None)
@example(b"b\r\n", b"x", ((" ", Text(b"b\n")), ("-", Text(b"\n"))), 0, 1, True)  # below the last newline is no line
@example(b"\ra", b"x", ((" ", Text(b"a\n")), ("+", Text(b"a\n"))), 0, 1, True)
@given(OLD, PLAIN, HUNK, st.integers(0, 8), st.integers(1, 4), st.booleans())
def test_no_edit_leaves_a_carriage_return_without_its_newline(old, new, hunk, start, size, tolerant):
    search = old.replace(b"\r\n", b"\n")[start : start + size]
    for edit in (
        replace("a", search, new),
        Insert("a", start, text(new)),
        Lines("a", start, start + size, text(new)),
        Patch("a", (Hunk(hunk),)),
    ):
        try:
            data = one(old, edit, tolerant=tolerant)
        except EditError:
            continue
        bare = [side.replace(b"\r\n", b"").count(b"\r") for side in (old, data)]
        assert bare[1] <= bare[0]
