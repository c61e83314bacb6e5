"""How far words are from each other."""


def distance(a, b):
    """The least number of insertions, deletions and replacements of a character that make ``b`` of ``a``."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        previous, row = row, [i]
        for j, right in enumerate(b, 1):
            if left == right:
                row.append(previous[j - 1])
            else:
                row.append(1 + min(previous[j], row[j - 1], previous[j - 1]))
    return row[-1]


def within(a, b, limit):
    """True if the distance is at most ``limit``."""
    if abs(len(a) - len(b)) > limit:
        return False
    return distance(a, b) <= limit


def closest(word, words, limit):
    """The words within ``limit`` of ``word``, the nearest first, equally near ones in their order."""
    near = [other for other in words if within(word, other, limit)]
    return sorted(near, key=lambda other: distance(word, other))


def common_prefix(words):
    """The longest text that all words start with; "" for no words."""
    prefix = words[0] if words else ""
    for word in words[1:]:
        while not word.startswith(prefix):
            prefix = prefix[:-1]
    return prefix


def is_one_swap(a, b):
    """True if exchanging two neighbouring, different characters of ``a`` makes ``b``."""
    if len(a) != len(b):
        return False
    differ = [i for i in range(len(a)) if a[i] != b[i]]
    if len(differ) != 2:
        return False
    first, second = differ
    return second - first == 1 and a[first] == b[second] and a[second] == b[first]


def suggest(word, words):
    """What the writer of ``word`` may have meant: the word itself if it is known; else the first known word that
    is one swap away; else the first of the nearest known words, if its distance is at most a third of the
    length of ``word``, rounded up; else None."""
    if word in words:
        return word
    for other in words:
        if is_one_swap(word, other):
            return other
    found = closest(word, words, (len(word) + 2) // 3)
    return found[0] if found else None
