"""A diff turned into files (:func:`apply`) and into a patch that ``git apply`` takes (:func:`unified`)."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping

from codegym.diff.lines import Cut
from codegym.diff.model import Diff, FileDiff
from codegym.spans import reply_bytes, reply_text

_CONTEXT = 3  # lines around a hunk, as git's default
_ODD = re.compile(rb'[\x00-\x1f"\\\x7f-\xff]')
_MODE = b"100644"  # a workspace is names and bytes; git keeps the mode of files that exist


def apply(diff: Diff, old: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files after the diff. ``old`` must be the files it was made from; raises ValueError where it shows."""
    files = dict(old)
    for file in diff.files:
        if file.old_path is not None and file.old_path not in old:
            raise ValueError(f"{file.old_path}: not among the files; apply the diff to the files it was made from")
        if file.status in ("deleted", "renamed"):
            del files[file.old_path or file.path]
    for file in diff.files:
        if file.status != "deleted":
            files[file.path] = _patched(file, old[file.old_path] if file.old_path is not None else b"")
    return files


def _patched(file: FileDiff, old: bytes) -> bytes:
    parts: list[bytes] = []
    position = 0
    for hunk in file.hunks:
        if hunk.old.start < position or hunk.old.end > len(old):
            raise ValueError(f"{file.path}: does not fit; apply the diff to the files it was made from")
        parts += [old[position : hunk.old.start], hunk.text]
        position = hunk.old.end
    return b"".join([*parts, old[position:]])


def unified(diff: Diff, old: Mapping[str, bytes]) -> str:
    """A git patch of the diff. Bytes that are no UTF-8 stand as surrogateescape: write it with that error handler."""
    new = apply(diff, old)
    return reply_text(b"".join(_file_patch(file, old, new) for file in diff.files))


