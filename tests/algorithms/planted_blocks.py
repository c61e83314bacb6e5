"""Groups of trajectories that write variants of the same functions, and where each variant stands.

::

    group, planted = planted_blocks(seed=0, size=16)
    recall(group, planted, find_anchors(group))     # {"exact": .99, "reformatted": ..., "all": ...}

Every turn adds about ``lines`` lines to a file: some of the task's ``blocks`` shared functions, each as one of the
:data:`CLASSES`, in random order among functions of its own.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from algorithms.core.trajectory import Trajectory, Turn
from algorithms.didpo.anchors import FoundAnchor
from codegym.diff.model import Change, Diff, FileDiff, Hunk
from codegym.spans import Span

CLASSES = ("exact", "reformatted", "renamed", "edited", "reordered")
COPIES = 5  # shared functions of a turn
OVERLAP = 0.8  # of the union of the planted bytes and the anchor's, for the anchor to count as the planted one

_SYLLABLES = [a + b for a, b in zip("bcdfghjklmnprstvwxyz", "aoueiouaeiouaeioueao", strict=True)]


@dataclass(frozen=True)
class Planted:
    """Block ``block`` as a copy of class ``kind``, at ``span`` of a reply."""

    member: int
    turn: int
    span: Span
    block: int
    kind: str


def planted_blocks(
    seed: int, size: int, turns: int = 8, blocks: int = 12, lines: int = 130
) -> tuple[list[Trajectory], list[Planted]]:
    """A group of ``size`` trajectories and all its planted copies."""
    rng = random.Random(f"planted {seed}")
    pool = [_function(rng, f"shared_{k}") for k in range(blocks)]
    group, planted = [], []
    for member in range(size):
        made = []
        for number in range(turns):
            chosen = [(k, rng.choice(CLASSES)) for k in rng.sample(range(blocks), COPIES)]
            pieces = [(k, kind, _VARIANTS[kind](rng, pool[k])) for k, kind in chosen]
            total = sum(len(piece) for _, _, piece in pieces)
            while total < lines:
                own = _function(rng, f"own_{rng.getrandbits(32):08x}")
                pieces.append((-1, "", own))
                total += len(own)
            rng.shuffle(pieces)
            turn, spans = _turn([piece for _, _, piece in pieces], rng.random())
            made.append(turn)
            planted += [
                Planted(member, number, span, k, kind)
                for (k, kind, _), span in zip(pieces, spans, strict=True)
                if k >= 0
            ]
        group.append(Trajectory("planted", member, made))
    return group, planted


def recall(group: Sequence[Trajectory], planted: Sequence[Planted], anchors: Sequence[FoundAnchor]) -> dict[str, float]:
    """Share of copies found, per class and of all: one anchor overlaps this copy and one of another trajectory."""
    at: dict[tuple[int, int], list[tuple[int, Span]]] = {}
    for number, anchor in enumerate(anchors):
        for occurrence in anchor.occurrences:
            at.setdefault((occurrence.member, occurrence.turn), []).append((number, occurrence.span))
    matches: dict[tuple[int, int], list[Planted]] = {}
    for copy in planted:
        for number, span in at.get((copy.member, copy.turn), ()):
            if _overlap(span, copy.span) >= OVERLAP:
                matches.setdefault((copy.block, number), []).append(copy)
    found = {copy for copies in matches.values() if len({copy.member for copy in copies}) > 1 for copy in copies}
    kinds = {"all": planted, **{kind: [copy for copy in planted if copy.kind == kind] for kind in CLASSES}}
    return {kind: sum(copy in found for copy in copies) / len(copies) for kind, copies in kinds.items()}


def _overlap(a: Span, b: Span) -> float:
    return max(0, min(a.end, b.end) - max(a.start, b.start)) / (max(a.end, b.end) - min(a.start, b.start))


def _turn(functions: Sequence[list[str]], reward: float) -> tuple[Turn, list[Span]]:
    """A turn that adds functions to m.py in one edit, in tokens of four bytes."""
    head = b"I add what is missing.\n<insert>\n"
    text, spans, changes = b"", [], []
    for lines in functions:
        written = "\n".join(lines).encode()
        name = next(line for line in lines if line.startswith("def "))[4:].split("(")[0]
        inside = Span(len(text), len(text) + len(written))
        changes.append(Change("insert", "function_definition", name, None, inside))
        spans.append(Span(inside.start + len(head), inside.end + len(head)))
        text += written + b"\n\n\n"
    reply = head + text + b"</insert>"
    hunk = Hunk(Span(0, 0), Span(0, len(text)), text, (Span(len(head), len(head) + len(text)),))
    ends = np.minimum(np.arange(4, len(reply) + 4, 4), len(reply))
    file = FileDiff("m.py", "m.py", "modified", "python", True, (hunk,), tuple(changes))
    logprobs = np.zeros(len(ends), dtype=np.float32)
    turn = Turn(np.arange(3), np.arange(len(ends)), logprobs, ends, reply, "o", reward, "s", Diff((file,)))
    return turn, spans


def _word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 3)))


def _function(rng: random.Random, name: str) -> list[str]:
    """Lines of a function of 8 to 14 lines; its local names are the words that end with ``_``, two letters before."""
    local = [f"{_word(rng)}_" for _ in range(5)]
    value = lambda: rng.choice([*local, str(rng.randint(0, 99)), f"self.{_word(rng)}", f'"{_word(rng)}"'])  # noqa: E731
    call = lambda: f"{_word(rng)}({value()}, {value()})"  # noqa: E731
    lines = [f"def {name}({local[0]}, {local[1]}):"]
    while len(lines) < rng.randint(7, 13):
        kind = rng.randrange(5)
        if kind == 0:
            lines += [f"    for {rng.choice(local)} in {call()}:", f"        {rng.choice(local)} += {call()}"]
        elif kind == 1:
            lines += [
                f"    if {value()} {rng.choice(['<', '==', '!='])} {value()}:",
                f"        {_word(rng)}({value()})",
            ]
        else:
            lines.append(f"    {rng.choice(local)} = {call()} {rng.choice('+-*')} {value()}")
    return [*lines, f"    return {rng.choice(local)}"]


def _exact(rng: random.Random, lines: list[str]) -> list[str]:
    return list(lines)


def _reformatted(rng: random.Random, lines: list[str]) -> list[str]:
    """Other indentation, spacing and line ends, comments, blank lines."""
    indent, comma, end = rng.choice(["  ", "\t", "      "]), rng.choice([",", " , "]), rng.choice(["", "\r"])
    result = []
    for line in lines:
        depth = (len(line) - len(line.lstrip())) // 4
        body = line.strip().replace(", ", comma)
        if rng.random() < 0.5:
            body = body.replace(" = ", "=").replace(" + ", "+")
        if rng.random() < 0.2:
            result.append(indent * depth + f"# {_word(rng)} {_word(rng)}" + end)
        if rng.random() < 0.2:
            body += f"  # {_word(rng)}"
        result.append(indent * depth + body + end)
        if rng.random() < 0.1:
            result.append(end)
    return result


def _renamed(rng: random.Random, lines: list[str]) -> list[str]:
    """All local names are others, the same everywhere."""
    names = sorted(set(re.findall(r"\b\w+_\b", "\n".join(lines))))
    new = {name: f"{_word(rng)}_" for name in names}
    return [re.sub(r"\b\w+_\b", lambda match: new[match[0]], line) for line in lines]


def _edited(rng: random.Random, lines: list[str]) -> list[str]:
    """One line written otherwise, and perhaps one more or one less."""
    result = list(lines)
    plain = [k for k, line in enumerate(lines) if line.startswith("    ") and " = " in line]
    at = rng.choice(plain or [len(lines) - 1])
    result[at] = re.sub(r"\d+|[+*-]|\w+(?=,)", lambda match: f"{match[0]}{rng.randint(0, 9)}", result[at], count=1)
    if rng.random() < 0.5:
        result.insert(at, f"    {_word(rng)}({rng.randint(0, 99)})")
    elif len(plain) > 1:
        del result[rng.choice(plain)]
    return result


def _reordered(rng: random.Random, lines: list[str]) -> list[str]:
    """One statement stands elsewhere in the function."""
    plain = [k for k, line in enumerate(lines) if line.startswith("    ") and line[4] != " " and " = " in line]
    result = list(lines)
    if plain:
        line = result.pop(rng.choice(plain))
        places = [k for k in range(1, len(result)) if not result[k].startswith("        ")]
        result.insert(rng.choice(places), line)
    return result


_VARIANTS = {
    "exact": _exact,
    "reformatted": _reformatted,
    "renamed": _renamed,
    "edited": _edited,
    "reordered": _reordered,
}
