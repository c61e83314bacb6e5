"""Run-length codes for text: ``aaab`` is ``3ab``."""

_ESCAPE = "\\"


def encode(text):
    """The code of ``text``.

    Each run of n equal characters becomes n in decimal and the character; n is left out if it is 1.
    A character that is a digit or a backslash gets a backslash before it.
    """
    code = ""
    position = 0
    while position < len(text):
        end = position
        while end < len(text) and text[end] == text[position]:
            end += 1
        if end - position > 1:
            code += str(end - position)
        if text[position].isdigit() or text[position] == _ESCAPE:
            code += _ESCAPE
        code += text[position]
        position = end
    return code


def decode(code):
    """The text of a code. Counts of 0 and 1 are taken too: 0 gives nothing.

    ValueError "dangling count" if the code ends after a count, "dangling escape" if after a backslash.
    """
    text = ""
    count = ""
    position = 0
    while position < len(code):
        if code[position].isdigit():
            count += code[position]
            position += 1
            continue
        if code[position] == _ESCAPE:
            position += 1
            if position == len(code):
                raise ValueError("dangling escape")
        text += code[position] * (int(count) if count else 1)
        count = ""
        position += 1
    if count:
        raise ValueError("dangling count")
    return text


def runs(text):
    """The runs as pairs ``(character, length)``."""
    pairs = []
    for char in text:
        if pairs and pairs[-1][0] == char:
            pairs[-1] = (char, pairs[-1][1] + 1)
        else:
            pairs.append((char, 1))
    return pairs


def longest_run(text):
    """The longest run as a pair, the first of several; None for no text."""
    best = None
    for pair in runs(text):
        if best is None or pair[1] > best[1]:
            best = pair
    return best
