"""Anchors: units, repeats against brute force, planted blocks, choice and cut."""

from __future__ import annotations

import itertools
import random
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.didpo.anchors import find_anchors
from algorithms.didpo.corpus import corpus_of, shared_text
from algorithms.didpo.cut import Candidate, choose, cut, groupability
from algorithms.didpo.repeats import maximal_repeats
from algorithms.didpo.roots import root_diffs
from algorithms.didpo.similar import number_names
from algorithms.didpo.units import units_of
from codegym.actions.base import Action, Replace, Text
from codegym.actions.xml import Xml
from codegym.diff.files import diff_files
from codegym.diff.model import Change
from codegym.edits import apply_edits
from codegym.spans import Span, reply_bytes
from tests.algorithms.groups_for_tests import block, deleting, trajectory, turn
from tests.algorithms.planted_blocks import CLASSES, planted_blocks, recall


def brute_force(sequences, owners):
    found = {}
    for length in range(1, 12):
        places = {}
        for s, sequence in enumerate(sequences):
            for a in range(len(sequence) - length + 1):
                places.setdefault(tuple(sequence[a : a + length]), []).append((s, a))
        for content, at in places.items():
            left = {sequences[s][a - 1] if a else ("start", s) for s, a in at}
            right = {sequences[s][a + length] if a + length < len(sequences[s]) else ("end", s) for s, a in at}
            distinct = {owners[s] for s, _ in at}
            if len(distinct) > 1 and len(left) > 1 and len(right) > 1:
                found[content] = (sorted(at), len(distinct))
    return found


symbols = st.lists(st.integers(0, 2), max_size=10)


@given(st.lists(st.tuples(symbols, st.integers(0, 3)), max_size=7))
@settings(max_examples=300, deadline=None)
def test_maximal_repeats_are_all_of_them(pairs):
    sequences, owners = [list(s) for s, _ in pairs], [o for _, o in pairs]
    group = [trajectory(member, []) for member in range(4)]
    for sequence, owner in pairs:
        lines = b"".join(b"x%d\n" % symbol for symbol in sequence)
        group[owner].turns.append(turn([("a.py", lines)] if lines else []))
    order = sorted((k for k in range(len(pairs)) if sequences[k]), key=lambda k: owners[k])
    corpus = corpus_of(group, "symbol")
    text, at = shared_text(corpus)
    suffixes, repeats = maximal_repeats(text, np.where(at < 0, -1, corpus.member[at]))
    found = {}
    for repeat in repeats:
        places = at[suffixes[repeat.first : repeat.last]]
        assert (places >= 0).all()
        where = sorted((order[corpus.root[p]], int(p - corpus.firsts[corpus.root[p]])) for p in places)
        s, a = where[0]
        found[tuple(sequences[s][a : a + repeat.length])] = (where, repeat.owners)
    assert found == brute_force(sequences, owners)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4), st.integers(1, 5)), max_size=7))
def test_the_cut_is_the_best_one(pieces):
    offered = [(first, first + length, weight, k) for k, (first, length, weight) in enumerate(pieces)]

    def worth(chosen):
        return sum(weight * (last - first) for first, last, weight, _ in chosen)

    def fits(chosen):
        return all(b[0] >= a[1] for a, b in itertools.pairwise(sorted(chosen)))

    subsets = itertools.chain.from_iterable(itertools.combinations(offered, n) for n in range(len(offered) + 1))
    best = max(worth(chosen) for chosen in subsets if fits(chosen))
    result = cut(offered)
    full = [(first, last, offered[k][2], k) for first, last, k in result]
    assert all(piece in offered for piece in full)
    assert fits(full)
    assert worth(full) == best


@given(st.lists(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 4)), min_size=1, max_size=4), max_size=6))
@settings(deadline=None)
def test_lazy_choice_equals_plain_greedy(shapes):
    candidates = [
        Candidate(
            (0, k, 0),
            np.array([a for a, _ in shape]),
            np.array([n for _, n in shape]),
            sum(n for _, n in shape),
            10 + 3 * k % 7,
        )
        for k, shape in enumerate(shapes)
    ]
    best, plain, left = np.zeros(20), [], list(candidates)
    while left and len(plain) < 3:
        covered = [c.covered(20) for c in left]
        gains = [np.maximum(c.weight - best[at], 0).sum() for c, at in zip(left, covered, strict=True)]
        k = max(range(len(left)), key=lambda k: (gains[k], [-part for part in left[k].key]))
        if not gains[k]:
            break
        best[covered[k]] = np.maximum(best[covered[k]], left[k].weight)
        plain.append(left.pop(k))
    assert [c.key for c in choose(candidates, 20, 3)] == [c.key for c in plain]


