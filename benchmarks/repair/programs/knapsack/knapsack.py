"""Choosing items ``(name, weight, value)`` for a bag that carries a limited weight. Weights are above 0."""


def best_choice(items, limit):
    """``(value, names)`` of a choice with the greatest value, names in the order of the items.

    Each item is taken at most once. Of equally good choices, the one that leaves out the later items.
    """
    best = [[0] * (limit + 1)]
    for _, weight, value in items:
        row = list(best[-1])
        for room in range(weight, limit + 1):
            row[room] = max(row[room], best[-1][room - weight] + value)
        best.append(row)
    names = []
    room = limit
    for place in range(len(items), 0, -1):
        if best[place][room] != best[place - 1][room]:
            name, weight, _ = items[place - 1]
            names.append(name)
            room -= weight
    return best[-1][limit], names[::-1]


def best_repeated(items, limit):
    """The greatest value if each item may be taken any number of times."""
    best = [0] * (limit + 1)
    for room in range(1, limit + 1):
        choices = [best[room - weight] + value for _, weight, value in items if weight <= room]
        best[room] = max(choices, default=0)
    return best[limit]


def greedy_choice(items, limit):
    """``(value, names)`` of taking, one after the other, what fits, the best value per weight first.

    Of equal ones the lighter first, then in the order of the items. Names in the order taken.
    """
    total = 0
    names = []
    for name, weight, value in sorted(items, key=lambda item: (-item[2] / item[1], item[1])):
        if weight <= limit:
            limit -= weight
            total += value
            names.append(name)
    return total, names


def split_evenly(weights):
    """The least difference of the sums when the weights are put on two sides."""
    whole = sum(weights)
    reachable = {0}
    for weight in weights:
        reachable |= {other + weight for other in reachable}
    return min(abs(whole - 2 * side) for side in reachable)


def pack(weights, limit):
    """First fit: a list of bags (lists of weights); each weight goes, in order, into the first bag with room, else
    into a new one. ValueError "too heavy: W" if a weight is above the limit."""
    bags = []
    for weight in weights:
        if weight > limit:
            raise ValueError(f"too heavy: {weight}")
        for bag in bags:
            if sum(bag) + weight <= limit:
                bag.append(weight)
                break
        else:
            bags.append([weight])
    return bags