def _file_patch(file: FileDiff, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> bytes:
    before = old[file.old_path] if file.old_path is not None else None
    after = new[file.path] if file.status != "deleted" else None
    a, b = _name(b"a/", file.old_path or file.path), _name(b"b/", file.path)
    lines = [b"diff --git " + a + b" " + b]
    if file.status == "renamed":
        lines += [
            b"similarity index %d%%" % _similarity(file, before or b"", after or b""),
            b"rename from " + _name(b"", file.old_path or ""),
            b"rename to " + _name(b"", file.path),
        ]
    if before is None:
        lines.append(b"new file mode " + _MODE)
    if after is None:
        lines.append(b"deleted file mode " + _MODE)
    if before != after:
        lines.append(
            b"index " + _blob(before) + b".." + _blob(after) + (b"" if None in (before, after) else b" " + _MODE)
        )
    head = b"\n".join(lines) + b"\n"
    if before == after or not (before or after):
        return head
    if b"\0" in (before or b"") + (after or b""):
        return head + b"GIT binary patch\n" + _literal(after or b"") + _literal(before or b"")
    names = [b"/dev/null" if before is None else a, b"/dev/null" if after is None else b]
    # git ends a name that holds a blank by a tab, so that it is not read as a date.
    names = [name + b"\t" if b" " in name else name for name in names]
    body = b"".join(_hunks(file, before or b"", after or b""))
    return head + b"--- " + names[0] + b"\n+++ " + names[1] + b"\n" + body


def _name(prefix: bytes, path: str) -> bytes:
    """A path as git writes it: quoted if it holds anything but plain characters."""
    name = prefix + reply_bytes(path)
    if not _ODD.search(name):
        return name
    return (
        b'"' + _ODD.sub(lambda match: b"\\" + (match[0] if match[0] in b'"\\' else b"%03o" % match[0][0]), name) + b'"'
    )


def _similarity(file: FileDiff, before: bytes, after: bytes) -> int:
    """Per cent of the larger content that is kept; 100 only for equal ones."""
    if before == after:
        return 100
    kept = len(after) - sum(len(hunk.text) for hunk in file.hunks)
    return min(99, 100 * kept // max(len(before), len(after)))


def _blob(data: bytes | None) -> bytes:
    """git's name of a content."""
    if data is None:
        return b"0" * 40
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest().encode()


def _literal(data: bytes) -> bytes:
    """A content as git's binary patches hold it: deflated, 52 bytes a line in base 85, the length as a letter."""
    packed = zlib.compress(data)
    lines = [b"literal %d\n" % len(data)]
    for start in range(0, len(packed), 52):
        part = packed[start : start + 52]
        letter = len(part) + (64 if len(part) <= 26 else 70)
        lines.append(bytes([letter]) + base64.b85encode(part, pad=True) + b"\n")
    return b"".join(lines) + b"\n"


def _hunks(file: FileDiff, before: bytes, after: bytes) -> Iterator[bytes]:
    old_lines, new_lines = before.split(b"\n"), after.split(b"\n")
    old_count = len(old_lines) - (old_lines[-1] == b"")
    new_count = len(new_lines) - (new_lines[-1] == b"")
    for group in line_groups(file, before, after):
        (old_start, _, new_start, _), (_, old_end, _, new_end) = group[0], group[-1]
        yield b"@@ -%s +%s @@\n" % (_range(old_start, old_end), _range(new_start, new_end))
        position = old_start
        for a, b, c, d in group:
            yield from (_line(b" ", k, old_lines, old_count) for k in range(position, a))
            yield from (_line(b"-", k, old_lines, old_count) for k in range(a, b))
            yield from (_line(b"+", k, new_lines, new_count) for k in range(c, d))
            position = b


def line_groups(file: FileDiff, before: bytes, after: bytes) -> Iterator[list[Cut]]:
    """The hunks in whole lines (numbers from 0), those that share context together.

    Each group begins and ends with an empty block, where its context of three lines begins and ends.
    """
    count = before.count(b"\n") + (not before.endswith(b"\n") and before != b"")
    groups: list[list[Cut]] = []
    for block in _line_blocks(file, before, after):
        if groups and block[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(block)
        else:
            groups.append([block])
    for group in groups:
        (a, _, c, _), (_, b, _, d) = group[0], group[-1]
        lead, trail = min(_CONTEXT, a), min(_CONTEXT, count - b)
        yield [(a - lead, a - lead, c - lead, c - lead), *group, (b + trail, b + trail, d + trail, d + trail)]


def _range(start: int, end: int) -> bytes:
    """First line (1-based; the line before an empty range) and number of lines."""
    return b"%d,%d" % (start + (end > start), end - start)


def _line(sign: bytes, number: int, lines: list[bytes], count: int) -> bytes:
    open_end = number == count - 1 and count == len(lines)
    return sign + lines[number] + b"\n" + (b"\\ No newline at end of file\n" if open_end else b"")


def _line_blocks(file: FileDiff, before: bytes, after: bytes) -> list[Cut]:
    """The hunks in whole lines: (old first, old end, new first, new end), numbered from 0, apart from each other."""
    ranges: list[list[int]] = []
    for hunk in file.hunks:
        (a, b), (c, d) = hunk.old, hunk.new
        back = a - (before.rfind(b"\n", 0, a) + 1)
        a, c = a - back, c - back
        if not (_at_line_start(before, a, b) and _at_line_start(after, c, d)):
            line_end = before.find(b"\n", b) + 1 or len(before)
            b, d = line_end, d + line_end - b
        if ranges and a <= ranges[-1][1]:
            ranges[-1][1], ranges[-1][3] = max(b, ranges[-1][1]), max(d, ranges[-1][3])
        else:
            ranges.append([a, b, c, d])
    return [(_number(before, a), _number(before, b), _number(after, c), _number(after, d)) for a, b, c, d in ranges]


def _at_line_start(text: bytes, start: int, end: int) -> bool:
    return end == start or text[end - 1 : end] == b"\n"


def _number(text: bytes, offset: int) -> int:
    """Lines before an offset that is a line start or the end of the text."""
    return text.count(b"\n", 0, offset) + (offset == len(text) > 0 and not text.endswith(b"\n"))
