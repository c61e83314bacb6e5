"""Files that come, go and move, and hunks: what is written where, and who wrote it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.actions.base import Action, Delete, Hunk, Insert, Patch, Rename, Replace, Text, Write, get
from codegym.actions.text import Cutter, Part, join, within
from codegym.diff import apply, diff_files, unified
from codegym.edits import EditError, apply_edits
from codegym.spans import NOWHERE, Span, reply_bytes


def text(data: bytes, start: int = 100) -> Text:
    return Text(data, Span(start, start + len(data)))


def refused(files, *edits) -> str:
    before = dict(files)
    with pytest.raises(EditError) as info:
        apply_edits(files, edits)
    assert files == before
    return str(info.value)


# Files


def test_delete_and_rename():
    files = {"a": b"1", "d/b": b"2"}
    assert apply_edits(files, [Delete("a")]).files == {"d/b": b"2"}
    applied = apply_edits(files, [Rename("d/b", "e/c"), Rename("a", "d")])
    assert applied.files == {"e/c": b"2", "d": b"1"}
    assert applied.renamed == {"e/c": "d/b", "d": "a"}
    applied = apply_edits(files, [Rename("a", "b"), Rename("b", "c"), Replace("c", text(b"1"), text(b"3"))])
    assert (applied.files, applied.renamed) == ({"d/b": b"2", "c": b"3"}, {"c": "a"})
    assert [(o.new, o.old) for o in applied.origins["c"]] == [((0, 1), None)]
    swapped = apply_edits(files, [Rename("a", "x"), Rename("d/b", "a"), Rename("x", "d/b")])
    assert (swapped.files, swapped.renamed) == ({"a": b"2", "d/b": b"1"}, {"a": "d/b", "d/b": "a"})


def test_what_cannot_be_deleted_or_renamed():
    files = {"a": b"1\n", "d/b": b"2\n"}
    assert "no such file; did you mean d/b?" in refused(files, Delete("d/bb"))
    assert "no such file" in refused(files, Rename("x", "y"))
    assert "d/b: exists already" in refused(files, Rename("a", "d/b"))
    assert "is a directory" in refused(files, Rename("a", "d"))
    assert "a is a file, not a directory" in refused(files, Write("a/b", text(b"")))
    assert "is refused" in refused(files, Rename("a", "../a"))
    assert "no such file" in refused(files, Delete("a"), Replace("a", text(b"1"), text(b"2")))
    assert "first line that differs is 2" in refused(files, Delete("a", text(b"1\n2\n")))
    assert "exists already and reads so" in refused(files, Write("a", text(b"1\n"), new=True))
    assert "nothing changed" in refused(files, Rename("a", "b"), Rename("b", "a"))
    assert "nothing changed" in refused(files, Delete("a"), Write("a", text(b"1\n")))


def test_a_file_that_was_deleted_may_come_back():
    applied = apply_edits({"a": b"1\n"}, [Delete("a"), Write("a", text(b"2\n"), new=True)])
    assert applied.files == {"a": b"2\n"}
    assert [(o.new, o.old) for o in applied.origins["a"]] == [((0, 0), (0, 2)), ((0, 2), (0, 2))]
    assert apply_edits({"a": b"1"}, [Delete("a"), Write("a/b", text(b"2"))]).files == {"a/b": b"2"}


# Hunks


def hunk(*lines: str, **options) -> Hunk:
    start, found = 100, []
    for line in lines:
        found.append((line[0], text(line[1:].encode() + b"\n", start)))
        start += len(line) + 1
    return Hunk(tuple(found), **options)


def test_only_the_lines_that_come_are_written_by_the_reply():
    one = hunk(" a", "-b", "+B", "+C", " d", "-e", place=Span(50, 60))
    applied = apply_edits({"f": b"a\nb\nd\ne\n"}, [Patch("f", (one,), Span(10, 20))])
    assert applied.files == {"f": b"a\nB\nC\nd\n"}
    found = [(o.new, o.source, o.place, o.header, o.old) for o in applied.origins["f"]]
    assert found == [
        ((2, 4), (106, 108), (103, 105), (10, 20), (2, 4)),
        ((4, 6), (109, 111), (103, 105), (10, 20), (2, 4)),
        ((8, 8), (0, 0), (115, 117), (10, 20), (6, 8)),
    ]
    insert = hunk("+x", line=1, place=Span(50, 60))
    (origin,) = apply_edits({"f": b"a\n"}, [Patch("f", (insert,))]).origins["f"]
    assert (origin.new, origin.source, origin.place) == ((2, 4), (100, 102), (50, 60))


def test_hunks_speak_of_the_file_before_the_patch():
    both = (hunk("-a", "+x", "+y", line=1), hunk("-a", "+z", line=3))
    assert apply_edits({"f": b"a\nb\na\n"}, [Patch("f", both)]).files == {"f": b"x\ny\nb\nz\n"}
    assert apply_edits({"f": b"a\nb\na\n"}, [Patch("f", both[::-1])]).files == {"f": b"x\ny\nb\nz\n"}
    after = [Patch("f", both), Patch("f", (hunk("-x", "+q"),))]
    assert apply_edits({"f": b"a\nb\na\n"}, after).files == {"f": b"q\ny\nb\nz\n"}


def test_equal_lines_are_added_where_the_hunk_says():
    ten = b"x\n" * 10
    more = Patch("f", (hunk(" x", " x", " x", "+x", line=8),))
    assert apply_edits({"f": ten}, [more]).files == {"f": ten + b"x\n"}
    assert "seems already applied" in refused({"f": ten + b"x\n"}, more)
    many = b"x\n" * 150
    named = (hunk("-x", "+y", line=140), hunk("-x", "+y", above=(text(b"z"),)), hunk("-x", "+y", at_end=True))
    for one, at in zip(named, (139, 140, 149), strict=True):
        old = many[: 2 * 139] + b"z\n" + many[: 2 * 10] if one.above else many
        assert apply_edits({"f": old}, [Patch("f", (one,))]).files == {"f": old[: 2 * at] + b"y\n" + old[2 * at + 2 :]}
    assert "at least 100 times" in refused({"f": many}, Patch("f", (hunk("-x", "+y", line=200),)))
    top = Patch("f", (hunk("+a", " b", " c"),))
    assert apply_edits({"f": b"b\nc\n"}, [top]).files == {"f": b"a\nb\nc\n"}
    assert "seems already applied: its lines as they shall be are at lines 1-3" in refused({"f": b"a\nb\nc\n"}, top)
    blank = Patch("f", (hunk(" a", "+"),))
    assert apply_edits({"f": b"a\n\nb\n"}, [blank]).files == {"f": b"a\n\n\nb\n"}


# Texts


def test_texts_that_are_said_in_parts():
    joined = join([text(b"ab\n", 10), text(b"cd", 13), text(b"e", 20)])
    assert (joined.data, joined.span, joined.parts) == (
        b"ab\ncde",
        (10, 21),
        (Part(5, Span(10, 15)), Part(1, Span(20, 21))),
    )
    assert [tuple(piece) for piece in Cutter(joined).cut(4, 6)] == [(b"d", (14, 15), True), (b"e", (20, 21), True)]
    said = Text(b"x\ny", Span(0, 4), (Part(1, Span(0, 1)), Part(1, Span(1, 3)), Part(1, Span(3, 4))))
    assert [tuple(piece) for piece in Cutter(said).cut(1, 3)] == [(b"\n", (1, 3), False), (b"y", (3, 4), True)]
    inner = Text(b"\ny", Span(1, 3))
    assert within(inner, said).parts == (Part(1, Span(1, 3)), Part(1, Span(3, 4)))
    escaped = Text(b"z", Span(0, 2), (Part(1, Span(0, 2)),))
    assert within(escaped, said).parts == (Part(1, Span(0, 3)),)
    assert join([]) == Text(b"", NOWHERE)
    with pytest.raises(ValueError, match="parts of a text of 1 bytes"):
        Text(b"x", Span(0, 1), (Part(2, Span(0, 2)),))


# Every format, any bytes: what is written is said, what is not said is old

LINE = st.sampled_from([b"a", b"b", b"", b"\tc", b"\xff", b'"\\', b"===", b"\xc3\xa9", b"</edit>", b"```"])
END = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n"])
FILE = st.tuples(
    st.lists(st.tuples(LINE, END).map(b"".join), max_size=6).map(b"".join), st.sampled_from([b"", b"z"])
).map(b"".join)


def ways(old: bytes, new: bytes) -> list[Action]:
    """Actions that turn one file into the other, as far as a format can say them; line ends may differ."""
    patch = get("udiff").parse(f"```diff\n{unified(diff_files({'f': old}, {'f': new}), {'f': old})}```").edits[0]
    numberless = isinstance(patch, Patch) and Patch("f", tuple(Hunk(hunk.lines) for hunk in patch.hunks))
    edits = [
        Write("f", Text(new)),
        Write("f", Text(new), new=True),
        Replace("f", Text(old), Text(new)),
        patch,
        numberless,
    ]
    edits += [Insert("f", 0, Text(new)), Rename("f", "g"), Delete("f"), Delete("f", Text(old))]
    return [Action("edit", (edit,)) for edit in edits if edit]


@settings(max_examples=60, deadline=None)
@given(FILE, FILE)
def test_what_is_written_is_said_and_the_rest_is_old(old, new):
    if old == new:
        return
    for name in ("apply_patch", "search_replace", "tool_call", "udiff", "xml"):
        for action in ways(old, new):
            try:
                reply = get(name).render(action)
            except ValueError:
                continue
            try:
                applied = apply_edits({"f": old}, get(name).parse(reply).edits)
            except EditError:
                continue
            raw = reply_bytes(reply)
            edit = action.edits[0]
            if isinstance(edit, Patch) and b"\r" not in old + new:
                assert applied.files == {"f": new}
            for path, origins in applied.origins.items():
                data, kept, end = applied.files[path], [], 0
                for origin in origins:
                    assert end <= origin.new.start <= origin.new.end <= len(data)
                    kept.append(data[end : origin.new.start])
                    end = origin.new.end
                    if origin.exact:
                        assert raw[slice(*origin.source)] == data[slice(*origin.new)]
                position = 0
                for part in [*kept, data[end:]]:
                    position = old.find(part, position)
                    assert position >= 0
                    position += len(part)
            diff = diff_files({"f": old}, applied.files, applied.origins)
            assert apply(diff, {"f": old}) == applied.files
