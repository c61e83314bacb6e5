"""Units: what is code, comment and content in every language, held against the grammars; fragments; odd texts."""

from __future__ import annotations

import importlib
import itertools
import time
from pathlib import Path

import pytest
import tree_sitter
from hypothesis import given, settings
from hypothesis import strategies as st

import algorithms
from algorithms.didpo.units import LEXERS, _across, _alone, units_of
from codegym.diff.languages import language_of

LITERALS = sorted((Path(__file__).parent / "literals").iterdir())
_STRINGS = frozenset(
    ("string", "string_literal", "raw_string_literal", "interpreted_string_literal", "template_string",
     "char_literal", "character_literal", "rune_literal")
)  # fmt: skip


def texts(code, language="python"):
    return list(units_of(code, language).texts)


def test_units_fold_spacing_and_drop_comments():
    tidy = b"if a:\n    x = f(1, 2)\n"
    wild = b"\r\n# why\r\nif  a :   # here\r\n\tx=f( 1,2 )\r\n\r\n"
    assert texts(tidy) == texts(wild) == [b"if a :", b"x = f ( 1 , 2 )"]


def test_units_keep_what_a_string_says():
    assert texts(b's = "a # b"') == [b's = "a # b"']
    assert texts(rb's = "a\nb"') != texts(rb's = "c\nb"')
    assert texts(b's = """a\r\n  b # c\n"""  # d') == [b's = """a', b"b # c", b'"""']


def test_units_of_other_languages():
    code = b"int f(int a) { // why\n  return a/* 2\n */ +1; }"
    assert texts(code, "c") == [b"int f ( int a ) {", b"return a", b"+ 1 ; }"]
    assert texts(b"const s = `a // b\nc`", "javascript") == [b"const s = `a // b", b"c`"]
    assert texts(b"x='a # b' # c", "bash") == [b"x = 'a # b'"]
    assert texts(b"Is it # so?", None) == [b"Is it # so ?"]


def test_every_language_of_the_diff_has_a_lexer():
    names = {language_of(f"m.{ending}").name for ending in ("py", "js", "ts", "tsx", "java", "go", "rs", "c", "cpp")}
    assert names <= set(LEXERS)


def assert_units_are_the_lines_of_code(path):
    """Returns the code, its units, and the grammar's strings in it."""
    code, language = path.read_bytes(), language_of(path.name)
    grammar = tree_sitter.Language(importlib.import_module(language.grammar).language())
    stack = [tree_sitter.Parser(grammar).parse(code).root_node]
    assert not stack[0].has_error, path
    bare, strings = bytearray(code), []
    while stack:
        node = stack.pop()
        stack += node.children
        if node.type in language.comments:
            start, end = node.start_byte, node.end_byte
            bare[start:end] = b"".join(b"\n" if byte == 10 else b" " for byte in code[start:end])
        elif node.type in _STRINGS:
            strings.append(node)
    wanted, position = [], 0
    for line in bytes(bare).split(b"\n"):
        if line.strip() and not line.endswith(b"\\"):  # which joins lines in code and is content in a string
            wanted.append((position + len(line) - len(line.lstrip()), position + len(line.rstrip())))
        position += len(line) + 1
    units = units_of(code, language.name)
    ends = {end: start for start, end in zip(units.starts, units.ends, strict=True)}
    assert [(ends.get(end), end) for _, end in wanted] == wanted, path
    return code, units, strings


def test_units_agree_with_the_grammar_on_every_file_of_this_project():
    files = sorted(Path(algorithms.__file__).parent.parent.glob("*/**/*.py"))
    assert len(files) > 100
    for path in files:
        assert_units_are_the_lines_of_code(path)


@pytest.mark.parametrize("path", LITERALS, ids=lambda path: path.name)
def test_units_agree_with_the_grammar_on_what_strings_and_comments_can_be(path):
    code, units, strings = assert_units_are_the_lines_of_code(path)
    assert len(strings) > 2
    at = dict(zip(units.starts, units.texts, strict=True))
    for node in strings:
        # White space in a literal is content: each of its lines stands as it is in the unit of that line.
        position = node.start_byte
        for line in code[node.start_byte : node.end_byte].split(b"\n"):
            own = max(start for start in at if start <= position + len(line) - len(line.lstrip()))
            assert line.strip().removeprefix(b"b") in at[own], (path, line)
            position += len(line) + 1


