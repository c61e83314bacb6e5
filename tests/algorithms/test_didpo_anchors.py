"""Anchors: units, repeats against brute force, planted blocks, choice and cut."""

from __future__ import annotations

import itertools
import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algorithms.didpo.anchors import find_anchors
from algorithms.didpo.cut import Candidate, choose, cut, groupability
from algorithms.didpo.repeats import joined, maximal_repeats
from algorithms.didpo.roots import root_diffs
from algorithms.didpo.units import units_of
from codegym.actions.base import Action, Replace, Text
from codegym.actions.xml import Xml
from codegym.diff.files import diff_files
from codegym.diff.model import Change
from codegym.edits import apply_edits
from codegym.spans import Span, reply_bytes
from tests.algorithms.groups_for_tests import block, deleting, trajectory, turn


def texts(code, language="python"):
    return [unit.text for unit in units_of(code, language).units]


def test_units_fold_spacing_and_drop_comments():
    tidy = b"if a:\n    x = f(1, 2)\n"
    wild = b"\r\n# why\r\nif  a :   # here\r\n\tx=f( 1,2 )\r\n\r\n"
    assert texts(tidy) == texts(wild) == [b"if a :", b"x = f ( 1 , 2 )"]


def test_units_keep_what_a_string_says():
    assert texts(b's = "a # b"') == [b's = " a # b "']
    assert texts(rb's = "a\nb"') != texts(rb's = "c\nb"')
    assert len(texts(b's = """a\r\n  b\n"""')) == 3


def test_unit_spans_are_the_bytes_of_the_line():
    code = "  é = 'ü'  # c\r\n\treturn é\n".encode()
    assert [code[u.start : u.end].decode() for u in units_of(code, "python").units] == ["é = 'ü'", "return é"]


@pytest.mark.parametrize("language", ["python", "cobol", None])
@given(code=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogateescape")))
@settings(max_examples=60, deadline=None)
def test_units_of_anything_hold_all_ink_in_order(language, code):
    split = units_of(code, language)
    spans = [(unit.start, unit.end) for unit in split.units]
    assert all(a < b for a, b in spans)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(0 <= first < last <= len(spans) for first, last in split.nodes)


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
    text, starts, owner = joined(sequences, owners)
    suffixes, repeats = maximal_repeats(text, owner)
    found = {}
    for repeat in repeats:
        at = sorted(suffixes[repeat.first : repeat.last].tolist())
        root = (np.searchsorted(starts, at, side="right") - 1).tolist()
        where = [(s, p - int(starts[s])) for s, p in zip(root, at, strict=True)]
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
    result = cut(9, offered)
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
        covered = [c.covered() for c in left]
        gains = [np.maximum(c.weight - best[at], 0).sum() for c, at in zip(left, covered, strict=True)]
        k = max(range(len(left)), key=lambda k: (gains[k], [-part for part in left[k].key]))
        if not gains[k]:
            break
        best[covered[k]] = np.maximum(best[covered[k]], left[k].weight)
        plain.append(left.pop(k))
    assert [c.key for c in choose(candidates, np.ones(20, dtype=bool), 3)] == [c.key for c in plain]


def test_coverage_of_long_overlapping_repeats_is_merged():
    starts = np.array([5, 0, 3, 20_000])
    large = Candidate((0, 0, 0), starts, np.full(4, 5000), 20_000, 1)
    assert large.covered().tolist() == [*range(5005), *range(20_000, 25_000)]


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
    assert {key[0] for root in roots for key in root.keys} == {("m.py", "f")}
    assert made.reply[slice(*roots[0].span(0, 1))] == b"x = a + 1"
    assert [len(root.units) for root in roots] == [1] * len(roots)


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


def planted(seed, size, turns=2, blocks=6):
    """Trajectories that write blocks of a common pool, reordered and reformatted, among lines of their own."""
    rng = random.Random(seed)
    pool = [block(1000 * seed + k, rng.randint(3, 8)) for k in range(blocks)]
    group, truth = [], []
    for member in range(size):
        made = []
        for t in range(turns):
            lines: list[bytes] = []
            marks = []
            for k in rng.sample(range(blocks), 2):
                lines += block(rng.getrandbits(40), rng.randint(1, 3))
                marks.append((k, len(lines), len(lines) + len(pool[k])))
                lines += [line.replace(b" = ", b"=") if member % 2 else line for line in pool[k]]
            lines += block(rng.getrandbits(40), 2)
            text = b"\n".join(lines) + b"\n"
            made.append(turn([("a.py", text)]))
            offset = made[-1].reply.index(text)
            ends = np.cumsum([len(line) + 1 for line in lines]) + offset
            for k, first, last in marks:
                start = int(ends[first - 1]) + 4  # indentation is no part of a unit
                truth.append((member, t, Span(start, int(ends[last - 1]) - 1), k))
        group.append(trajectory(member, made))
    return group, truth


@pytest.mark.parametrize("size", [4, 8, 16])
def test_planted_blocks_are_found_to_the_byte(size):
    group, truth = planted(size, size)
    anchors = find_anchors(group)
    found = {(o.member, o.turn, o.span) for anchor in anchors for o in anchor.occurrences}
    shared = {k for k in range(6) if len({member for member, _, _, other in truth if other == k}) > 1}
    wanted = {(member, t, span) for member, t, span, k in truth if k in shared}
    assert len(found & wanted) >= 0.96 * len(wanted)
    assert len(found - wanted) <= 0.04 * len(wanted)


def test_the_order_of_trajectories_changes_nothing():
    group, _ = planted(5, 8)
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


def test_ten_thousand_equal_lines_are_near_linear():
    def seconds(lines):
        group = group_of(b"x = 1\n" * lines, b"x = 1\n" * (lines - 1))
        units_of.cache_clear()
        began = time.process_time()
        assert find_anchors(group)
        return time.process_time() - began

    small, large = min(seconds(1250) for _ in range(2)), seconds(10_000)
    assert large < 8 * small * 3  # 8 times the lines; quadratic would be 64 times
    assert large < 10
