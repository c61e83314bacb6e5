"""Text set in lines of a fixed width."""


def wrap(text, width):
    """The words of ``text`` in lines of at most ``width`` characters, as many words in each line as fit.

    Words are split at white space and joined by one space. A word longer than ``width`` is cut
    into pieces of ``width``, and its first piece starts a new line; what follows may share the line
    of its last piece. No words give no lines. ValueError if ``width`` is below 1.
    """
    if width < 1:
        raise ValueError("width must be at least 1")
    lines = []
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) <= width:
            line += " " + word
            continue
        if line:
            lines.append(line)
        while len(word) > width:
            lines.append(word[:width])
            word = word[width:]
        line = word
    if line:
        lines.append(line)
    return lines


def align(line, width, how="left"):
    """``line`` padded with spaces to ``width``; how is "left", "right" or "center".

    An odd space of "center" goes to the right. A longer line comes back as it is. ValueError at another how.
    """
    room = max(0, width - len(line))
    if how == "left":
        return line + " " * room
    if how == "right":
        return " " * room + line
    if how == "center":
        return " " * (room // 2) + line + " " * (room - room // 2)
    raise ValueError(f"unknown alignment: {how}")


def justify(line, width):
    """``line`` stretched to ``width`` by widening the spaces between words, the extra ones from the left.

    A line of one word is padded on the right; one that is longer than ``width`` comes back as it is.
    """
    words = line.split()
    if len(words) < 2 or len(line) > width:
        return align(line, width)
    slots = len(words) - 1
    spaces = width - sum(map(len, words))
    out = words[0]
    for number, word in enumerate(words[1:]):
        out += " " * (spaces // slots + (number < spaces % slots)) + word
    return out
