"""Paths with slashes, as text only: no file is looked at."""


def normalise(path):
    """The shortest path that means the same: no ".", no empty part, no ".." that can be resolved.

    A path from the root keeps its first slash and ".." at the root goes nowhere; "." for a path of nothing.
    """
    absolute = path.startswith("/")
    parts = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".." or not absolute:
            parts.append(part)
    if absolute:
        return "/" + "/".join(parts)
    return "/".join(parts) or "."


def join(base, *others):
    """``base`` followed by the others, normalised; one that starts at the root replaces all before it."""
    whole = base
    for other in others:
        whole = other if other.startswith("/") else f"{whole}/{other}"
    return normalise(whole)


def relative(path, start):
    """The path from the folder ``start`` to ``path``. Both start at the root, else ValueError "not absolute"."""
    if not path.startswith("/") or not start.startswith("/"):
        raise ValueError("not absolute")
    target = normalise(path).split("/")[1:]
    origin = normalise(start).split("/")[1:]
    common = 0
    while common < min(len(target), len(origin)) and target[common] == origin[common]:
        common += 1
    ups = [".."] * len([part for part in origin[common:] if part])
    return "/".join(ups + [part for part in target[common:] if part]) or "."


def split_name(path):
    """``(folder, stem, extension)`` of a normalised path.

    The extension starts at the last dot of the name, unless that is its first character. The folder is "."
    for a name alone and "/" at the root.
    """
    folder, slash, name = path.rpartition("/")
    dot = name.rfind(".")
    if dot <= 0:
        dot = len(name)
    return folder or slash or ".", name[:dot], name[dot:]


def common_folder(paths):
    """The deepest folder that holds all these absolute paths; a path counts as being in itself. "/" for none."""
    split = [normalise(path).split("/")[1:] for path in paths]
    parts = []
    for level in zip(*split):
        if len(set(level)) > 1:
            break
        parts.append(level[0])
    return "/" + "/".join(parts)
