"""Paying amounts with coins."""


def fewest(amount, coins):
    """The coins (a list, the largest first) of a shortest way to pay the amount; None if there is none.

    Each coin can be used any number of times. Of equally short ways, the one with the largest coins first.
    """
    best = [0] + [None] * amount
    for total in range(1, amount + 1):
        counts = [best[total - coin] for coin in coins if coin <= total and best[total - coin] is not None]
        if counts:
            best[total] = min(counts) + 1
    if best[amount] is None:
        return None
    way = []
    while amount > 0:
        for coin in sorted(coins, reverse=True):
            if coin <= amount and best[amount - coin] == best[amount] - 1:
                way.append(coin)
                amount -= coin
                break
    return way


def count_ways(amount, coins):
    """In how many ways the amount can be paid, the order of coins not counting. The coins are different."""
    ways = [1] + [0] * amount
    for coin in coins:
        for total in range(coin, amount + 1):
            ways[total] += ways[total - coin]
    return ways[amount]


def pay_from(purse, amount):
    """Pay from a purse ``{coin: how many}``, always with the largest coin that fits.

    Returns ``{coin: how many used}``, the largest first, or None if this way leaves something unpaid.
    """
    used = {}
    for coin in sorted(purse, reverse=True):
        number = min(purse[coin], amount // coin)
        if number > 0:
            used[coin] = number
            amount -= number * coin
    return used if amount == 0 else None


def greedy_fails(coins, limit):
    """The least amount up to ``limit`` for which taking always the largest coin is not shortest; None if none.

    The coins include 1.
    """
    for amount in range(1, limit + 1):
        rest = amount
        steps = 0
        for coin in sorted(coins, reverse=True):
            steps += rest // coin
            rest %= coin
        if steps > len(fewest(amount, coins)):
            return amount
    return None
