"""Mutations: each kind where it should be, and no byte changed outside the site."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from benchmarks.repair import mutations, program

# kind -> (source, the mutants it must give, in order)
KNOWN: dict[str, tuple[str, list[str]]] = {
    "comparison_flipped": ("a = b < (c)\n", ["a = b > (c)\n"]),
    "comparison_boundary": ("a = (b) <= c\n", ["a = (b) < c\n"]),
    "boolean_operator": ("a = b and c and d\n", ["a = b or c and d\n", "a = b and c or d\n"]),
    "dropped_condition": ("a = (b, c) and d < 1\n", ["a = (b, c)\n", "a = (d < 1)\n"]),
    "negated_condition": ("if a < b: c\n", ["if not (a < b): c\n"]),
    "dropped_not": ("a = not b\n", ["a = b\n"]),
    "elif_to_if": ("if a:\n    b\nelif c:\n    d\n", ["if a:\n    b\nif c:\n    d\n"]),
    "swapped_branches": (
        "if a:\n    b = 1\nelse:  # no\n    c = 2\n    d\n",
        ["if a:\n    c = 2\n    d\nelse:  # no\n    b = 1\n"],
    ),
    "while_to_if": ("while a:\n    b\n", ["if a:\n    b\n"]),
    "constant_off_by_one": (
        "a = 3\nb = 'é', 0\n",
        ["a = 4\nb = 'é', 0\n", "a = 2\nb = 'é', 0\n", "a = 3\nb = 'é', 1\n"],
    ),
    "boolean_constant": ("a = True\n", ["a = False\n"]),
    "string_constant": ("a = 'ab', ','\n", ["a = 'a', ','\n", "a = 'AB', ','\n", "a = 'ab', ', '\n"]),
    "default_argument": (
        "def f(a, b=0, *, c=False): pass\n",
        ["def f(a, b=1, *, c=False): pass\n", "def f(a, b=0, *, c=True): pass\n"],
    ),
    "arithmetic_operator": ("a = b // c\n", ["a = b % c\n"]),
    "augmented_operator": ("a += b\n", ["a -= b\n", "a = b\n"]),
    "swapped_operands": ("a = b - c * d\n", ["a = c * d - b\n"]),
    "dropped_term": ("a = b + c\n", ["a = b\n"]),
    "dropped_minus": ("a = -b\n", ["a = b\n"]),
    "wrong_index": (
        "a[0], b[-1], c['k']\n",
        ["a[1], b[-1], c['k']\n", "a[-1], b[-1], c['k']\n", "a[0], b[0], c['k']\n"],
    ),
    "slice_bound": ("a[:len(b)]\n", ["a[:len(b) + 1]\n", "a[:len(b) - 1]\n", "a[1:len(b)]\n"]),
    "range_bound": ("range(a, b + 1)\n", ["range(a, b)\n", "range(a, b + 2)\n", "range(a + 1, b + 1)\n"]),
    "wrong_variable": ("def f(a, b):\n    return g(a)\n", ["def f(a, b):\n    return g(b)\n"]),
    "wrong_return": ("def f(a, b):\n    return a\n", ["def f(a, b):\n    return b\n"]),
    "wrong_attribute": (
        "class A:\n    def f(self):\n        self.a = self.b = 1\n        return self.a\n",
        ["class A:\n    def f(self):\n        self.a = self.b = 1\n        return self.b\n"],
    ),
    "wrong_call": ("a = min(b.lower())\n", ["a = max(b.lower())\n", "a = min(b.upper())\n"]),
    "swapped_arguments": ("f(a, *b, c, d=e)\ng(a, b + c)\n", ["f(a, *b, c, d=e)\ng(b + c, a)\n"]),
    "missing_copy": (
        "a = list(b), c[:], d.copy()\n",
        ["a = b, c[:], d.copy()\n", "a = list(b), c, d.copy()\n", "a = list(b), c[:], d\n"],
    ),
    "wrong_exception": ("raise ValueError('no')\n", ["raise TypeError('no')\n"]),
    "dropped_statement": (
        "def f(a):\n    b = 1\n    a.c()\n    b = 2\n    b += 1\n",
        [
            "def f(a):\n    b = 1\n    pass\n    b = 2\n    b += 1\n",
            "def f(a):\n    b = 1\n    a.c()\n    pass\n    b += 1\n",
            "def f(a):\n    b = 1\n    a.c()\n    b = 2\n    pass\n",
        ],
    ),
    "missing_base_case": (
        "def f(a):\n    if a:\n        return 1\n    return 2\n",
        ["def f(a):\n    pass\n    return 2\n"],
    ),
    "forgotten_return": ("def f(a):\n    return a\n", ["def f(a):\n    a\n"]),
    "early_return": (
        "def f(a):\n    for b in a:\n        c(b)  # see\n    return a\n",
        ["def f(a):\n    for b in a:\n        c(b)\n        return a  # see\n    return a\n"],
    ),
    "break_continue": ("while a:\n    break\n", ["while a:\n    continue\n"]),
}


def mutants(source: str, kind: str) -> list[str]:
    content = source.encode()
    return [mutations.apply(content, [site]).decode() for site in mutations.sites(content) if site.kind == kind]


@pytest.mark.parametrize("kind", KNOWN)
def test_known_mutants(kind: str) -> None:
    source, wanted = KNOWN[kind]
    assert mutants(source, kind) == wanted


def test_every_kind_is_known() -> None:
    assert sorted(KNOWN) == list(mutations.kinds())
    assert len(KNOWN) >= 18


@pytest.mark.parametrize(
    "source",
    [
        'def f():\n    """A docstring with 3 < 4 and True."""\n',
        "a: list[0] = b\n",
        "f'{a < b} {3}'\n",
        "def f(a: 'x' = None) -> 'y': ...\n",
        "@g(1)\ndef f(): ...\n",
        "class A:\n    'text'\n",
    ],
)
def test_what_does_nothing_is_left_alone(source: str) -> None:
    assert mutations.sites(source.encode()) == ()


def test_an_operator_beside_a_comment_is_left_alone() -> None:
    assert mutants("a = (b # < \n < c)\n", "comparison_flipped") == []


def test_bytes_outside_the_site_stay() -> None:
    content = "# caf\u00e9\r\nx = '\u20ac' + a[1]\t# tab\r\n\r\ny = 1".encode()
    for site in mutations.sites(content):
        assert_only_the_site(content, site)


def assert_only_the_site(content: bytes, site: mutations.Site) -> None:
    mutant = mutations.apply(content, [site])
    end = site.start + len(site.new)
    assert mutant != content
    assert (mutant[: site.start], mutant[site.start : end], mutant[end:]) == (
        content[: site.start],
        site.new,
        content[site.end :],
    )
    assert site.lines == (content.count(b"\n", 0, site.start) + 1, content.count(b"\n", 0, site.end) + 1)


def corpus() -> dict[str, bytes]:
    loaded = (program.load(name) for split in program.SPLITS for name in program.names(split))
    return {f"{each.name}/{path}": content for each in loaded for path, content in each.modules.items()}


def test_every_site_of_the_corpus() -> None:
    count, broken = Counter[str](), 0
    for where, content in corpus().items():
        found = mutations.sites(content)
        assert mutations.sites(content) == found, where
        assert len({(site.start, site.end, site.new) for site in found}) == len(found), where
        for number, site in enumerate(found):
            assert_only_the_site(content, site)
            count[site.kind] += 1
            if number % 3:
                continue  # a third is enough to compile
            mutant = mutations.apply(content, [site])
            if not mutations.compiles(mutant):
                ast.parse(mutant)
                broken += 1
    assert set(mutations.kinds()) == set(count)
    assert broken <= 0.003 * count.total()  # breaks without their loop, which the task maker passes over


def test_several_at_once() -> None:
    content = b"def f(a, b):\n    c = a + b\n    return c < 10\n"
    found = {site.kind: site for site in mutations.sites(content)}
    chosen = [found["comparison_boundary"], found["arithmetic_operator"]]
    assert mutations.apply(content, chosen) == b"def f(a, b):\n    c = a - b\n    return c <= 10\n"
    assert mutations.apply(content, chosen[::-1]) == mutations.apply(content, chosen)


def test_counters_named_by_counters() -> None:
    source = "def f(a):\n    i = 0\n    j = i // 2\n    k = a // b\n    return a[j], a[k]\n"
    assert mutants(source, "wrong_index") == [source.replace("[j]", "[j + 1]"), source.replace("[j]", "[j - 1]")]
