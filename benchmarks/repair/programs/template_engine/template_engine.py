"""A small template language: ``{name}``, ``{name|filter}``, ``{?name}...{/}`` and ``{*name}...{/}``."""

FILTERS = {
    "upper": str.upper,
    "lower": str.lower,
    "title": str.title,
    "length": lambda text: str(len(text)),
}


def parse(text):
    """A list of parts: ("text", t), ("value", name, [filters]), ("if", name, parts), ("each", name, parts).

    Empty text makes no part. ValueError "unclosed brace", "unclosed block" or "unexpected {/}".
    """
    stack = [("root", "", [])]
    position = 0
    while position < len(text):
        start = text.find("{", position)
        if start == -1:
            start = len(text)
        if start > position:
            stack[-1][2].append(("text", text[position:start]))
        if start == len(text):
            break
        end = text.find("}", start)
        if end == -1:
            raise ValueError("unclosed brace")
        tag = text[start + 1 : end]
        position = end + 1
        if tag == "/":
            if len(stack) == 1:
                raise ValueError("unexpected {/}")
            block = stack.pop()
            stack[-1][2].append(block)
        elif tag[:1] == "?":
            stack.append(("if", tag[1:], []))
        elif tag[:1] == "*":
            stack.append(("each", tag[1:], []))
        else:
            name, *filters = tag.split("|")
            stack[-1][2].append(("value", name, filters))
    if len(stack) > 1:
        raise ValueError("unclosed block")
    return stack[0][2]


def render(text, values):
    """The template filled in.

    A value is written by ``str`` and goes through its filters from left to right. An "if" block is
    written if its value is true; an unknown name counts as false. An "each" block is written for
    each element of its value, which is ``it`` inside; outside names stay known. KeyError with the
    name for an unknown value, list or filter.
    """
    return _render(parse(text), values)


def _render(parts, values):
    out = ""
    for kind, name, *rest in parts:
        if kind == "text":
            out += name
        elif kind == "value":
            value = str(values[name])
            for label in rest[0]:
                value = FILTERS[label](value)
            out += value
        elif kind == "each":
            for item in values[name]:
                out += _render(rest[0], {**values, "it": item})
        elif values.get(name):
            out += _render(rest[0], values)
    return out
