"""Turns program text into instructions."""

OPERANDS = {"push": 1, "load": 1, "store": 1, "jump": 1, "jzero": 1}
PLAIN = ("add", "sub", "mul", "dup", "swap", "out", "halt")


def assemble(text):
    """A list of instructions ``(name, operand)``, operand None for those without.

    One instruction or label (``name:``) a line; ``#`` starts a comment; blank lines are skipped.
    ``push`` takes an integer, ``load`` and ``store`` a variable's name, ``jump`` and ``jzero`` a
    label, which becomes the index of the instruction after it. ValueError "line N: unknown NAME",
    "line N: wrong operands" (lines from 1), "duplicate label NAME" or "no label NAME".
    """
    labels = {}
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        name = words[0]
        if name.endswith(":"):
            if name[:-1] in labels:
                raise ValueError(f"duplicate label {name[:-1]}")
            labels[name[:-1]] = len(lines)
            continue
        if name not in OPERANDS and name not in PLAIN:
            raise ValueError(f"line {number}: unknown {name}")
        if len(words) - 1 != OPERANDS.get(name, 0):
            raise ValueError(f"line {number}: wrong operands")
        lines.append(words)
    return [_instruction(words, labels) for words in lines]


def _instruction(words, labels):
    name = words[0]
    if len(words) == 1:
        return (name, None)
    if name == "push":
        return (name, int(words[1]))
    if name in ("load", "store"):
        return (name, words[1])
    if words[1] not in labels:
        raise ValueError(f"no label {words[1]}")
    return (name, labels[words[1]])
