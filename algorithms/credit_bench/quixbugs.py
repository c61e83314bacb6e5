"""Replies with several changes to QuixBugs programs: single files, mostly of one function, with a bug in one line.

A scripted policy writes the bug's line right, wrong, or leaves it alone; it also breaks up to three other lines, in one
of two ways each, and rewords the description, which no test can see. Programs with a ``while`` are left out: broken,
most of them never end, and a reply is run in every mixture of its changes.
"""

from __future__ import annotations

import ast
import difflib
import itertools
import random
from collections.abc import Mapping, Sequence

from benchmarks.base import Benchmark, Task
from benchmarks.repair import mutations
from codegym.actions.base import Action, Replace, Text
from codegym.actions.xml import Xml

RIGHT, WRONG = 0.45, 0.25  # of the bug's line; the rest leaves it alone
CHANGE = 0.35  # of each of the other lines, and of the description
OTHERS, VARIANTS = 3, 2


def tasks(bench: Benchmark, count: int) -> list[Task]:
    """The first programs that qualify. Raises MissingData, with the command that gets them, if they are not there."""
    found = (task for task in bench.tasks("test") if b"while" not in task.workspace[_program(task)])
    return list(itertools.islice((task for task in found if any(right for _, right, _ in _places(task))), count))


def replies(task: Task, count: int, seed: int) -> list[str]:
    """``count`` replies to a program; a function of the arguments."""
    rng = random.Random(f"{seed}/{task.id}")
    path, places = _program(task), _places(task)
    made = []
    for _ in range(count):
        edits = []
        for old, right, wrong in places:
            draw = rng.random()
            pick = wrong[rng.randrange(len(wrong))] if wrong else None
            if right is not None:
                new = right if draw < RIGHT else pick if draw < RIGHT + WRONG else None
            else:
                new = pick if draw < CHANGE else None
            if new is not None:
                edits.append(Replace(path, Text(old), Text(new)))
        made.append(Xml().render(Action("edit", tuple(edits)) if edits else Action("submit")))
    return made


def _program(task: Task) -> str:
    fixed: Mapping[str, bytes] = task.meta["fixed"]
    return next(path for path in sorted(fixed) if fixed[path] != task.workspace[path])


def _places(task: Task) -> list[tuple[bytes, bytes | None, list[bytes]]]:
    """Texts that stand once in the program, in order: what they are, what is right there, what is wrong."""
    path = _program(task)
    content = task.workspace[path]
    lines, right = content.split(b"\n"), task.meta["fixed"][path].lstrip(b"\n").split(b"\n")
    code = difflib.SequenceMatcher(None, _code(lines), _code(right), autojunk=False)
    blocks = [block for block in code.get_opcodes() if block[0] != "equal"]
    (_, first, _, start, _), (_, _, last, _, end) = blocks[0], blocks[-1]
    if first == last:  # a line is missing: what stands before it is written again with it
        first, start = first - 1, start - 1
    wrong: dict[int, list[bytes]] = {}
    for site in mutations.sites(content):
        number, until = site.lines[0] - 1, site.lines[1]
        inside = first <= number and until <= last
        changed = mutations.apply(content, [site])
        if mutations.compiles(changed) and (inside or (until - number == 1 and not first <= number < last)):
            at, to = (first, last) if inside else (number, until)
            written = changed.split(b"\n")
            wrong.setdefault(at, []).append(b"\n".join(written[at : to + len(written) - len(lines)]))
    bug = b"\n".join(lines[first:last])
    fixed = b"\n".join(right[start:end])
    places: list[tuple[bytes, bytes | None, list[bytes]]] = [(bug, fixed, _some(wrong.pop(first, []), {bug, fixed}))]
    for number in random.Random(task.id).sample(sorted(wrong), min(OTHERS, len(wrong))):
        places.append((lines[number], None, _some(wrong[number], {lines[number]})))
    text = next((line for line in reversed(lines[len(_code(lines)) :]) if line.strip() and b'"' not in line), b"")
    places.append((text, None, [text + b"."]))
    alone = [one for one in places if one[0].strip() and content.count(one[0]) == 1]
    # What is written at one place must not be found when the next is searched for.
    olds = {old for old, _, _ in alone}
    apart = [
        (old, new, [one for one in ways if not any(own in one for own in olds - {old})]) for old, new, ways in alone
    ]
    return sorted((one for one in apart if one[1] or one[2]), key=lambda one: content.index(one[0]))


def _code(lines: Sequence[bytes]) -> Sequence[bytes]:
    """The lines up to the end of the last definition; descriptions and what authors tried stand below."""
    tree = ast.parse(b"\n".join(lines))
    return lines[: max(node.end_lineno or 0 for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))]


def _some(texts: Sequence[bytes], known: set[bytes]) -> list[bytes]:
    """The first distinct ones that are neither what stands there nor right."""
    return [text for text in dict.fromkeys(texts) if text not in known][:VARIANTS]
