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

    def bounds(self, low: int, high: int) -> list[int]:
        """Places from ``low`` to ``high`` (included) at which an origin starts or ends."""
        starts = self._starts[bisect_left(self._starts, low) : bisect_right(self._starts, high)]
        return starts + self._ends[bisect_left(self._ends, low) : bisect_right(self._ends, high)]

    def held(self, start: int, end: int) -> int:
        """Bytes of the range that edits wrote; of an empty one, 2 if one deleted there, 1 if one wrote beside it."""
        first, last = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if start == end:
            return max((2 if o.new == (start, start) else 1 for o in self._origins[first:last]), default=0)
        return sum(max(0, min(end, o.new.end) - max(start, o.new.start)) for o in self._origins[first:last])

    def first_from(self, start: int) -> int:
        """The first place from ``start`` on that an edit wrote or deleted at."""
        at = bisect_left(self._ends, start)
        return max(start, self._starts[at])

    def last_until(self, end: int) -> int:
        """The last place up to ``end`` that an edit wrote or deleted at."""
        at = bisect_right(self._starts, end) - 1
        return min(end, self._ends[at])

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