def test_coverage_of_long_overlapping_repeats_is_merged():
    starts = np.array([5, 0, 3, 20_000])
    for lengths in (5000, np.full(4, 5000)):
        large = Candidate((0, 0, 0), starts, lengths, 20_000, 1)
        assert np.flatnonzero(large.covered(26_000)).tolist() == [*range(5005), *range(20_000, 25_000)]
        assert (large.covered(26_000) == large.covered(26_000 << 4)[:26_000]).all()


def test_shapes_of_the_score():
    for shape in ("exp", "log", "linear"):
        assert groupability(3, 1, shape=shape) == 0
        values = [groupability(lines, 4, shape=shape) for lines in (1, 2, 4, 8)]
        assert values == sorted(set(values))
        assert 0 < values[-1] <= 1
    assert groupability(8, 9, shape="linear") == groupability(8, 9, shape="log") == 1
    with pytest.raises(ValueError, match="shape"):
        groupability(1, 2, shape="cubic")


def group_of(*writes, path="a.py"):
    return [trajectory(i, [turn([(path, text)])]) for i, text in enumerate(writes)]


def test_same_text_in_another_file_is_another_change():
    group = [trajectory(0, [turn([("a.py", b"return total\n")])]), trajectory(1, [turn([("b.py", b"return total\n")])])]
    assert find_anchors(group) == []


def test_same_text_in_another_function_is_another_change_unless_asked():
    text = b"return total\n"
    group = group_of(text, text)
    for symbol, own in zip(("f", "g"), group, strict=True):
        file = own.turns[0].diff.files[0]
        change = Change("insert", "return_statement", symbol, None, Span(0, 12))
        object.__setattr__(file, "changes", (change,))
    assert find_anchors(group) == []
    assert len(find_anchors(group, place="path")) == 1


def test_added_and_replaced_are_one_but_deleted_is_another():
    assert (
        len(find_anchors([trajectory(i, [deleting(Span(3, 9), place)]) for i, place in enumerate((b"ab", b"xyz"))]))
        == 1
    )
    change = Change("delete", "return_statement", "f", Span(3, 9), None)
    group = [trajectory(i, [deleting(Span(3, 9), b"old", c)]) for i, c in enumerate((change, None))]
    assert find_anchors(group) == []
    (root,) = root_diffs(group[:1], "symbol")
    assert group[0].turns[0].reply[slice(*root.span(0, 1))] == b"old"


def test_a_change_no_edit_wrote_is_no_root_diff():
    group = group_of(b"x = 1\n", b"x = 1\n")
    for own in group:
        object.__setattr__(own.turns[0].diff.files[0].hunks[0], "source", ())
    assert root_diffs(group, "symbol") == []


def test_root_diffs_of_real_edits_are_the_bytes_that_changed():
    body = b"def f(a):\n    x = a - 1\n    y = 3\n    return x\n"
    old = {"m.py": body + b"\n\n" + body.replace(b"f(", b"g(")}
    new = body.replace(b"a - 1", b"a + 1").replace(b"    y = 3\n", b"")
    action = Action("edit", (Replace("m.py", Text(body), Text(new)),))
    reply = Xml().render(action)
    applied = apply_edits(old, Xml().parse(reply).edits)
    made = turn()
    made.reply, made.diff = reply_bytes(reply), diff_files(old, applied.files, applied.origins)
    roots = root_diffs([trajectory(0, [made])], "symbol")
    assert {place for root in roots for place in root.places} == {("m.py", "f")}
    assert made.reply[slice(*roots[0].span(0, 1))] == b"x = a + 1"
    assert [len(root.units.texts) for root in roots] == [1] * len(roots)


def test_near_duplicates_join_and_eta_1_leaves_equals():
    a = b"def f(items):\n    total = 0\n    for item in items:\n        total += item\n    return total\n"
    b = a.replace(b"total += item", b"total += item.size")
    (anchor,) = find_anchors(group_of(a, b))
    assert len(anchor.occurrences) == 2
    assert anchor.lines == 5
    exact = find_anchors(group_of(a, b), eta=1.0)
    assert sorted(anchor.lines for anchor in exact) == [1, 3]


def test_occurrences_are_the_exact_bytes():
    shared = b"\n".join(block(1, 4))
    group = group_of(b"import os\n" + shared + b"\n", b"\n".join(block(2, 3)) + b"\n" + shared + b"\npass\n")
    (anchor,) = find_anchors(group)
    for occurrence in anchor.occurrences:
        reply = group[occurrence.member].turns[occurrence.turn].reply
        assert reply[slice(*occurrence.span)] == shared.strip()


