"""A patch of one file applied by a reader of its own, so that unified() is not checked by itself."""

from __future__ import annotations


def patched(old: bytes, patch: bytes) -> bytes:
    """A reader of our patches that trusts nothing but their text."""
    lines = old.split(b"\n")
    have = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    out: list[bytes] = []
    position = 0
    rows = patch.split(b"\n")[:-1]
    k = 0
    while k < len(rows):
        if not rows[k].startswith(b"@@"):
            k += 1
            continue
        before, after = (tuple(map(int, part[1:].split(b","))) for part in rows[k].split(b" ")[1:3])
        start = before[0] - (before[1] > 0)
        out += have[position:start]
        assert len(out) == after[0] - (after[1] > 0)
        position, written = start, len(out)
        k += 1
        while k < len(rows) and not rows[k].startswith(b"@@"):
            sign, text = rows[k][:1], rows[k][1:] + b"\n"
            if k + 1 < len(rows) and rows[k + 1].startswith(b"\\"):
                text = text[:-1]
                k += 1
            k += 1
            if sign != b"+":
                assert have[position] == text
                position += 1
            if sign != b"-":
                out.append(text)
        assert (position - start, len(out) - written) == (before[1], after[1])
    return b"".join(out + have[position:])
