"""Half-open intervals of integers, as pairs ``(start, end)`` that hold start, start + 1, ..., end - 1."""


def merge(spans):
    """The same integers as sorted, disjoint spans: those that overlap or touch become one, empty ones go."""
    merged = []
    for start, end in sorted(spans):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            last_start, last_end = merged[-1]
            merged[-1] = (last_start, max(last_end, end))
        else:
            merged.append((start, end))
    return merged


def total(spans):
    """How many different integers the spans hold."""
    return sum(end - start for start, end in merge(spans))


def contains(spans, point):
    """True if one of the spans holds the integer ``point``."""
    return any(start <= point < end for start, end in spans)


def intersect(left, right):
    """The integers in both lists of spans, merged."""
    left, right = merge(left), merge(right)
    found = []
    i = j = 0
    while i < len(left) and j < len(right):
        start = max(left[i][0], right[j][0])
        end = min(left[i][1], right[j][1])
        if start < end:
            found.append((start, end))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return found


def gaps(spans, low, high):
    """The integers from ``low`` up to but not including ``high`` that no span holds, merged."""
    free = []
    position = low
    for start, end in merge(spans):
        if start >= high:
            break
        if start > position:
            free.append((position, start))
        position = max(position, end)
    if position < high:
        free.append((position, high))
    return free
