"""The tool_call format: JSON function calls in their spellings, and strings whose bytes are said in other bytes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegym.actions import json_texts
from codegym.actions.base import Action, Delete, Insert, Lines, Patch, Rename, Replace, Text, Write, get
from codegym.actions.text import Cutter
from codegym.actions.tools import TOOLS
from codegym.edits import apply_edits
from codegym.spans import reply_bytes, reply_text
from tests.pace import at_most

FORMAT = get("tool_call")


def parse(reply: str) -> Action:
    action = FORMAT.parse(reply)
    raw = reply_bytes(reply)
    for edit in action.edits:
        for text in (getattr(edit, "text", None), getattr(edit, "search", None)):
            for data, source, exact in Cutter(text).cut(0, len(text.data)) if text else ():
                assert not exact or raw[slice(*source)] == data
                assert source.end <= len(raw)
    return action


def error(reply: str) -> str:
    action = parse(reply)
    assert (action.kind, action.edits) == ("invalid", ())
    assert action.error is not None
    return action.error


def call(name: str, **arguments) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>\n"


LS = '{"name": "shell", "arguments": {"command": "ls -la"}}'


@pytest.mark.parametrize(
    "reply",
    [
        f"I look.\n<tool_call>\n{LS}\n</tool_call>\nThen.",
        f"<tool_call>{LS}</tool_call>",
        LS,
        f"I look:\n{LS} and then more",
        f"```json\n{LS}\n```\nmore",
        LS.replace('"', "'"),
        LS.replace("arguments", "parameters"),
        LS.replace("}}", ",},}"),
        json.dumps({"name": "shell", "arguments": json.dumps({"command": "ls -la"})}),
        json.dumps({"type": "function", "id": "c1", "function": json.loads(LS)}),
        json.dumps({"tool_calls": [{"id": "c1", "type": "function", "function": json.loads(LS)}]}),
        f"[{LS}]",
        f"<think>{call('submit')}</think>\n{LS}",
        f'{{"a": 1}}\n["x"]\n{{broken\n{LS}',
    ],
)
def test_the_spellings_of_one_call(reply):
    assert parse(reply) == Action("shell", command="ls -la")


A, B = (json.dumps({"name": "write", "arguments": {"path": path, "text": "x"}}) for path in "ab")


@pytest.mark.parametrize(
    "reply",
    [
        f"<tool_call>{A}{B}</tool_call>",
        f"<tool_call>[{A}, {B}]</tool_call>",
        f"<tool_call>\n{A};\n{B}\n</tool_call>",
        f"<tool_call>{A}</tool_call>{B}",
        f"<tool_call>{A}<tool_call>{B}",
        f"```json\n{A},\n{B}\n```",
        f"{A}, {B}",
        f"{A};{B}",
        f"[{A}] {B}",
        f"{A}\n, {B}",
        f"{A} and then {B}",
        f"{A} [{{}}] [{B}]",
        f'</think>{A} {{\n "arguments": {{"path": "b", "text": "x"}}, "name": "write"}}',
    ],
)
def test_no_call_of_a_line_is_lost(reply):
    assert [edit.path for edit in parse(reply).edits] == ["a", "b"]
    other = reply.replace(B, LS).replace('"path": "b", "text": "x"}, "name": "write"', '}, "name": "submit"')
    assert "two actions in one reply, a call of write and a call of s" in error(other)


def test_every_tool():
    reply = (
        call("edit", path="a", search="x", replace="y")
        + call("write", path="b", text="1\n")
        + call("insert", path="c", line=0, text="é")
        + call("lines", path="d", first=1, last=2, text="")
        + call("delete", path="e")
        + call("rename", path="f", to="g")
    )
    assert parse(reply) == Action(
        "edit",
        (
            Replace("a", Text(b"x"), Text(b"y")),
            Write("b", Text(b"1\n")),
            Insert("c", 0, Text("é".encode())),
            Lines("d", 1, 2, Text(b"")),
            Delete("e"),
            Rename("f", "g"),
        ),
    )
    assert parse(call("submit")) == Action("submit")
    raw = reply_bytes(reply)
    assert [raw[slice(*edit.place)] for edit in parse(reply).edits] == [b"a", b"b", b"c", b"d", b"e", b"f"]


def test_every_written_byte_knows_its_source():
    for arguments in ({"path": "a", "text": 'x = "1"\n\té\n'}, json.dumps({"path": "a", "text": 'x = "1"\n\té\n'})):
        reply = json.dumps({"name": "write", "arguments": arguments})
        raw = reply_bytes(reply)
        applied = apply_edits({}, parse(reply).edits)
        assert applied.files == {"a": 'x = "1"\n\té\n'.encode()}
        said = [(applied.files["a"][slice(*o.new)], raw[slice(*o.source)]) for o in applied.origins["a"]]
        slashes = b"\\" if arguments == json.loads(reply)["arguments"] and isinstance(arguments, dict) else b"\\\\"
        quote = b"\\" + b'"' if slashes == b"\\" else b'\\\\\\"'
        assert said == [
            (b"x = ", b"x = "),
            (b'"', quote),
            (b"1", b"1"),
            (b'"', quote),
            (b"\n", slashes + b"n"),
            (b"\t", slashes + b"t"),
            ("é".encode(), slashes + b"u00e9"),
            (b"\n", slashes + b"n"),
        ]


def test_strings():
    def text(said: str) -> bytes:
        value, end = json_texts.read(reply_bytes(said), 0)
        assert end == len(reply_bytes(said))
        return value.data

    assert text(r'"\u00e9\ud83d\ude00\/\b\f\n\r\t\\\""') == 'é😀/\b\f\n\r\t\\"'.encode()
    assert text('"a\nb\tc"') == b"a\nb\tc"
    assert text(r'"\udcff\ud800"') == b"\xff\xed\xa0\x80"
    assert text('"\udcff"') == b"\xff"
    assert text("'it\\'s \"x\"'") == b'it\'s "x"'
    assert text('""') == b""


def test_a_text_may_hold_the_format_itself():
    held = f"</tool_call>\n{LS}\n```json\n</think>"
    assert parse(FORMAT.render(Action("edit", (Write("a", Text(held.encode())),)))).edits[0].text.data == held.encode()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("", "no action"),
        ("{} [1] {x}", "no action"),
        (
            call("shell", command="ls") + call("submit"),
            "two actions in one reply, a call of shell and a call of submit",
        ),
        (call("shell", command="ls")[:-20], "ends inside a tool call"),
        (LS[:-1], "ends inside a tool call"),
        (LS[:-5], "ends inside a tool call"),
        ("<tool_call>", "ends inside a tool call"),
        (f"<tool_call>{LS} oops", "<tool_call> holds 'oops' after its call: close it"),
        (f"```json\n{LS} oops\n```", "a json block holds 'oops' after its calls"),
        (f'{LS}\n{{"type": "function", "fun', "ends inside a tool call"),
        (f"{LS} {{", "ends inside a tool call"),
        (f"```json\n{LS}", "ends inside the ```json block"),
        (call("run", command="ls"), "there is no tool 'run'; there are: edit"),
        (call("shell", cmd="ls"), "does not take 'cmd'; it takes: command (string)"),
        (call("shell"), "shell needs command"),
        (call("shell", command=3), "command of shell must be a string"),
        (call("shell", command=" "), "is empty"),
        (call("insert", path="a", line="3", text=""), "line of insert must be a whole number"),
        (call("insert", path="a", line=-1, text=""), "line of insert must be a whole number"),
        (call("insert", path="a", line=True, text=""), "line of insert must be a whole number"),
        ("<tool_call>ls</tool_call>", "malformed at 'ls</tool_call>'"),
        ('<tool_call>{"name" "x"}', "malformed"),
        ('<tool_call>{"name": "shell", "name": "x"}', "'name' twice"),
        ('<tool_call>{"name": "\\x"}', "escapes"),
        ("<tool_call>" + "[" * 100_000, "nested deeper"),
        ("<tool_call>[[1]]</tool_call>", "names no tool"),
        (f'[{{"thought": "x"}}, {LS}]', "names no tool"),
        ('<tool_call>{"name": "shell", "arguments": "{} x"}', "go on after"),
        ('<tool_call>{"name": "shell", "arguments": [1]}', "no JSON object"),
        ('<tool_call>{"name": "insert", "arguments": {"line": ' + "1" * 500 + "}}", "malformed"),
    ],
)
def test_errors_say_what_is_wrong(reply, words):
    assert words in error(reply)


def test_the_schemas_and_the_prompt_agree_with_the_tools():
    schemas = FORMAT.schemas()
    assert [schema["function"]["name"] for schema in schemas] == [tool.name for tool in TOOLS]
    for schema in schemas:
        function = schema["function"]
        assert function["parameters"]["required"] == list(function["parameters"]["properties"])
        assert json.dumps(function) in FORMAT.prompt
    assert parse(FORMAT.prompt.split("\nTexts")[0]) == Action("shell", command="ls")


PIECES = ['{"name": "write", "arguments": ', '{"path": "a", "text": "x"}', "}", "{", "[", "]", '"', "'", ",", ":", "\\",
          "\n", "<tool_call>", "</tool_call>", "```json\n", "```", "<think>", "</think>", "1", "true", "\\u12",
          "\udcff"]  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.one_of(st.text(st.characters()), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_gives_an_action(reply):
    action = parse(reply)
    assert (action.kind == "invalid") == (action.error is not None)


BODY = st.binary(max_size=20) | st.lists(st.sampled_from(PIECES), max_size=5).map(
    lambda parts: reply_bytes("".join(parts))
)
TEXT = st.builds(Text, BODY)
PATH = BODY.map(reply_text)
EDIT = st.one_of(
    st.builds(Replace, PATH, TEXT, TEXT),
    st.builds(Write, PATH, TEXT),
    st.builds(Insert, PATH, st.integers(0, 999), TEXT),
    st.builds(Lines, PATH, st.integers(0, 99), st.integers(0, 200), TEXT),
    st.builds(Delete, PATH),
    st.builds(Rename, PATH, PATH),
)
ACTION = st.one_of(
    st.lists(EDIT, min_size=1, max_size=4).map(lambda edits: Action("edit", tuple(edits))),
    BODY.filter(bytes.strip).map(lambda data: Action("shell", command=reply_text(data))),
    st.just(Action("submit")),
)


@settings(max_examples=50, deadline=None)
@given(ACTION)
def test_what_is_rendered_reads_back(action):
    assert parse(FORMAT.render(action)) == action


def test_what_cannot_be_written_is_refused():
    for edit in (Patch("a", ()), Write("a", Text(b""), new=True), Delete("a", Text(b"x"))):
        with pytest.raises(ValueError, match="tool_call format cannot write"):
            FORMAT.render(Action("edit", (edit,)))


@pytest.mark.parametrize(
    "unit",
    [
        '{"',
        "['a\n",
        "{\n",
        "[",
        '{"name": "x"}\n',
        "\\",
        "```json\n",
        "<tool_call>",
        '{"x\n',
        A,
        A + '["a", x ',
        A + "\n{",
    ],
)
def test_time_is_linear_in_the_length(unit):
    with at_most(150):
        parse(unit * (20_000 // len(unit)))
        parse('<tool_call>{"name": "' + unit * (20_000 // len(unit)))