@pytest.mark.parametrize(
    ("language", "code", "other"),
    [
        ("java", 's = """\n http://a.com""";', 's = """\n http://b.org/x""";'),
        ("rust", 's = "line\n  http://a.com";', 's = "line\n  http://b.com";'),
        ("rust", 's = r#"say "http://a" "#;', 's = r#"say "http://b" "#;'),
        ("cpp", 's = R"(a // b)";', 's = R"(a // c)";'),
        ("go", "s = `\\` + `a // b`", "s = `\\` + `a // c`"),
        ("javascript", 'f(/\\/\\//, "a")', 'f(/\\/\\//, "b")'),
    ],
)
def test_content_that_reads_like_a_comment_is_content(language, code, other):
    assert texts(code.encode(), language) != texts(other.encode(), language)


def test_a_lifetime_is_no_quote():
    assert texts(b"fn f<'a>(x: i32) { g( x ) } // don't", "rust") == texts(b"fn f< 'a >(x:i32) { g(x) }", "rust")


@pytest.mark.parametrize("language", sorted(LEXERS))
@pytest.mark.parametrize(
    "text",
    ['x = "' + '\\"' * 20_000, "x = `" + "\\`" * 20_000, "x = '" + "\\'" * 20_000, '\\"""' * 10_000 + "\\",
     'R"a(' * 10_000, 'r#"' * 10_000, "(/\\" * 10_000, "'\\" * 20_000, '"' * 40_001],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_the_time_of_open_literals_is_linear(language, text):
    began = time.process_time()
    assert units_of.__wrapped__(text.encode(), language).texts
    assert time.process_time() - began < 1  # .01 s each; a search per escaped quote takes 3 s and more


def test_unit_spans_are_the_bytes_of_the_line():
    code = "  é = 'ü'  # c\r\n\treturn é\n".encode()
    units = units_of(code, "python")
    assert [code[a:b].decode() for a, b in zip(units.starts, units.ends, strict=True)] == ["é = 'ü'", "return é"]


def test_statements_by_layout():
    code = b"def f(a):\n    if a:\n        g()\n    else:\n        h()\n    return a\nx = 1\n"
    units = units_of(code, "python")
    assert dict(zip(units.runs, units.depths, strict=True)) == {(0, 6): 0, (1, 5): 1, (6, 7): 0}
    braces = units_of(b"if (a) {\n  g();\n} else {\n  h();\n}\nx = 1;\n", "c")
    assert braces.runs == ((0, 5), (5, 6))


@pytest.mark.parametrize("language", ["python", "bash", "cpp", "rust", "java", "javascript", "cobol", None])
@given(
    code=st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogateescape"))
    | st.text("ab\"'\\\n\r #/*`rR()", max_size=40).map(str.encode)
)
@settings(max_examples=40, deadline=None)
def test_units_of_anything_hold_ink_in_order(language, code):
    units = units_of(code, language)
    spans = list(zip(units.starts, units.ends, strict=True))
    assert all(a < b for a, b in spans)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(b"\n" not in text and text.strip() == text for text in units.texts)
    if language is None:
        folded = [b"".join(text.split()) for text in units.texts]
        assert folded == [b"".join(line.split()) for line in code.split(b"\n") if line.strip()]
    assert all(0 <= first < last <= len(spans) for first, last in units.runs)
    tops = [run for run, depth in zip(units.runs, units.depths, strict=True) if depth == 0]
    assert [first for first, _ in tops] == [0, *(last for _, last in tops)][: len(tops)]


@given(st.text("ab='\"\\ #/`\n", max_size=60))
@settings(max_examples=200, deadline=None)
def test_tokens_found_all_at_once_or_one_by_one_are_the_same(code):
    data = code.encode()
    for name, lexer in LEXERS.items():
        if not any(sign in data for sign in lexer.spanning):
            lines = data.split(b"\n")
            assert list(_alone(data, lines, lexer)) == list(_across(data, lines, lexer)), name
