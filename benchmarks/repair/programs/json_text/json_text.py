"""JSON text to values and back."""

from json_reader import Reader


def loads(text):
    """The value of a text. JsonError, "extra text at N" too if something follows the value."""
    reader = Reader(text)
    value = reader.value()
    if reader.next():
        reader.fail("extra text")
    return value


def dumps(value, indent=0, level=0):
    """The text of a value, keys in their order: on one line with ", " and ": ", or, if indent is above 0,
    each element on a line of its own, indented by so many spaces per level (empty ones stay on one line).
    TypeError "cannot write NAME" with the type's name for other types.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, dict):
        items = [f"{dumps(key)}: {dumps(item, indent, level + 1)}" for key, item in value.items()]
        return _wrap("{", items, "}", indent, level)
    if isinstance(value, list):
        return _wrap("[", [dumps(item, indent, level + 1) for item in value], "]", indent, level)
    raise TypeError(f"cannot write {type(value).__name__}")


def _wrap(start, items, end, indent, level):
    if not items or indent == 0:
        return start + ", ".join(items) + end
    inner = "\n" + " " * indent * (level + 1)
    return start + inner + ("," + inner).join(items) + "\n" + " " * indent * level + end
