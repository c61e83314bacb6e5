"""Hunks: which byte ranges of the old file became which bytes of the new one.

    cut_lines(b"a\\nb\\n", b"a\\nc\\n").cuts     # [(2, 4, 2, 4)]

Lines end at ``\\n`` only. Equal beginnings and ends are skipped without looking at lines, what lies between is aligned
by a longest common subsequence of lines (bit-parallel, rapidfuzz: n x m / 64 steps), or taken whole when that is too
large. :func:`fit` then moves and narrows each hunk to what a reply wrote, as far as the bytes allow.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Indel

from codegym.diff.sources import Written

#: Old lines x new lines aligned: 10,000 x 10,000 take about 50 ms and 12 MB.
MOST_ALIGNED = 10**8

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
    """What a longest common subsequence leaves over, or None if the sequences are too long to align."""
    if len(a) * len(b) > MOST_ALIGNED:
        return None
    numbers: dict[Hashable, int] = {}  # small numbers hash without collision, so the alignment is exact
    left = [numbers.setdefault(item, len(numbers)) for item in a]
    right = [numbers.setdefault(item, len(numbers)) for item in b]
    blocks: list[Cut] = []
    for step in Indel.opcodes(left, right):
        if step.tag == "equal":
            continue
        cut = (step.src_start, step.src_end, step.dest_start, step.dest_end)
        if blocks and blocks[-1][1] == cut[0] and blocks[-1][3] == cut[2]:
            cut = (blocks[-1][0], cut[1], blocks.pop()[2], cut[3])
        blocks.append(cut)
    return blocks


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
    old_lines = _lines(old[start:old_end])
    new_lines = _lines(new[start:new_end])
    blocks = unequal_blocks(old_lines, new_lines)
    if blocks is None:
        return Cuts([(start, old_end, start, new_end)], coarse=True)
    old_at, new_at = _offsets(old_lines, start), _offsets(new_lines, start)
    return Cuts([(old_at[a], old_at[b], new_at[c], new_at[d]) for a, b, c, d in blocks])


def _lines(text: bytes) -> list[bytes]:
    lines = text.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _offsets(lines: Sequence[bytes], start: int) -> list[int]:
    offsets = [start]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets


def fit(cuts: Sequence[Cut], old: bytes, new: bytes, written: Written) -> list[Cut]:
    """Move and narrow hunks to the bytes that the reply wrote. The bytes that change stay the same.

    A hunk that only inserts or deletes can often stand at several places (one of two equal lines went: which?); it is
    put where an edit wrote. Then bytes at its ends that are equal in both files and that no edit wrote are left out;
    without edits, the equal line end alone.
    """
    fitted: list[Cut] = []
    for number, cut in enumerate(cuts):
        floor = fitted[-1][3] if fitted else 0
        ceiling = cuts[number + 1][2] if number + 1 < len(cuts) else len(new)
        a, b, c, d = _slide(cut, old, new, written, c_min=floor, d_max=ceiling) if written else cut
        if b > a and d > c:
            a, b, c, d = _narrow((a, b, c, d), old, new, written)
        fitted.append((a, b, c, d))
    return fitted


def _slide(cut: Cut, old: bytes, new: bytes, written: Written, *, c_min: int, d_max: int) -> Cut:
    a, b, c, d = cut
    if (b > a) == (d > c):
        return cut
    text, start, end = (old, a, b) if b > a else (new, c, d)
    room_up, room_down = c - c_min, d_max - d
    up = common_suffix(text[:end], text[max(0, start - room_up) : start], min(room_up, start))
    down = common_prefix(text[start : start + room_down], text[end : end + room_down])
    length = d - c
    starts = {*written.bounds(c - up, c + down), *(bound - length for bound in written.bounds(d - up, d + down))}
    best = max(starts, key=lambda s: (written.held(s, s + length), -abs(s - c), s), default=c)
    if written.held(best, best + d - c) <= written.held(c, d):
        return cut
    return a + best - c, b + best - c, best, best + d - c


def _narrow(cut: Cut, old: bytes, new: bytes, written: Written) -> Cut:
    a, b, c, d = cut
    before, after = old[a:b], new[c:d]
    if not written.touching(c, d):
        ending = b"\r\n" if before.endswith(b"\r\n") and after.endswith(b"\r\n") else b"\n"
        both = before.endswith(ending) and after.endswith(ending) and min(len(before), len(after)) > len(ending)
        return (a, b - len(ending), c, d - len(ending)) if both else cut
    head = min(common_prefix(before, after), written.first_from(c) - c)
    tail = min(common_suffix(before, after, min(len(before), len(after)) - head), d - written.last_until(d))
    return a + head, b - tail, c + head, d - tail


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
