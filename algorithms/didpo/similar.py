"""Near-duplicates: pieces of root diffs that are equal or at least ``eta`` similar, as classes around a leader.

Pieces are whole root diffs, single units, and runs of units that are nodes of the syntax tree (functions, statements);
so where no sequence recurs, the structure still offers something to compare. Similarity is rapidfuzz's normalised
Indel similarity, 2 * common subsequence / total length, of the units' texts. Most frequent pieces lead, and a piece
joins the first leader it resembles among those that share a sketch value with it: the 8 smallest hashes of its token
3-shingles. A pair that shares the fraction J of its shingles is missed with probability about (1 - J)^8: one in 250 at
one half. Pairs alike in characters that share hardly three tokens in a row (a name changed everywhere) can be missed.
Lines of up to 8 shingles are in their sketch whole.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

from rapidfuzz.distance import Indel

from algorithms.didpo.roots import Place, Root

#: GS grows by less than .04 % beyond this many lines, and the cost of comparing with their square.
MAX_LINES = 64
SKETCH = 8
#: Leaders compared with a piece, those with the most sketch values in common first: bounds boilerplate everywhere.
MAX_LEADERS = 32

#: Where a piece stands: root, first unit, last unit (not included).
Where = tuple[int, int, int]
Content = tuple[int, ...]


def near_duplicates(
    roots: Sequence[Root], sequences: Sequence[Content], names: Sequence[tuple[Place, bytes]], eta: float
) -> list[list[Where]]:
    """Classes of two or more different contents in two or more trajectories, leaders in order of frequency.

    ``sequences`` are the roots' units as numbers, ``names`` what each number stands for. Only pieces at one place are
    compared. The result depends on contents alone, not on the order of roots.
    """
    if eta >= 1:
        return []
    places: dict[Content, list[Where]] = {}
    for number, (root, sequence) in enumerate(zip(roots, sequences, strict=True)):
        whole = (0, len(sequence))
        for first, last in {whole, *root.nodes, *((k, k + 1) for k in range(len(sequence)))}:
            if last - first <= MAX_LINES:
                places.setdefault(sequence[first:last], []).append((number, first, last))
    members = {content: len({roots[where[0]].member for where in found}) for content, found in places.items()}
    sketches = [_sketch(text) for _, text in names]
    classes: dict[Content, list[Content]] = {}
    leaders_at: dict[tuple[Place, int], list[Content]] = {}
    texts: dict[Content, bytes] = {}
    for content in sorted(places, key=lambda content: (-members[content], content)):
        place = names[content[0]][0]
        text = names[content[0]][1] if len(content) == 1 else b"\n".join(names[unit][1] for unit in content)
        sketch = sorted(set().union(*(sketches[unit] for unit in content)))[:SKETCH]
        leader = _leader(text, [leaders_at.get((place, value), ()) for value in sketch], texts, eta)
        if leader is None:
            classes[content], texts[content] = [content], text
            for value in sketch:
                leaders_at.setdefault((place, value), []).append(content)
        else:
            classes[leader].append(content)
    found = []
    for contents in classes.values():
        where = [at for content in contents for at in places[content]]
        if len(contents) > 1 and len({roots[at[0]].member for at in where}) > 1:
            found.append(where)
    return found


def _leader(
    text: bytes, sharing: Sequence[Sequence[Content]], texts: dict[Content, bytes], eta: float
) -> Content | None:
    common = Counter(leader for leaders in sharing for leader in leaders[: 4 * MAX_LEADERS])
    for leader, _ in sorted(common.items(), key=lambda item: (-item[1], item[0]))[:MAX_LEADERS]:
        if Indel.normalized_similarity(text, texts[leader], score_cutoff=eta) >= eta:
            return leader
    return None


def _sketch(text: bytes) -> frozenset[int]:
    """The smallest hashes of the 3-shingles of a unit's tokens, with its ends marked (crc32: the same in every run)."""
    tokens = [b"\x01", b"\x01", *text.split(b" "), b"\x02"]
    hashes = {zlib.crc32(b" ".join(tokens[k : k + 3])) for k in range(len(tokens) - 2)}
    return frozenset(sorted(hashes)[:SKETCH])
