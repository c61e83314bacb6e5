"""Files that went away and came back under another name: told, or found by content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from codegym.diff.languages import language_of

#: Least part of the larger file's bytes, in whole lines, that a renamed file keeps: git's default.
LEAST_KEPT = 0.5
#: Pairs compared by their lines; with more, only renames of unchanged files are found.
MOST_COMPARED = 2_500


def find_renames(old: Mapping[str, bytes], new: Mapping[str, bytes], told: Mapping[str, str]) -> dict[str, str]:
    """New path -> old path. An old path stands for one new path at the most; empty files are never found.

    First those that are told (where both paths fit), then equal content, then the pairs of the same language that
    share most lines.
    """
    found: dict[str, str] = {}
    for path, was in sorted(told.items()):
        if path in new and path not in old and was in old and was not in new and was not in found.values():
            found[path] = was
    lost = {path: old[path] for path in sorted(old.keys() - new.keys() - set(found.values())) if old[path]}
    come = {path: new[path] for path in sorted(new.keys() - old.keys() - found.keys()) if new[path]}
    if not lost or not come:
        return found
    by_content: dict[bytes, list[str]] = {}
    for path in reversed(lost):
        by_content.setdefault(lost[path], []).append(path)
    for path, data in list(come.items()):
        if by_content.get(data):
            found[path] = by_content[data].pop()
            del lost[found[path]], come[path]
    if len(lost) * len(come) <= MOST_COMPARED:
        found.update(_similar(lost, come))
    return found


def _similar(lost: Mapping[str, bytes], come: Mapping[str, bytes]) -> dict[str, str]:
    lines = {path: Counter(data.split(b"\n")) for path, data in (*lost.items(), *come.items())}
    scored: list[tuple[float, str, str]] = []
    for path, data in come.items():
        for was, before in lost.items():
            most = max(len(data), len(before))
            if language_of(path) != language_of(was) or min(len(data), len(before)) < LEAST_KEPT * most:
                continue
            shared = lines[path] & lines[was]
            kept = sum((len(line) + 1) * count for line, count in shared.items())
            if kept >= LEAST_KEPT * most:
                scored.append((-kept / most, path, was))
    found: dict[str, str] = {}
    used: set[str] = set()
    for _, path, was in sorted(scored):
        if path not in found and was not in used:
            found[path] = was
            used.add(was)
    return found
