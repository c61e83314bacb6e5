"""Price reductions. Amounts are whole cents."""


def percent_off(amount, percent):
    """The reduction: ``percent`` of the amount, half a cent rounded up."""
    return (amount * percent + 50) // 100


def free_items(quantity, buy, get):
    """How many pieces are free if of every ``buy + get`` pieces the last ``get`` are."""
    full, rest = divmod(quantity, buy + get)
    return full * get + max(0, rest - buy)


def shipping(amount):
    """The cost of sending: 0 from 5000 on, 250 from 2000 on, else 490; nothing for an amount of 0."""
    if amount == 0 or amount >= 5000:
        return 0
    return 250 if amount >= 2000 else 490