def test_a_renamed_function_is_similar_and_another_use_of_its_names_is_not():
    code = b"def f ( a , b ) :\nc = g ( a )\nd = c - b\nreturn d . c"
    assert number_names(code) == b"def f ( $0 , $1 ) :\n$2 = g ( $0 )\n$3 = $2 - $1\nreturn $3 . c"
    other = code.replace(b"a", b"left").replace(b"d", b"result")
    assert number_names(other.replace(b"result ef", b"def")) != number_names(code.replace(b"c - b", b"b - c"))


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize("place", ["symbol", "path"])
def test_planted_blocks_are_found_in_every_variant(size, place):
    group, planted = planted_blocks(size, size)
    found = recall(group, planted, find_anchors(group, place=place))
    assert found["all"] >= 0.96
    assert found["renamed"] >= 0.90
    assert min(found[kind] for kind in CLASSES if kind != "renamed") >= 0.96


@pytest.mark.parametrize("size", [32, 64])
def test_planted_blocks_are_found_in_large_groups(size):
    group, planted = planted_blocks(size, size)
    found = recall(group, planted, find_anchors(group))
    assert all(found[kind] >= 0.96 for kind in (*CLASSES, "all") if kind != "renamed")
    assert found["renamed"] >= 0.90


def test_the_recall_of_planted_blocks_can_fail():
    group, planted = planted_blocks(0, 4, turns=2)
    assert recall(group, planted, [])["all"] == 0
    assert recall(group, planted, find_anchors(group, eta=1.0))["renamed"] < 0.5


def test_the_order_of_trajectories_changes_nothing():
    group, _ = planted_blocks(5, 8, turns=2)
    shuffled = random.Random(1).sample(group, len(group))
    strip = lambda anchors: [(a.id, a.score, a.lines, a.occurrences) for a in anchors]  # noqa: E731
    assert strip(find_anchors(group)) == strip(find_anchors(shuffled))
    assert len({anchor.id for anchor in find_anchors(group)}) == len(find_anchors(group))


def test_anchors_do_not_overlap_within_a_root_diff():
    text = b"x = 1\n" * 7
    anchors = find_anchors(group_of(text, text[:24], text[:12]))
    spans = sorted((o.member, o.span) for anchor in anchors for o in anchor.occurrences)
    assert all(a[0] != b[0] or a[1].end <= b[1].start for a, b in itertools.pairwise(spans))
    assert anchors


def repeated(*parts):
    return b"".join(line * times for line, times in parts)


@pytest.mark.parametrize(
    "texts",
    [
        (repeated((b"x = 1\n", 10_000)), repeated((b"x = 1\n", 9_999))),
        (repeated((b"x = 1\n", 10_000), (b"y = 2\n", 1), (b"x = 1\n", 30)),
         repeated((b"x = 1\n", 5_000), (b"y = 2\n", 1), (b"x = 1\n", 5_000))),
        (repeated((b"x = 1\ny = 2\n", 5_000)), repeated((b"y = 2\nx = 1\n", 5_000))),
        (b"\n".join(block(0, 25_000)), b"\n".join(block(0, 25_000))),
        (b"f(" + b"a, " * 300_000 + b")\n",) * 2,
        (b"\n".join(block(0, 130)),) * 500,
        (b'x = 1\ny = 2\nx = "' + b'\\"' * 50_000,) * 2,
    ],
    ids=["equal lines", "one odd line", "period of two", "one megabyte", "long line", "identical replies", "quotes"],
)  # fmt: skip
def test_adversarial_texts_take_little_time_and_memory(texts):
    group = group_of(*texts)

    def seconds():
        units_of.cache_clear()
        began = time.process_time()
        assert find_anchors(group)
        return time.process_time() - began

    # .2 to .6 s alone on one core, up to three times that beside others; the old quadratic ways took minutes.
    assert any(seconds() < 2 for _ in range(3))


def test_nested_repeats_take_memory_in_proportion():
    text = repeated((b"x = 1\n", 3_000))
    tracemalloc.start()
    find_anchors(group_of(text, text[:-6]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 15e6  # the occurrences of all repeats, laid out, are 72 MB


def test_time_grows_with_the_size_of_the_diffs():
    def seconds(size):
        group, _ = planted_blocks(3, size, turns=2)
        units_of.cache_clear()
        began = time.process_time()
        find_anchors(group)
        return time.process_time() - began

    def growth():
        return min(seconds(32) for _ in range(3)) / min(seconds(8) for _ in range(3))

    assert any(growth() < 5 for _ in range(3))  # 4 times the text; quadratic would be 16 times
