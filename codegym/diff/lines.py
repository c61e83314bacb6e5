"""Hunks: which byte ranges of the old file became which bytes of the new one.

    cut_lines(b"a\\nb\\n", b"a\\nc\\n").cuts     # [(2, 4, 2, 4)]

Lines end at ``\\n`` only. Equal beginnings and ends are skipped without looking at lines, what lies between is aligned
by a common subsequence of lines (bit-parallel, rapidfuzz: n x m / 64 steps), or taken whole when that is too large.
Where a reply edited, :func:`cut_file` looks only inside what each edit replaced, so that a hunk never takes an equal
line beside it for the one that was written.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import count, islice, repeat

import numpy as np
from rapidfuzz.distance import Indel

from codegym.diff.sources import Written
from codegym.spans import Span

#: Old lines x new lines aligned, between lines that stand once on each side: 10,000 x 10,000 take 30 ms and 12 MB.
MOST_ALIGNED = 10**8
#: As above, aligned in one piece: 500 x 500 take 0.2 ms.
MOST_WHOLE = 250_000

Cut = tuple[int, int, int, int]  # old start, old end, new start, new end


@dataclass(frozen=True)
class Cuts:
    """Hunks in order; ``coarse`` if lines were too many to align and one hunk spans them all."""

    cuts: list[Cut]
    coarse: bool = False


def common_prefix(a: bytes, b: bytes) -> int:
    """Bytes at the beginning that are equal; linear, by halving."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(a: bytes, b: bytes, most: int) -> int:
    """Bytes at the end, ``most`` at the most, that are equal; linear, by halving."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def unequal_blocks(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Cut] | None:
    """What a common subsequence leaves over, or None if the sequences are too long to align.

    A longest one, if they are short. Long ones are first parted at items that both have once, as patience diff does:
    the alignment is quadratic, and such items hardly ever correspond to anything else.
    """
    if a == b:
        return []
    # Small numbers hash without collision, so the alignment is exact: an item is where it stands last in ``a``.
    numbers = dict(zip(a, count(), strict=False))
    left, right = [*map(numbers.__getitem__, a)], [*map(numbers.get, b, repeat(-1))]
    anchors = _once_in_both(left, right) if len(a) * len(b) > MOST_WHOLE else []
    gaps: list[Cut] = []
    i = k = 0
    for x, y, x_end, y_end in [*anchors, (len(a), len(b), len(a), len(b))]:
        if left[i:x] != right[k:y]:
            gaps.append((i, x, k, y))
        i, k = x_end, y_end
    if sum((x - i) * (y - k) for i, x, k, y in gaps) > MOST_ALIGNED:
        return None
    blocks: list[Cut] = []
    for i, x, k, y in gaps:
        for step in Indel.opcodes(left[i:x], right[k:y]):
            if step.tag == "equal":
                continue
            cut = (i + step.src_start, i + step.src_end, k + step.dest_start, k + step.dest_end)
            if blocks and blocks[-1][1] == cut[0] and blocks[-1][3] == cut[2]:
                cut = (blocks[-1][0], cut[1], blocks.pop()[2], cut[3])
            blocks.append(cut)
    return blocks


def _once_in_both(left: Sequence[int], right: Sequence[int]) -> list[Cut]:
    """Runs of items that stand once on each side, as many items as stand in the same order.

    Items are numbers: where they stand last on the left, or -1.
    """
    here, there = np.fromiter(left, np.intp, len(left)), np.fromiter(right, np.intp, len(right))
    once = np.bincount(here, minlength=len(left)) == 1
    once &= np.bincount(there + 1, minlength=len(left) + 1)[1:] == 1
    where = np.empty(len(left) + 1, np.intp)
    where[there] = np.arange(len(right))  # what the left lacks goes to the end
    x = np.flatnonzero(once)
    y = where[x]
    if (np.diff(y) < 0).any():
        keep = rising(y.tolist())
        x, y = x[keep], y[keep]
    if not len(x):
        return []
    ends = np.flatnonzero((np.diff(x) != 1) | (np.diff(y) != 1))
    first, last = np.concatenate(([0], ends + 1)), np.concatenate((ends, [len(x) - 1]))
    runs = x[first], y[first], x[last] + 1, y[last] + 1
    return [*zip(*(run.tolist() for run in runs), strict=True)]


def rising(numbers: Sequence[int]) -> list[int]:
    """The positions of a longest rising subsequence of distinct numbers."""
    if all(map(int.__lt__, numbers, islice(numbers, 1, None))):
        return list(range(len(numbers)))
    tails: list[int] = []  # the least number that ends a run of each length
    length: list[int] = []
    for number in numbers:
        at = bisect_left(tails, number)
        tails[at : at + 1] = [number]
        length.append(at)
    keep: list[int] = []
    wanted, bound = len(tails) - 1, None
    for k in range(len(numbers) - 1, -1, -1):
        if length[k] == wanted and (bound is None or numbers[k] < bound):
            keep.append(k)
            bound, wanted = numbers[k], wanted - 1
    return keep[::-1]


def heaviest(shared: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Pairs of a row and a column, both rising, whose sum is largest; none that is 0."""
    rows, columns = len(shared), len(shared[0])
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for p in range(rows - 1, -1, -1):
        for q in range(columns - 1, -1, -1):
            paired = shared[p][q] and best[p + 1][q + 1] + shared[p][q]
            best[p][q] = max(best[p + 1][q], best[p][q + 1], paired)
    pairs, p, q = [], 0, 0
    while p < rows and q < columns:
        if shared[p][q] and best[p][q] == best[p + 1][q + 1] + shared[p][q]:
            pairs.append((p, q))
            p, q = p + 1, q + 1
        elif best[p][q] == best[p + 1][q]:
            p += 1
        else:
            q += 1
    return pairs


