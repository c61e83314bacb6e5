"""Finds the one place in a file that a search text means, or says why there is none.

Used by :mod:`codegym.edits`, and by its hunks for the messages. The bytes of the search text must stand in the file
exactly once; only line ends may differ (LF in the search, CRLF in the file). ``tolerant`` also accepts a place that
differs in trailing blanks or in indentation by one common margin, and says so. Every refusal names line numbers, and
shows the nearest place.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

_MOST_LISTED = 20  # places named in a message; an agent that is told of more learns nothing new
MOST_COUNTED = 100  # places searched for; bounds the time on files of equal lines
_MOST_SHOWN = 8  # lines of the nearest place in a message
_MOST_COMPARED = 20_000  # lines compared with the search text; 20,000 take about 10 ms
_WIDEST = 200  # bytes of a line that are compared or shown
_NUMBERED = re.compile(rb"[ \t]*([0-9]+)(?:[ \t]*[:|]|\t|\xe2\x86\x92| ) ?")


class EditError(ValueError):
    """An edit that cannot be applied. The message is for the agent: file, lines, what to write instead."""


@dataclass(frozen=True)
class Found:
    """Bytes ``start`` to ``end``. ``margin`` is what a tolerant match found missing (add) or too much (not add).

    ``open``: the search text's last newline is none of the file's, whose last line has none.
    """

    start: int
    end: int
    margin: bytes = b""
    add: bool = True
    note: str = ""
    open: bool = False


def line_starts(data: bytes) -> list[int]:
    """Offsets at which lines start; lines end at ``\\n`` only. A final newline is followed by an empty line."""
    return [0, *(match.end() for match in re.finditer(rb"\n", data))]


def find(path: str, data: bytes, search: bytes, text: bytes, *, tolerant: bool = False) -> Found:
    """The place of ``search`` in ``data``. Raises EditError. ``text`` is the replacement, for the message only."""
    if not search:
        raise EditError(f"{path}: the search text is empty: give text that occurs exactly once in the file")
    size, ended = len(data), data
    if search.endswith(b"\n") and not data.endswith(b"\n"):
        ended += b"\n"  # whole lines are found at the end of a file without last newline too
    places = [_with_cr(data, *place) for place in _exact(ended, search)] or _any_line_end(ended, search)
    if len(places) > 1:
        raise EditError(
            f"{path}: the search text occurs {many(len(places))} times, {at(data, places)}: "
            "add lines around it so that it occurs once"
        )
    if places:
        start, end = places[0]
        return Found(start, min(end, size), open=end > size)
    loose, how = loose_places(data, search)
    if tolerant and len(loose) == 1:
        found = with_margin(path, data, search, loose[0], how)
        if found is not None:
            return found
    raise EditError(not_found(path, data, search, text))


def not_found(path: str, data: bytes, search: bytes, text: bytes, what: str = "the search text") -> str:
    """The message for a search text that is nowhere: why that may be, and the lines most like it."""
    loose, how = loose_places(data, search)
    message = f"{path}: {what} is not in the file"
    if text.strip() and len(done := _exact(data, text) or _any_line_end(data, text)) == 1:
        message += f", which already holds the replacement {at(data, done)}"
    if _has_line_numbers(data, search):
        return message + ": it seems to start with line numbers, leave them out"
    if loose:
        message += f"; text that differs only in {how} is {at(data, loose)}"
        first, last = line_range(data, *loose[0])
    else:
        near = _nearest(data, search)
        if near is None:
            return message
        first, last = near
        message += f"; the nearest is at line{'' if first == last else 's'} {first}" + f"-{last}" * (first != last)
    shown = data.split(b"\n")[first - 1 : last]
    lines = [line[:_WIDEST].decode("utf-8", "backslashreplace").rstrip("\r") for line in shown[:_MOST_SHOWN]]
    return message + ":\n" + "\n".join(lines) + "\n..." * (len(shown) > _MOST_SHOWN)


def _exact(data: bytes, search: bytes) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    start = data.find(search)
    while start >= 0 and len(places) < MOST_COUNTED:
        places.append((start, start + len(search)))
        start = data.find(search, start + 1)
    return places


def _with_cr(data: bytes, start: int, end: int) -> tuple[int, int]:
    """The place, with the CR before it if it starts inside a CRLF: without its LF that CR would end no line."""
    return start - (start > 0 and data.startswith(b"\r\n", start - 1)), end


def _any_line_end(data: bytes, search: bytes) -> list[tuple[int, int]]:
    """Places where only line ends differ: found in a copy with LF throughout, then mapped back."""
    if b"\r\n" not in data or b"\n" not in search:
        return []
    removed = [match.start() - k for k, match in enumerate(re.finditer(rb"\r\n", data))]
    places = _exact(data.replace(b"\r\n", b"\n"), search.replace(b"\r\n", b"\n"))
    return [(start + bisect_left(removed, start), end + bisect_left(removed, end)) for start, end in places]


def loose_places(data: bytes, search: bytes) -> tuple[list[tuple[int, int]], str]:
    """Places (whole lines) that differ in blanks only, and how: "trailing blanks" or "indentation"."""
    if not search.strip():
        return [], ""
    body = search.removesuffix(b"\n")
    lines, wanted = data.split(b"\n"), body.split(b"\n")
    starts = line_starts(data)
    for how, strip in (("trailing blanks", bytes.rstrip), ("indentation", bytes.strip)):
        have, want = [strip(line) for line in lines], [strip(line) for line in wanted]
        places: list[tuple[int, int]] = []
        for i in range(len(have) - len(want) + 1):
            if have[i] == want[0] and have[i : i + len(want)] == want:
                last = i + len(want) - 1
                end = starts[last] + len(lines[last])
                if len(body) < len(search) and last + 1 < len(starts):
                    end = starts[last + 1]
                elif lines[last].endswith(b"\r"):
                    end -= 1
                places.append((starts[i], end))
                if len(places) == MOST_COUNTED:
                    break
        if places:
            return places, how
    return [], ""


def with_margin(path: str, data: bytes, search: bytes, place: tuple[int, int], how: str) -> Found | None:
    """A loose place as a Found, if its indentation differs from the search text's by one common margin."""
    margins: set[tuple[bytes, bool]] = set()
    for have, want in zip(data[slice(*place)].split(b"\n"), search.split(b"\n"), strict=False):
        if want.strip():
            deep, shallow = (line[: len(line) - len(line.lstrip())] for line in (have, want))
            add = len(deep) >= len(shallow)
            if not add:
                deep, shallow = shallow, deep
            if not deep.endswith(shallow):
                return None
            margins.add((deep[: len(deep) - len(shallow)], add))
    if len(margins) != 1:
        return None
    margin, add = margins.pop()
    if margin.strip(b" \t"):
        return None  # a carriage return or form feed indents nothing
    return Found(*place, margin, add, f"{path}: matched {at(data, [place])} although {how} differ")


