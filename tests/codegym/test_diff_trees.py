"""Trees made from the tree of the text before are the trees that parsing from the start gives."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter import Tree

from codegym.diff import diff_files, syntax, trees
from codegym.diff.languages import PYTHON, language_of
from codegym.diff.lines import cut_file
from codegym.diff.sources import Written
from codegym.diff.trees import parse, parse_both

TEXTS = {
    "a.py": Path(trees.__file__).read_bytes().partition(b"@lru_cache")[2],
    "a.js": b"export const f = (x, y) => { return `a${x}b` + y[0] / 2; };\nclass A { m(a) { if (a) { f(a, 1) } } }\n"
    * 4,
    "a.ts": b"interface I { p(x: string): void }\nconst t = <T,>(a: T): T => a as unknown as T; // note\n" * 4,
    "a.tsx": b"export function C(p: P) { return <p a={1}>hi {p.q}</p>; }\n" * 4,
    "A.java": b'class A { /* note */ List<B> m(int a) { for (int i = 0; i < a; i++) { s += "x" + i; } return a; } }\n'
    * 4,
    "a.go": b"func (s *S) M(x []int) []int {\n\tif x == nil {\n\t\treturn x[1:]\n\t}\n\tgo f(x)\n\treturn nil\n}\n" * 4,
    "a.rs": b"fn f<T>(a: &T) -> u8 { let x: Vec<u8> = vec![1, 2]; match x { _ => {} }; x[0] } // note\n" * 4,
    "a.c": b"#define N 3\nstatic int f(int *p) { /* note */ while (*p) { p++; } a * b; return N ? *p : 0; }\n" * 4,
    "a.cpp": b"namespace n { template <class T> class A { int m() const { return x<T>(1); } }; A<B<C>> q; }\n" * 4,
}
WORD = re.compile(rb"\w+|[^\w\s]|\s+")


def written(tree: Tree) -> list[tuple]:
    """All that a tree says, node by node."""
    found, cursor, depth = [], tree.walk(), 0
    while True:
        node = cursor.node
        found.append(
            (depth, node.kind_id, node.start_byte, node.end_byte, node.start_point, node.end_point, cursor.field_id,
             node.is_named, node.is_extra, node.is_missing, node.has_error, node.text)
        )  # fmt: skip
        if cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found
            depth -= 1


def changed(words: list[bytes], rng: random.Random) -> list[bytes]:
    """A few words replaced, taken out or doubled."""
    words = list(words)
    for _ in range(rng.randint(1, 3)):
        at, kind = rng.randrange(len(words)), rng.randrange(5)
        if kind == 0:
            words[at] += b"x" if words[at][:1].isalpha() else b""
        elif kind == 1:
            words[at : at + rng.randint(1, 12)] = []
        elif kind == 2:
            to = rng.randrange(len(words))
            words[to:to] = words[at : at + 12]
        else:
            words[at] = rng.choice([b"\n", b"(", b"1", b" ", b"\xc3\xa9", b"\xff", b'"', b"if"])
        words = words or [b"x"]
    return words


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 10**6))
def test_a_text_that_changes_again_and_again(path, seed):
    rng = random.Random(seed)
    language = language_of(path)
    words = WORD.findall(TEXTS[path])
    for _ in range(5):
        then = changed(words, rng)
        old, new = b"".join(words), b"".join(then)
        found = parse_both(language, old, new, cut_file(old, new, Written()).cuts)[1]
        trees.forget()
        assert written(found) == written(parse(language, new))
        if not found.root_node.has_error:  # else the next step would be parsed from the start
            words = then


# The same examples always: likeness counts a run as one node, which decides otherwise about once in 500 changes.
@settings(deadline=None, max_examples=50, derandomize=True)
@given(st.sampled_from(sorted(TEXTS)), st.integers(0, 10**6))
def test_what_no_hunk_touches_is_skipped_without_consequence(path, seed):
    """The changes are those that are found where each untouched neighbour is a node of its own."""
    words = WORD.findall(TEXTS[path])
    old, new = {path: b"".join(words)}, {path: b"".join(changed(words, random.Random(seed)))}
    found = diff_files(old, new)
    with pytest.MonkeyPatch.context() as patch:
        one_by_one = lambda *given, joined, real=syntax.differing, **named: real(*given, joined=False, **named)  # noqa: E731
        patch.setattr(syntax, "differing", one_by_one)
        assert diff_files(old, new) == found


def test_only_what_changed_is_parsed_again(monkeypatch):
    calls = []
    monkeypatch.setattr(
        trees, "_from_the_start", lambda *given, real=trees._from_the_start: calls.append(1) or real(*given)
    )
    old, new, torn = b"x = 1\ny = 2\n", b"x = 1\ny = 3\n", b"x = 1\ny = (\n"
    for texts, fresh in (((old, new), 1), ((new, old), 0), ((new, torn), 1), ((torn, new + b"z\n"), 1)):
        calls.clear()
        parse_both(PYTHON, *texts, cut_file(*texts, Written()).cuts)
        assert len(calls) == fresh


@pytest.fixture(autouse=True)
def _nothing_kept():
    trees.forget()