def cut_lines(old: bytes, new: bytes) -> Cuts:
    """The hunks between two texts, in whole lines."""
    if old == new:
        return Cuts([])
    start = old.rfind(b"\n", 0, common_prefix(old, new)) + 1
    same = common_suffix(old, new, min(len(old), len(new)) - start)
    old_end, new_end = len(old) - same, len(new) - same
    if not all(at == start or text[at - 1 : at] == b"\n" for text, at in ((old, old_end), (new, new_end))):
        line_end = old.find(b"\n", old_end) + 1 or len(old)
        old_end, new_end = line_end, new_end + line_end - old_end
    if old_end == start or new_end == start:
        return Cuts([(start, old_end, start, new_end)])
    old_lines, new_lines = _lines(old[start:old_end]), _lines(new[start:new_end])
    blocks = unequal_blocks(old_lines, new_lines)
    if blocks is None:
        return Cuts([(start, old_end, start, new_end)], coarse=True)
    old_at = _places(old_lines, [k for block in blocks for k in block[:2]], start, old_end)
    new_at = _places(new_lines, [k for block in blocks for k in block[2:]], start, new_end)
    return Cuts([*zip(old_at[::2], old_at[1::2], new_at[::2], new_at[1::2], strict=True)])


def _lines(text: bytes) -> list[Hashable]:
    """The lines without their ends. A last line that has no end equals no other."""
    parts = text.split(b"\n")
    last = parts.pop()
    return [*parts, (last,)] if last else [*parts]


def _places(lines: Sequence[Hashable], numbers: Sequence[int], start: int, end: int) -> list[int]:
    """Where lines start, by rising numbers; the one after the last line starts at the end."""
    places: list[int] = []
    at, done = start, 0
    for number in numbers:
        if number == len(lines):
            at = end
        else:
            at += sum(map(len, lines[done:number])) + number - done  # type: ignore[arg-type]
        done = number
        places.append(at)
    return places


def cut_file(old: bytes, new: bytes, written: Written) -> Cuts:
    """The hunks of a file, each within what one edit replaced if the origins say what that was.

    Without origins a hunk is whole lines but for a line end that both sides have.
    """
    regions = written.regions()
    if regions and _explain(old, new, regions):
        cuts: list[Cut] = []
        coarse = False
        for before, after in regions:
            found = cut_lines(old[slice(*before)], new[slice(*after)])
            coarse = coarse or found.coarse
            i, j = before.start, after.start
            cuts += [(a + i, b + i, c + j, d + j) for a, b, c, d in found.cuts]
        return Cuts(cuts, coarse)
    found = cut_lines(old, new)
    return Cuts([_without_line_end(cut, old, new) for cut in found.cuts], found.coarse)


def _explain(old: bytes, new: bytes, regions: Sequence[tuple[Span, Span]]) -> bool:
    """Whether the files are equal outside the regions."""
    i = j = 0
    for before, after in [*regions, (Span(len(old), len(old)), Span(len(new), len(new)))]:
        if before.start < i or after.start < j or old[i : before.start] != new[j : after.start]:
            return False
        i, j = before.end, after.end
    return True


def _without_line_end(cut: Cut, old: bytes, new: bytes) -> Cut:
    a, b, c, d = cut
    ending = b"\r\n" if old.endswith(b"\r\n", a, b) and new.endswith(b"\r\n", c, d) else b"\n"
    both = old.endswith(ending, a, b) and new.endswith(ending, c, d) and min(b - a, d - c) > len(ending)
    return (a, b - len(ending), c, d - len(ending)) if both else cut


class Kept:
    """Which ranges lie outside all hunks, and where in the new file they then stand."""

    def __init__(self, cuts: Sequence[Cut]) -> None:
        self._cuts = cuts
        self._old_ends, self._new_ends = [cut[1] for cut in cuts], [cut[3] for cut in cuts]

    def of_old(self, start: int, end: int) -> int | None:
        """The new place of a range of the old file, or None if a hunk touches it."""
        at = bisect_right(self._old_ends, start)
        if at < len(self._cuts) and self._cuts[at][0] < end:
            return None
        return start + (self._cuts[at - 1][3] - self._cuts[at - 1][1] if at else 0)

    def of_new(self, start: int, end: int) -> int | None:
        """The place itself, or None if a hunk touches the range of the new file."""
        at = bisect_right(self._new_ends, start)
        return None if at < len(self._cuts) and self._cuts[at][2] < end else start

    def back(self, start: int) -> int:
        """The old place of a range of the new file that no hunk touches."""
        at = bisect_right(self._new_ends, start)
        return start - (self._cuts[at - 1][3] - self._cuts[at - 1][1] if at else 0)
