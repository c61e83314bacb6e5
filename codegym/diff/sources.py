"""Which bytes of the reply wrote a range of the new file: origins, asked by range.

An origin that wrote bytes answers for the ranges that overlap it; one that only deleted has no bytes and answers for
the ranges that hold its place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from codegym.spans import Origin, Span


class Written:
    """The origins of one file. They are sorted by ``new`` and do not overlap; false if there are none."""

    def __init__(self, origins: Sequence[Origin] = ()) -> None:
        self._origins = sorted(origins, key=lambda origin: origin.new)
        self._starts = [origin.new.start for origin in self._origins]
        self._ends = [origin.new.end for origin in self._origins]

    def __bool__(self) -> bool:
        return bool(self._origins)

    def touching(self, start: int, end: int) -> list[Origin]:
        """Origins that wrote in ``start`` to ``end`` or deleted inside it; else what meets its ends.

        An empty range is met by any origin, one with bytes only by origins that deleted.
        """
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        near = self._origins[first:last]
        inside = [
            o for o in near if (o.new.start < end and o.new.end > start) or start < o.new.start == o.new.end < end
        ]
        return inside or [o for o in near if start == end or o.new.start == o.new.end]

    def regions(self) -> list[tuple[Span, Span]] | None:
        """Disjoint (old, new) ranges in order that hold all that edits did, or None if the origins do not say."""
        found: list[tuple[Span, Span]] = []
        for origin in self._origins:
            if origin.old is None:
                return None
            if found and found[-1][0] == origin.old and found[-1][1].end == origin.new.start:
                found[-1] = (origin.old, Span(found[-1][1].start, origin.new.end))
            else:
                found.append((origin.old, origin.new))
        return found

    def source(self, start: int, end: int) -> tuple[Span, ...]:
        """The reply's bytes that wrote the range: cut to it where the origin is exact, joined where they meet."""
        spans: list[Span] = []
        for origin in self.touching(start, end):
            span = origin.source
            if origin.exact and origin.new.start < origin.new.end:
                shift = origin.source.start - origin.new.start
                span = Span(max(start, origin.new.start) + shift, min(end, origin.new.end) + shift)
            if span.start >= span.end:
                continue
            if spans and spans[-1].end == span.start:
                spans[-1] = Span(spans[-1].start, span.end)
            elif span not in spans:
                spans.append(span)
        return tuple(spans)

    def place(self, start: int, end: int) -> tuple[Span, ...]:
        """The reply's bytes that named where the range is written."""
        found = {span for o in self.touching(start, end) for span in (o.header, o.place) if span.start < span.end}
        return tuple(sorted(found))
