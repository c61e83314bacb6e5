"""Permutations and their numbers in the order of a dictionary."""


def next_permutation(items):
    """The next larger arrangement of the items as a list, or None after the last. Items may repeat."""
    result = list(items)
    i = len(result) - 2
    while i >= 0 and result[i] >= result[i + 1]:
        i -= 1
    if i < 0:
        return None
    j = len(result) - 1
    while result[j] <= result[i]:
        j -= 1
    result[i], result[j] = result[j], result[i]
    result[i + 1 :] = reversed(result[i + 1 :])
    return result


def rank(items):
    """The number of an arrangement of different items among all of them in order, from 0."""
    left = sorted(items)
    number = 0
    for item in items:
        number = number * len(left) + left.index(item)
        left.remove(item)
    return number


def unrank(number, items):
    """The arrangement with this number. IndexError "no such permutation" if there is none."""
    left = sorted(items)
    digits = []
    for base in range(1, len(left) + 1):
        number, digit = divmod(number, base)
        digits.append(digit)
    if number != 0:
        raise IndexError("no such permutation")
    return [left.pop(digit) for digit in reversed(digits)]


def cycles(p):
    """The cycles of a permutation of 0 .. n-1 (i goes to p[i]) longer than 1, each from its least member on,
    ordered by these."""
    seen = set()
    found = []
    for start in range(len(p)):
        cycle = []
        i = start
        while i not in seen:
            seen.add(i)
            cycle.append(i)
            i = p[i]
        if len(cycle) > 1:
            found.append(cycle)
    return found


def sign(p):
    """1 for an even permutation of 0 .. n-1, -1 for an odd one."""
    swaps = sum(len(cycle) - 1 for cycle in cycles(p))
    return -1 if swaps % 2 else 1


def compose(p, q):
    """The permutation that does ``q`` first, then ``p``."""
    return [p[i] for i in q]


def inverse(p):
    """The permutation that undoes p."""
    back = [0] * len(p)
    for i, target in enumerate(p):
        back[target] = i
    return back


def order(p):
    """The least n above 0 such that p done n times changes nothing."""
    n = 1
    power = p
    while cycles(power):
        power = compose(p, power)
        n += 1
    return n
