"""Differences of two lists, by a longest common subsequence."""


def _table(old, new):
    """table[i][j]: the length of a longest common subsequence of old[i:] and new[j:]."""
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            if old[i] == new[j]:
                table[i][j] = table[i + 1][j + 1] + 1
            else:
                table[i][j] = max(table[i + 1][j], table[i][j + 1])
    return table


def diff(old, new):
    """The shortest script from ``old`` to ``new``: pairs of "=", "-" or "+" and the element.

    Equal elements are kept as soon as they face each other; where deleting and inserting
    are equally good, the deletion comes first.
    """
    table = _table(old, new)
    script = []
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            script.append(("=", old[i]))
            i += 1
            j += 1
        elif table[i + 1][j] >= table[i][j + 1]:
            script.append(("-", old[i]))
            i += 1
        else:
            script.append(("+", new[j]))
            j += 1
    script += [("-", item) for item in old[i:]]
    script += [("+", item) for item in new[j:]]
    return script


def patch(old, script):
    """The list that the script makes of ``old``. ValueError "patch does not fit" if ``old`` is not its source."""
    result = []
    position = 0
    for sign, item in script:
        if sign != "+":
            if position >= len(old) or old[position] != item:
                raise ValueError("patch does not fit")
            position += 1
        if sign != "-":
            result.append(item)
    if position != len(old):
        raise ValueError("patch does not fit")
    return result


def invert(script):
    """The script that goes back."""
    turned = {"+": "-", "-": "+", "=": "="}
    return [(turned[sign], item) for sign, item in script]


def similarity(old, new):
    """Common elements, in percent of the mean length, rounded down; 100 for two empty lists."""
    if not old and not new:
        return 100
    return 200 * _table(old, new)[0][0] // (len(old) + len(new))
