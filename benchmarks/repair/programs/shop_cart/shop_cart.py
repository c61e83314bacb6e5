"""A shopping cart."""

from discounts import free_items, percent_off, shipping


class Cart:
    """A cart for a price list ``{name: cents}``; offers are ``{name: (buy, get)}``, as in ``free_items``."""

    def __init__(self, prices, offers=None):
        self.prices = prices
        self.offers = offers or {}
        self.percent = 0
        self._quantities = {}

    def add(self, name, quantity=1):
        """Put pieces in. KeyError if the name has no price, ValueError "bad quantity" below 1."""
        if name not in self.prices:
            raise KeyError(name)
        if quantity < 1:
            raise ValueError("bad quantity")
        self._quantities[name] = self._quantities.get(name, 0) + quantity

    def remove(self, name, quantity=1):
        """Take pieces out, at most those that are in; returns how many it took."""
        held = self._quantities.get(name, 0)
        taken = min(held, quantity)
        if taken == held:
            self._quantities.pop(name, None)
        else:
            self._quantities[name] = held - taken
        return taken

    def coupon(self, percent):
        """Use a coupon; of several only the greatest counts. ValueError "bad coupon" unless from 1 to 90."""
        if not 1 <= percent <= 90:
            raise ValueError("bad coupon")
        self.percent = max(self.percent, percent)

    def lines(self):
        """For each name, in order of their first adding: ``(name, quantity, cents after its offer)``."""
        result = []
        for name, quantity in self._quantities.items():
            free = free_items(quantity, *self.offers[name]) if name in self.offers else 0
            result.append((name, quantity, (quantity - free) * self.prices[name]))
        return result

    def total(self):
        """What is to pay: the lines, less the coupon, plus the shipping of what is then left."""
        goods = sum(cents for _, _, cents in self.lines())
        goods -= percent_off(goods, self.percent)
        return goods + shipping(goods)
