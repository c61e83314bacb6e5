"""Lines of comma-separated values."""


def split_line(line, comma=","):
    """The fields of a line.

    A field that starts with a double quote goes to the next single double quote; two in it stand for one,
    and commas in it are plain. Other fields are taken as they are, spaces too. ValueError "unclosed quote",
    or "text after quote" if a closing quote is not followed by a comma or the end.
    """
    fields = []
    position = 0
    while True:
        if line[position : position + 1] == '"':
            field, position = _quoted(line, position + 1)
            if position < len(line) and line[position] != comma:
                raise ValueError("text after quote")
        else:
            end = line.find(comma, position)
            if end == -1:
                end = len(line)
            field, position = line[position:end], end
        fields.append(field)
        if position == len(line):
            return fields
        position += 1


def _quoted(line, position):
    field = ""
    while position < len(line):
        if line[position] != '"':
            field += line[position]
        elif line[position + 1 : position + 2] == '"':
            field += '"'
            position += 1
        else:
            return field, position + 1
        position += 1
    raise ValueError("unclosed quote")


def join_line(fields, comma=","):
    """The line of some fields; those with a comma or a double quote in them are quoted, no others."""
    parts = []
    for field in fields:
        if comma in field or '"' in field:
            field = '"' + field.replace('"', '""') + '"'
        parts.append(field)
    return comma.join(parts)


def records(lines, comma=","):
    """Dicts of the lines after the first, which names the columns; empty lines are skipped.

    ValueError "line N: K fields" (lines counted from 1) if a line has not as many fields as the first.
    """
    names = split_line(lines[0], comma)
    found = []
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        fields = split_line(line, comma)
        if len(fields) != len(names):
            raise ValueError(f"line {number}: {len(fields)} fields")
        found.append(dict(zip(names, fields)))
    return found
