"""A store room: items with quantities, prices in cents and a level to order at."""


class Inventory:
    """Items by name. Unknown names raise KeyError with the name."""

    def __init__(self):
        self._items = {}

    def add(self, name, quantity, price, minimum=0):
        """Put ``quantity`` pieces in. Of a known item the quantity grows and price and minimum become the new ones.

        ValueError "quantity must be positive" if it is below 1.
        """
        if quantity < 1:
            raise ValueError("quantity must be positive")
        held = self._items[name]["quantity"] if name in self._items else 0
        self._items[name] = {"quantity": held + quantity, "price": price, "minimum": minimum}

    def quantity(self, name):
        """How many pieces are held."""
        return self._items[name]["quantity"]

    def take(self, name, quantity):
        """Take pieces out; returns what they cost. ValueError "not enough NAME" if fewer are held."""
        item = self._items[name]
        if quantity > item["quantity"]:
            raise ValueError(f"not enough {name}")
        item["quantity"] -= quantity
        return quantity * item["price"]

    def fill(self, order):
        """Take all of ``{name: quantity}`` or nothing; returns the cost. Names that lack raise as in ``take``.

        The first name in the order that is unknown or lacks pieces is the one named.
        """
        for name, quantity in order.items():
            if self.quantity(name) < quantity:
                raise ValueError(f"not enough {name}")
        return sum(self.take(name, quantity) for name, quantity in order.items())

    def value(self):
        """What all pieces cost together."""
        return sum(item["quantity"] * item["price"] for item in self._items.values())

    def low(self):
        """Names of items with fewer pieces than their minimum, sorted."""
        return sorted(name for name, item in self._items.items() if item["quantity"] < item["minimum"])

    def reorder(self, budget):
        """Which pieces to buy, as ``{name: quantity}``: of each low item (in order of name) up to its minimum.

        Buys as many as the rest of the budget pays for; items of which none can be bought are left out.
        """
        plan = {}
        for name in self.low():
            item = self._items[name]
            wanted = min(item["minimum"] - item["quantity"], budget // item["price"])
            if wanted > 0:
                plan[name] = wanted
                budget -= wanted * item["price"]
        return plan
