"""The search_replace format: Aider's blocks."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.actions.base import Action, Insert, Replace, Text, Write, get
from codegym.edits import apply_edits
from codegym.spans import reply_bytes, reply_text
from tests.pace import at_most

FORMAT = get("search_replace")


def block(search: str, text: str, size: int = 7) -> str:
    return f"{'<' * size} SEARCH\n{search}{'=' * size}\n{text}{'>' * size} REPLACE\n"


def parse(reply: str) -> Action:
    action = FORMAT.parse(reply)
    raw = reply_bytes(reply)
    for edit in action.edits:
        for text in [edit.text, *([edit.search] if isinstance(edit, Replace) else [])]:
            assert raw[slice(*text.span)] == text.data
        assert raw[slice(*edit.place)] == reply_bytes(edit.path)
    return action


def error(reply: str) -> str:
    action = parse(reply)
    assert (action.kind, action.edits) == ("invalid", ())
    assert action.error is not None
    return action.error


ONE = Action("edit", (Replace("src/a.py", Text(b"x = 1\n"), Text(b"x = 2\n")),))
X = block("x = 1\n", "x = 2\n")


@pytest.mark.parametrize(
    "reply",
    [
        f"src/a.py\n{X}",
        f"I change it.\n\nsrc/a.py\n```python\n{X}```\nDone.",
        f"```python\nsrc/a.py\n{X}```",
        f"`src/a.py`\n```\n{X}```",
        f"**src/a.py**\n~~~\n{X}~~~",
        f"<think>b.py\n{X}</think>\nsrc/a.py\n{X}",
        f"b.py\n{X}</think>\nsrc/a.py\n{X}",
        "src/a.py\n" + block("x = 1\n", "x = 2\n", 9),
        f"src/a.py\n```bash\n{X}```",
        f"src/a.py\n{X}".replace("\n<", "  \n<").rstrip("\n"),
    ],
)
def test_one_block(reply):
    assert parse(reply) == ONE


def test_several_blocks_and_files():
    reply = f"a.py\n```\n{X}```\n\nand\nb.py\n```\n" + block("", "new\n") + block("y\n", "z\n") + f"```\n```\n{X}```\n"
    assert parse(reply).edits == (
        Replace("a.py", Text(b"x = 1\n"), Text(b"x = 2\n")),
        Write("b.py", Text(b"new\n"), new=True),
        Replace("b.py", Text(b"y\n"), Text(b"z\n")),
        Replace("b.py", Text(b"x = 1\n"), Text(b"x = 2\n")),
    )


def test_commands_and_the_end():
    assert parse("Run:\n```bash\npytest -q\n```") == Action("shell", command="pytest -q")
    assert parse("```bash\nsubmit\n```") == Action("submit")
    assert "two actions in one reply, a SEARCH block and a ```bash block" in error(f"a\n{X}```bash\nls\n```")


def test_longer_markers_hold_other_blocks():
    held = block("a\n", "b\n") + "Title\n=======\n"
    reply = f"a.md\n{block(held, '', 8)}"
    assert parse(reply).edits == (Replace("a.md", Text(held.encode()), Text(b"")),)
    assert "longer by one" in error(f"a.md\n{block(held, '')}")
    assert "holds =======" in error("a.md\n" + block("Title\n=======\nold\n", "Title\n=======\nnew\n"))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "no action"),
        (f"```\n{X}```", "no file's name"),
        (X, "no file's name"),
        (f"a\n{X}{X}"[:-20], "is missing"),
        ("a\n<<<<<<< SEARCH\nx\n", "======= is missing"),
        ("a\n<<<<<<< SEARCH", "======= is missing"),
        ("a\n<<<<<<< SEARCH\nx\n=======\ny", ">>>>>>> REPLACE is missing"),
        ("a\n<<<<<<< SEARCH\nx\n=====\ny\n>>>>>>> REPLACE\n", "======= is missing"),
        (f"a\n<<<<<<< SEARCH\nx\n=======\ny\nb\n{X}", "holds <<<<<<< SEARCH"),
        (f"a\n{X}>>>>>>> REPLACE\n", "without its block"),
        ("```bash\nls", "ends inside"),
        ("a\n```bash\nls\n```\n```sh\nls\n```", "two actions"),
    ],
)
def test_errors_say_what_is_wrong(reply, words):
    assert words in error(reply)


def test_how_blocks_apply():
    def apply(files, reply):
        return apply_edits(files, parse(reply).edits).files

    assert apply({"a": b"x\r\ny\r\n"}, "a\n" + block("y\n", "z\nw\n")) == {"a": b"x\r\nz\r\nw\r\n"}
    assert apply({"a": b"x\ny"}, "a\n" + block("y\n", "z\n")) == {"a": b"x\nz"}
    assert apply({"a": b"x\ny"}, "a\n" + block("y\n", "")) == {"a": b"x\n"}
    assert apply({"a": b"x\r\ny"}, "a\n" + block("x\ny\n", "z\nw\n")) == {"a": b"z\r\nw"}
    assert apply({}, "d/a\n" + block("", "z\n")) == {"d/a": b"z\n"}
    assert apply({"a": b""}, "a\n" + block("", "z\n")) == {"a": b"z\n"}
    with pytest.raises(ValueError, match="exists already"):
        apply({"a": b"x\n"}, "a\n" + block("", "z\n"))
    with pytest.raises(ValueError, match="2 times, at lines 1, 3"):
        apply({"a": b"y\nx\ny"}, "a\n" + block("y\n", "z\n"))


PIECES = ["a.py\n", "\n", "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "<<<<< SEARCH", "=====", "```",
          "```bash\n", "<think>", "</think>", "x", " ", "\r", "`", "**", "\udcff"]  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.text(st.characters()), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_gives_an_action(reply):
    action = parse(reply)
    assert (action.kind == "invalid") == (action.error is not None)


LINES = st.lists(st.sampled_from(PIECES[1:]), max_size=6).map(lambda parts: reply_bytes("".join(parts)))
WHOLE = st.builds(Text, (LINES | st.binary(max_size=9)).map(lambda data: data + b"\n" * (not data.endswith(b"\n"))))
PATH = st.from_regex(r"[a-z./ é]*[a-z.é]", fullmatch=True).filter(lambda path: path == path.strip())
EDIT = st.one_of(
    st.builds(Replace, PATH, WHOLE, WHOLE | st.just(Text(b""))),
    st.builds(Write, PATH, WHOLE | st.just(Text(b"")), new=st.just(True)),
)
ACTION = st.one_of(
    st.lists(EDIT, min_size=1, max_size=4).map(lambda edits: Action("edit", tuple(edits))),
    LINES.filter(lambda data: data.strip() and data.strip() != b"submit").map(
        lambda data: Action("shell", command=reply_text(data))
    ),
    st.just(Action("submit")),
)


@settings(max_examples=50, deadline=None)
@given(ACTION)
def test_what_is_rendered_reads_back(action):
    assert parse(FORMAT.render(action)) == action


def test_what_cannot_be_written_is_refused():
    for edit in (Write("a", Text(b"x\n")), Insert("a", 1, Text(b"")), Replace("a", Text(b"x"), Text(b"y"))):
        with pytest.raises(ValueError, match="search_replace format cannot write"):
            FORMAT.render(Action("edit", (edit,)))


@pytest.mark.parametrize("unit", ["<<<<<<< SEARCH\n", "=======\n", "a\n" + X, "```\n", "<think>", "\n"])
def test_time_is_linear_in_the_length(unit):
    with at_most(150):
        parse("a\n" + unit * (20_000 // len(unit)))
        parse("a\n<<<<<<< SEARCH\n" + unit * (20_000 // len(unit)))
