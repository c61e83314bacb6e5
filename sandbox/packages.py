"""Where installed distributions are, so that a sandbox can show chosen ones and hide the rest."""

from __future__ import annotations

import functools
import importlib.metadata as metadata
import os
import re
from collections.abc import Iterable


@functools.lru_cache(maxsize=16)
def places(names: tuple[str, ...]) -> tuple[str, ...]:
    """The files and folders of site-packages that these distributions and all they require consist of.

    Raises:
        ValueError: one of ``names`` is not installed, or is installed in a way that names no files (editable).
    """
    found: dict[str, None] = {}
    for name in _closure(names):
        distribution = metadata.distribution(name)
        files = distribution.files or ()
        tops = sorted({file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")})
        if not any(not top.endswith((".dist-info", ".egg-info")) for top in tops):
            raise ValueError(f"package {name!r} lists no files to show (an editable install?): install it as a wheel")
        for top in tops:
            found[os.path.realpath(str(distribution.locate_file(top)))] = None
    return tuple(found)


def _closure(names: Iterable[str]) -> list[str]:
    """The names and what they require, as far as it is installed (requirements of other systems are not)."""
    rest, seen = list(names), dict[str, None]()
    for name in rest:
        try:
            metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise ValueError(f"package {name!r} is not installed here: pip install {name}") from None
    while rest:
        name = rest.pop(0)
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in seen:
            continue
        seen[key] = None
        for line in metadata.distribution(name).requires or ():
            required, _, marker = line.partition(";")
            match = re.match(r"[A-Za-z0-9._-]+", required)
            if match is None or "extra" in marker:
                continue
            try:
                metadata.distribution(match.group())
            except metadata.PackageNotFoundError:
                continue
            rest.append(match.group())
    return list(seen)
