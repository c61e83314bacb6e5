"""Symbol paths in each language, half-written code, languages that are added or missing."""

import pytest

from codegym.diff import diff_files, languages
from codegym.diff.languages import Definition, Language, language_of, register
from codegym.diff.script import edit_script

JAVASCRIPT = b"""export const f = (x) => { return x + 1; };
const g = () => 10, h = () => 20;
class A { m(a) { return a; }
  static s = () => 2; }
"""
TYPESCRIPT = b"""namespace N { export class A<T> { private m(a: number): T { return a; } } }
interface I { p(x: string): void }
"""
JAVA = b"class A { int x; A() { x = 1; } int m(int a) { return a + 1; } enum E { P, Q } record R(int q) { } }\n"
GO = b"""package p

type S struct { a int }

func (s *S) M(x int) int { return x + s.a }

func F() int { return 1 }
"""
RUST = b"""mod m { pub struct P<T> { a: T }
impl<T> P<T> { fn get(&self) -> &T { &self.a } }
impl Clone for Q { fn clone(&self) -> Q { Q { b: 1 } } } }
"""
C = b"struct point { int x; };\nstatic int *add(struct point *p, int b) { return p->x + b; }\n"
CPP = b"""namespace n { template <class T> class A {
public: ~A() { a(1); }
  int m() const { return 2; }
  int operator+(int o) { return 3; } };
}
int n::A::q(int a) { return a + 4; }
"""


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "expected"),
    [
        ("a.js", JAVASCRIPT, b"x + 1", b"x - 1", [("update", "binary_expression", "f")]),
        ("a.jsx", JAVASCRIPT, b"return a", b"return b", [("update", "identifier", "A.m")]),
        ("a.mjs", JAVASCRIPT, b"=> 2;", b"=> 3;", [("update", "number", "A.s")]),
        ("a.js", JAVASCRIPT, b"20", b"21", [("update", "number", "h")]),
        ("a.ts", TYPESCRIPT, b"return a", b"return b", [("update", "identifier", "N.A.m")]),
        ("a.ts", TYPESCRIPT, b"x: string", b"x: number", [("update", "predefined_type", "I.p")]),
        ("a.tsx", b"export function C() { return <p>hi</p>; }\n", b"hi", b"ho", [("update", "jsx_text", "C")]),
        ("A.java", JAVA, b"x = 1", b"x = 2", [("update", "decimal_integer_literal", "A.A")]),
        ("A.java", JAVA, b"a + 1", b"a * 1", [("update", "binary_expression", "A.m")]),
        ("A.java", JAVA, b"P, Q", b"P, Q, R", [("insert", "enum_constant", "A.E")]),
        ("A.java", JAVA, b"int q", b"int r", [("update", "identifier", "A.R")]),
        ("a.go", GO, b"a int", b"b int", [("update", "field_identifier", "S")]),
        ("a.go", GO, b"x + s", b"x - s", [("update", "binary_expression", "S.M")]),
        ("a.go", GO, b"return 1", b"return 2", [("update", "int_literal", "F")]),
        ("a.rs", RUST, b"a: T", b"b: T", [("update", "field_identifier", "m.P")]),
        ("a.rs", RUST, b"&self.a", b"&self.b", [("update", "field_identifier", "m.P.get")]),
        ("a.rs", RUST, b"b: 1", b"b: 2", [("update", "integer_literal", "m.Q.clone")]),
        ("a.c", C, b"int x", b"int y", [("update", "field_identifier", "point")]),
        ("a.h", C, b"p->x + b", b"p->x - b", [("update", "binary_expression", "add")]),
        ("a.cpp", CPP, b"a(1)", b"a(5)", [("update", "number_literal", "n.A.~A")]),
        ("a.cc", CPP, b"return 2", b"return 5", [("update", "number_literal", "n.A.m")]),
        ("a.hpp", CPP, b"return 3", b"return 5", [("update", "number_literal", "n.A.operator+")]),
        ("a.cxx", CPP, b"+ 4", b"+ 5", [("update", "number_literal", "n.A.q")]),
    ],
)  # fmt: skip
def test_symbol_paths(path, text, old, new, expected):
    assert text.count(old) == 1
    changed = text.replace(old, new)
    (file,) = diff_files({path: text}, {path: changed}).files
    assert (file.parsed, file.note) == (True, "")
    assert [(c.kind, c.node, c.symbol) for c in file.changes] == expected
    assert edit_script(text, changed, path).replay(text) == changed


WHOLE = b"def f(a):\n    return a\n\n\ndef g(b):\n    return b\n"


def test_what_parses_around_half_written_code_is_syntax():
    new = WHOLE.replace(b"return a", b"return a + 1").replace(b"return b", b"return (b,")
    (file,) = diff_files({"a.py": WHOLE}, {"a.py": new}).files
    assert not file.parsed
    assert file.note == "a syntax error in the new file at line 5, compared by lines there"
    assert [(c.kind, c.node, c.symbol) for c in file.changes] == [
        ("insert", "binary_operator", "f"), ("move", "identifier", "f"), ("update", "line", ""),
    ]  # fmt: skip
    assert edit_script(WHOLE, new, "a.py").replay(WHOLE) == new


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.py", b"x = 1\n$\n", 2), ("a.py", b"x = 1\n?\n", 2), ("a.py", b"def f():\n    return 1\n\x1a", 3),
        ("a.c", b"int x;\n@\n", 2), ("a.cpp", b"x\n\n", 1), ("a.go", b"package p\n\n$\n", 3),
        ("a.rs", b"fn f() {}\n`\n", 2), ("A.java", b"class A {}\n#\n", 2),
        ("a.js", b"f();\n#\n", 2), ("a.ts", b"f();\n\\\n", 2),
        ("a.go", b"package p\n\ntype S struct { a int }x\n", 1),  # what is missing there is no node
    ],
)  # fmt: skip
def test_an_error_that_stands_alone_is_told(path, text, line):
    (file,) = diff_files({path: b""}, {path: text}).files
    assert not file.parsed
    assert file.note == f"a syntax error in the new file at line {line}, compared by lines there"
    assert all(change.node != "ERROR" for change in file.changes)


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(languages, "_BY_ENDING", dict(languages._BY_ENDING))


@pytest.mark.usefixtures("registry")
def test_a_language_is_added_in_one_call():
    assert language_of("a.snake") is None
    register(Language("snake", "tree_sitter_python", ("snake",), {"function_definition": Definition()}))
    (file,) = diff_files({"a.snake": WHOLE}, {"a.snake": WHOLE.replace(b"return a", b"return c")}).files
    assert [(c.kind, c.node, c.symbol) for c in file.changes] == [("update", "identifier", "f")]
    assert (file.language, file.parsed) == ("snake", True)


@pytest.mark.usefixtures("registry")
def test_an_ending_has_one_language():
    with pytest.raises(ValueError, match=r"\.py files are python; leave the ending out of snake"):
        register(Language("snake", "tree_sitter_snake", ("py",)))


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("grammar", ["tree_sitter_nowhere", "json"])
def test_a_missing_grammar_is_said(grammar):
    register(Language("nowhere", grammar, ("nw",)))
    (file,) = diff_files({"a.nw": b"a\n"}, {"a.nw": b"b\n"}).files
    assert (file.language, file.parsed) == ("nowhere", False)
    assert file.note.startswith("no grammar (")
    assert f"pip install {grammar.replace('_', '-')}" in file.note
    assert [c.node for c in file.changes] == ["line"]