def line_range(data: bytes, start: int, end: int) -> tuple[int, int]:
    """First and last line (1-based) of the bytes ``start`` to ``end``."""
    first = data.count(b"\n", 0, start) + 1
    return first, first + data.count(b"\n", start, max(start, end - 1))


def at(data: bytes, places: list[tuple[int, int]]) -> str:
    """``at line 3`` or ``at lines 3, 5-6``."""
    starts = line_starts(data)
    named: list[str] = []
    for start, end in places[:_MOST_LISTED]:
        first, last = bisect_right(starts, start), bisect_right(starts, max(start, end - 1))
        named.append(str(first) if first == last else f"{first}-{last}")
    if len(places) > _MOST_LISTED:
        named.append("and more")
    return ("at line " if named == [named[0]] and "-" not in named[0] else "at lines ") + ", ".join(named)


def many(number: int) -> str:
    """A number of places; searching stops at a hundred."""
    return f"at least {number}" if number >= MOST_COUNTED else str(number)


def _has_line_numbers(data: bytes, search: bytes) -> bool:
    """Whether the search text is whole lines of the file but for numbers before them."""
    lines = search.split(b"\n")
    found = [_NUMBERED.match(line) for line in lines]
    numbers = [int(match[1][:18]) for match in found if match]
    if not numbers or any(b != a + 1 for a, b in pairwise(numbers)):
        return False
    bare = b"\n".join(line[match.end() :] if match else line for line, match in zip(lines, found, strict=True))
    return bool(loose_places(data, bare)[0])


def _nearest(data: bytes, search: bytes) -> tuple[int, int] | None:
    """Lines (first, last, 1-based) most like the search text, or None if nothing is alike.

    The search text's longest line is compared with every line, then the whole text with the windows around the
    best few: linear in the file, unlike a comparison with every window.
    """
    from rapidfuzz import fuzz, process  # here, because most actions need it not

    def text(line: bytes) -> str:
        return line.strip()[:_WIDEST].decode("latin-1")  # one character per byte: only likeness counts

    lines = [text(line) for line in data.split(b"\n")[:_MOST_COMPARED]]
    wanted = [text(line) for line in search.strip(b"\n").split(b"\n")[:_MOST_COMPARED]]
    key = max(range(len(wanted)), key=lambda k: len(wanted[k]))
    best = process.extract(wanted[key], lines, scorer=fuzz.ratio, limit=5, score_cutoff=40)
    if not wanted[key] or not best:
        return None
    whole = "\n".join(wanted)
    firsts = sorted({max(0, index - key) for _, _, index in best})
    first = max(firsts, key=lambda i: fuzz.ratio(whole, "\n".join(lines[i : i + len(wanted)])))
    return first + 1, min(first + len(wanted), len(lines))
