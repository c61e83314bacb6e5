"""Stable matching: everybody has a list of the others in order of liking."""


def match(proposers, receivers):
    """Pairs ``{proposer: receiver}`` in order of the proposers, by Gale and Shapley.

    Both arguments are ``{name: [names of the other side, the best first]}``. Each free proposer asks the next of
    its list, and a receiver keeps the one it likes best and never takes one that is not on its list.
    Proposers who come to the end of their list stay alone and are left out.
    """
    next_choice = dict.fromkeys(proposers, 0)
    holds = {}
    free = list(proposers)
    while free:
        proposer = free.pop()
        choices = proposers[proposer]
        if next_choice[proposer] == len(choices):
            continue
        receiver = choices[next_choice[proposer]]
        next_choice[proposer] += 1
        liking = receivers[receiver]
        if proposer not in liking:
            free.append(proposer)
        elif receiver not in holds:
            holds[receiver] = proposer
        elif liking.index(proposer) < liking.index(holds[receiver]):
            free.append(holds[receiver])
            holds[receiver] = proposer
        else:
            free.append(proposer)
    partner = {proposer: receiver for receiver, proposer in holds.items()}
    return {proposer: partner[proposer] for proposer in proposers if proposer in partner}


def prefers(liking, new, old):
    """True if ``new`` is on the list and ``old`` is None, not on it, or behind it."""
    if new not in liking:
        return False
    return old is None or old not in liking or liking.index(new) < liking.index(old)


def blocking_pairs(pairs, proposers, receivers):
    """The pairs (proposer, receiver) that would both leave what ``pairs`` gives them for each other, sorted."""
    partner = {receiver: proposer for proposer, receiver in pairs.items()}
    return sorted(
        (proposer, receiver)
        for proposer, choices in proposers.items()
        for receiver in choices
        if prefers(choices, receiver, pairs.get(proposer))
        and prefers(receivers[receiver], proposer, partner.get(receiver))
    )


def cost(pairs, proposers):
    """How far down their lists the proposers had to go: the sum of the places of their partners, from 1.

    One who is alone counts as many as its list is long, plus 1.
    """
    total = 0
    for proposer, choices in proposers.items():
        place = choices.index(pairs[proposer]) if proposer in pairs else len(choices)
        total += place + 1
    return total
