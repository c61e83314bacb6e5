"""The xml format: known answers, errors that teach, and properties over any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.actions.base import (
    Action,
    ActionFormat,
    Delete,
    Insert,
    Lines,
    Rename,
    Replace,
    Text,
    Write,
    get,
    register,
)
from codegym.spans import Span, reply_bytes, reply_text
from tests.pace import at_most

XML = get("xml")


def parse(reply: str) -> Action:
    action = XML.parse(reply)
    raw = reply_bytes(reply)
    for edit in action.edits:
        for text in filter(None, (getattr(edit, "text", None), getattr(edit, "search", None))):
            assert raw[text.span.start : text.span.end] == text.data
    return action


def error(reply: str) -> str:
    action = parse(reply)
    assert action.kind == "invalid"
    assert action.edits == ()
    assert action.error is not None
    assert action.error.count("\n") <= 1
    return action.error


def test_pairs_inline_and_block_read_the_same():
    inline = parse('<edit path="a.py"><search>foo</search><replace>bar</replace></edit>')
    block = parse('<edit path="a.py">\n<search>\nfoo\n</search>\n<replace>\nbar\n</replace>\n</edit>')
    assert inline == block == Action("edit", (Replace("a.py", Text(b"foo"), Text(b"bar")),))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("", b""),
        ("\n", b""),
        ("\n\n", b""),
        ("\n\n\n", b"\n"),
        ("foo\n", b"foo\n"),
        ("\n  foo\n\n", b"  foo\n"),
        ("\r\nfoo\r\n", b"foo"),
        ("\nfoo\r\n", b"foo\r"),
        ("&lt;x ]]> ```", b"&lt;x ]]> ```"),
        ("\nif n <lines and x > 1:\n", b"if n <lines and x > 1:"),
    ],
)
def test_bodies_of_pairs(body, text):
    edit = parse(f'<edit path="a"><search>x</search><replace>{body}</replace></edit>').edits[0]
    assert edit.text.data == text


@pytest.mark.parametrize(
    ("body", "text"), [("", b""), ("\n", b""), ("\n\n", b"\n"), ("x", b"x"), ("\nx\n", b"x\n"), ("\nx", b"x")]
)
def test_bodies_of_whole_lines_keep_their_last_newline(body, text):
    for head in ('write path="a"', 'insert path="a" line="0"', 'lines path="a" first="1" last="2"'):
        assert parse(f"<{head}>{body}</{head.split()[0]}>").edits[0].text.data == text


def test_all_edits_of_a_reply_in_order_and_their_places():
    reply = (
        'Let me é see.\n<edit path="a"><search>1</search><replace>2</replace> '
        "<search>3</search><replace>4</replace></edit>"
        'and <write path=\'b\'>w</write><insert path="c" line="0">i</insert>'
        "<lines first='3' last='5' path='d'></lines>"
    )
    action = parse(reply)
    assert action == Action(
        "edit",
        (
            Replace("a", Text(b"1"), Text(b"2")),
            Replace("a", Text(b"3"), Text(b"4")),
            Write("b", Text(b"w")),
            Insert("c", 0, Text(b"i")),
            Lines("d", 3, 5, Text(b"")),
        ),
    )
    raw = reply_bytes(reply)
    assert [raw[edit.place.start : edit.place.end] for edit in action.edits] == [
        b'<edit path="a">',
        b'<edit path="a">',
        b"<write path='b'>",
        b'<insert path="c" line="0">',
        b"<lines first='3' last='5' path='d'>",
    ]


def test_shell_and_submit():
    assert parse("run it <shell>\ncat <<'E' >a\n```x```\nE\n</shell>") == Action(
        "shell", command="cat <<'E' >a\n```x```\nE"
    )
    assert parse('<shell>echo "a << b"</shell>') == Action("shell", command='echo "a << b"')
    assert parse("done <submit />") == Action("submit")


def test_reasoning_is_no_action():
    quoted = '<edit path="a"><search>1</search><replace>2</replace></edit>'
    real = '<edit path="b"><search>3</search><replace>4</replace></edit>'
    for reply in (
        f"<think>{quoted} and <edit</think>{real}",
        f"first {quoted}\nno, <search> </think>{real}",
        f"<think>a</think>{real}<think>{quoted}</think>",
    ):
        assert [edit.path for edit in parse(reply).edits] == ["b"]
    assert "no action" in error(f"<think>{quoted}")
    assert "no action" in error(f"<think>{quoted}</think>")


def test_an_id_lets_a_body_hold_anything():
    body = '</edit> ]]> <search> ``` </replace> <replace id="k2"> </replace id="k2">'
    edit = parse(f'<edit path="a" id="e"><search>x</search><replace id="k1">{body}</replace id="k1"></edit id="e">')
    assert edit.edits == (Replace("a", Text(b"x"), Text(body.encode())),)
    assert 'id="k1"' in error(f'<edit path="a"><search>x</search><replace>{body}</replace></edit>')
    assert "</shell" in error('<shell id="q">a</shell> b')


PAIR = "<search>x</search><replace>y</replace>"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "no action"),
        ("just text < edit", "no action"),
        (f'<edit path="a">{PAIR}</edit><shell>ls</shell>', "two actions in one reply, <edit> and <shell>"),
        ("<submit/><submit/>", "<submit> and <submit>"),
        ('<shell>ls</shell><write path="a">b</write>', "<shell> and <write>"),
        ('<edit path="a"><search>x</search><replace>y', "ends inside <replace>"),
        ('<edit path="a"><search>x', "ends inside <search>"),
        (f'<edit path="a">{PAIR}', "ends inside <edit>"),
        (f'<edit path="a">{PAIR}</ed', "ends inside <edit>"),
        (f'<edit path="a">{PAIR}</edit', "ends inside <edit>"),
        (f'<edit path="a">{PAIR}<sea', "ends inside <edit>"),
        ('<edit path="a', "ends inside the tag <edit"),
        ("<shell>ls", "ends inside <shell>"),
        (f"<edit>{PAIR}</edit>", "no path"),
        (f'<edit path="">{PAIR}</edit>', "no path"),
        ("<write>a</write>", "no path"),
        ('<edit path="a"><search>x</search></edit>', "without <replace>"),
        ('<edit path="a"><replace>x</replace></edit>', "<replace> where <search>"),
        ('<edit path="a"></edit>', "no pair"),
        (f'<edit path="a">text {PAIR}</edit>', "'text"),
        (f'<edit path="a">{PAIR}</edit></edit>', "</edit> stands outside"),
        ("<search>x</search>", "<search> stands outside"),
        (f'<edit path="a"><edit path="b">{PAIR}</edit></edit>', "<edit> where <search>"),
        ('<edit path="a"><search>x</edit><edit path="b"><search>y</search>', "<search> holds </edit>"),
        ('<write path="a">x = "</write>"\n</write>', "</write> stands outside"),
        ('<insert path="a" line="-1">x</insert>', "'-1'"),
        ('<insert path="a" line="1e3">x</insert>', "whole number from 0"),
        ('<insert path="a">x</insert>', "needs line"),
        ('<lines path="a" first="0" last="2">x</lines>', "whole number from 1"),
        ('<lines path="a" first="5" last="2">x</lines>', 'first="2" last="5"'),
        ('<lines path="a" first="1" last="' + "9" * 5000 + '">x</lines>', "needs last"),
        ('<edit path="a" file="b"><search>', "'file' which it does not take"),
        ('<edit path="a" path="b"><search>', "'path' twice"),
        ("<edit path=a>", "malformed"),
        ("<submit>", "<submit/>"),
        ('<write path="a"/>', "closing tag"),
        ("<shell> \n</shell>", "<shell> is empty"),
        ('<shell id="a b">ls</shell>', 'id="k1"'),
    ],
)
def test_errors_say_what_to_write(reply, words):
    assert words in error(reply)


def test_the_prompt_teaches_what_the_parser_reads():
    example = XML.prompt.split("these:\n")[1].split("(more")[0]
    assert parse(example).edits == (
        Replace("a.py", Text(b"lines that occur exactly once in the file"), Text(b"what they become")),
    )


PIECES = [
    "<edit", ' path="a"', " path='b'", ">", "/>", "<search>", "</search>", "<replace>", "</replace>", "</edit>",
    "\n", "<write", "</write>", "<insert", ' line="3"', "</insert>", "<lines",
    "<delete", "<rename", ' to="b"', ' first="1"', ' last="2"', "</lines>",
    "<shell>", "</shell>", "<submit/>", "<think>", "</think>", ' id="k1"', "x", " ", "\udcff", "\ud800", "é", '"',
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(st.characters()), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_gives_an_action(reply):
    action = parse(reply)
    assert (action.kind == "invalid") == (action.error is not None)


BODY = st.one_of(
    st.binary(max_size=20), st.lists(st.sampled_from(PIECES), max_size=6).map(lambda parts: reply_bytes("".join(parts)))
)
TEXT = st.builds(Text, BODY)
PATH = st.text(st.characters(exclude_characters='"', codec="utf-8"), min_size=1, max_size=5)
EDIT = st.one_of(
    st.builds(Replace, PATH, TEXT, TEXT),
    st.builds(Write, PATH, TEXT),
    st.builds(Insert, PATH, st.integers(0, 999), TEXT),
    st.builds(Delete, PATH),
    st.builds(Rename, PATH, PATH),
    st.integers(1, 99).flatmap(lambda n: st.builds(Lines, PATH, st.just(n), st.integers(n, 200), TEXT)),
)
ACTION = st.one_of(
    st.lists(EDIT, min_size=1, max_size=4).map(lambda edits: Action("edit", tuple(edits))),
    BODY.filter(bytes.strip).map(lambda data: Action("shell", command=reply_text(data))),
    st.just(Action("submit")),
)


@settings(max_examples=60, deadline=None)
@given(ACTION)
def test_what_is_rendered_reads_back(action):
    assert parse(XML.render(action)) == action


def test_what_cannot_be_written_is_refused():
    for action in (Action("invalid"), Action("edit"), Action("shell"), Action("edit", (Write("'\"", Text(b"")),))):
        with pytest.raises(ValueError, match="xml format cannot write"):
            XML.render(action)


@pytest.mark.parametrize(
    "unit",
    ["<edit", "<edit ", '<edit path="', "<edit path='a' ", "</", "<think>", '<edit path="a"><search>',
     "<shell>a</shell>",
     '<edit path="a"><search>x</search><replace>y</replace></edit>', "<search id='k1'>", "\ud800a", '<shell id="k1">']
)  # fmt: skip
def test_time_is_linear_in_the_length(unit):
    with at_most(100):
        parse(unit * (200_000 // len(unit)))
        parse('<write path="a">' + unit * (200_000 // len(unit)) + "</write>")


def test_files_are_deleted_and_renamed():
    reply = '<delete path=\'a\'/><rename path="b" to="c" />'
    action = parse(reply)
    assert action == Action("edit", (Delete("a"), Rename("b", "c")))
    assert reply[slice(*action.edits[1].place)] == '<rename path="b" to="c" />'
    assert "has no to" in error('<rename path="a"/>')
    assert '<delete path="a.py"/>' in error('<delete path="a"></delete>')


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="named 'xml' is registered already"):

        @register
        class Mine(ActionFormat):
            name = "xml"
            prompt = ""

            def parse(self, reply):
                return Action("submit")

            def render(self, action):
                return ""

    assert get("xml") is XML


def test_quoted_reasoning_tags_are_text():
    real = '<edit path="b"><search>3</search><replace>4</replace></edit>'
    for words in ('print("</think>")', "the `</think>` tag", "('<think>', '</think>')"):
        assert [edit.path for edit in parse(f"{words}\n{real}").edits] == ["b"]
        assert [edit.path for edit in parse(f"<think>{words} {real}</think>\n{real}").edits] == ["b"]
        write = f'<write path="a">\n{words}\n</write>{real}'
        assert [edit.path for edit in parse(write).edits] == ["a", "b"]


def test_bytes_and_text_convert_without_loss():
    every = bytes(range(256)) * 2 + "é\ud7ff€😀".encode()
    assert reply_bytes(reply_text(every)) == every
    assert reply_bytes("\ud800\udcff") == b"\xed\xa0\x80\xff"
    assert Span(1, 2) == (1, 2)
